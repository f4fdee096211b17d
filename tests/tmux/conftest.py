"""Fixtures of the tests of panes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.crew import CrewMaker
from tests.harness.journals import Recorders
from tests.harness.program import Program
from tests.harness.registry import Registry, conn, database_at_head, registry
from tests.harness.tmux import TmuxServer
from tests.tmux.faults import FaultyTmux
from tests.tmux.panes_fixtures import mux, recorder, tmux_wrapper

__all__ = [
    "conn",
    "crew",
    "database_at_head",
    "faulty_tmux",
    "mux",
    "recorder",
    "registry",
    "tmux_wrapper",
]


@pytest.fixture
def faulty_tmux(tmux_server: TmuxServer, tmp_path: Path) -> FaultyTmux:
    return FaultyTmux.installed(tmp_path / "faulty", tmux_server)


@pytest.fixture
def crew(
    cafleet: Program, registry: Registry, tmux_server: TmuxServer, recorders: Recorders
) -> CrewMaker:
    """Makes fleets in a registry that the program is given."""
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    return CrewMaker(registry, tmux_server, recorders)


@pytest.fixture
def own_runtime(cafleet: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own process locks panes where the programs do."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", cafleet.environment["XDG_RUNTIME_DIR"])
