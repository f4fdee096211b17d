"""Where soaks and benchmarks happen: a database and a tmux server of their own."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.harness.environment import private_environment
from tests.harness.journals import Recorders
from tests.harness.loops import end_loops
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.tmux import TmuxServer


@dataclass(frozen=True)
class Stage:
    """Everything below ``root``, and a tmux server of its own."""

    root: Path
    cafleet: Program
    server: TmuxServer
    recorders: Recorders
    registry: Registry


@contextmanager
def stage(root: Path) -> Iterator[Stage]:
    """A fresh one; all that it has started is ended afterwards."""
    recorders = Recorders.installed(root / "recorders")
    server = TmuxServer(private_environment(root, recorders))
    work = root / "work"
    work.mkdir()
    registry = Registry(root / "data" / "fleet.db")
    environment = {
        **server.environment,
        "CAFLEET_DATABASE_URL": registry.url,
        # A wake would be one more text in the journals, and is another subject.
        "CAFLEET_MONITOR_WAKE_INTERVAL": "0",
    }
    cafleet = Program(environment, server, work)
    try:
        cafleet.run("setup").ok()
        yield Stage(root, cafleet, server, recorders, registry)
    finally:
        end_loops(root)
        server.close()
    registry.check()


@contextmanager
def new_stage(*, keep: bool = False) -> Iterator[Stage]:
    """One in a folder that goes with it, unless database, logs and journals are to be kept."""
    root = Path(tempfile.mkdtemp(prefix="cafleet-stage-"))
    try:
        with stage(root) as here:
            yield here
    finally:
        if keep:
            print(f"kept: {root}", file=sys.stderr)
        else:
            shutil.rmtree(root, ignore_errors=True)
