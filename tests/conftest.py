"""The fixtures that tests of the whole program share: real tmux, real SQLite, recording agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cafleet.agents.assets import read
from tests.harness.database import Database
from tests.harness.environment import private_environment
from tests.harness.fleet import Fleet, found_fleet
from tests.harness.journals import Recorders
from tests.harness.loops import end_loops
from tests.harness.program import Program
from tests.harness.tmux import TmuxServer


@pytest.fixture
def recorders(tmp_path: Path) -> Recorders:
    """Byte recorders, installed as ``claude``, ``codex`` and ``opencode``."""
    return Recorders.installed(tmp_path / "recorders")


@pytest.fixture
def environment(tmp_path: Path, recorders: Recorders) -> dict[str, str]:
    """All the variables that programs under test get: a home and a runtime folder of their own."""
    return private_environment(tmp_path, recorders)


@pytest.fixture
def opencode_preset(environment: dict[str, str]) -> Path:
    """The preset without which no opencode is started, put in its place."""
    preset = Path(environment["HOME"]) / ".opencode/agents/cafleet.md"
    preset.parent.mkdir(parents=True, exist_ok=True)
    preset.write_text(read("opencode/cafleet.md"), encoding="utf-8")
    return preset


@pytest.fixture
def tmux_server(environment: dict[str, str]) -> Iterator[TmuxServer]:
    """A private tmux server; it starts with the first session."""
    server = TmuxServer(environment)
    yield server
    server.close()


@pytest.fixture
def cafleet(
    environment: dict[str, str], tmux_server: TmuxServer, tmp_path: Path
) -> Iterator[Program]:
    """The installed program; without the ``database`` fixture it looks in its home.

    After the test every loop that it has left running is ended.
    """
    work = tmp_path / "work"
    work.mkdir()
    # Where a slip would lead: the default server of this folder, never that of the user.
    folder = tmux_server.environment["TMUX_TMPDIR"]
    yield Program({**environment, "TMUX_TMPDIR": folder}, tmux_server, work)
    end_loops(tmp_path)


@pytest.fixture
def database(cafleet: Program, tmp_path: Path) -> Iterator[Database]:
    """A fresh database, set up by the program and known to it; checked after the test."""
    database = Database(tmp_path / "data" / "fleet.db")
    cafleet.environment["CAFLEET_DATABASE_URL"] = database.url
    cafleet.run("setup").ok()
    yield database
    end_loops(tmp_path)
    database.check()


@pytest.fixture
def fleet(
    cafleet: Program, database: Database, tmux_server: TmuxServer, recorders: Recorders
) -> Fleet:
    """Director 1, monitor 2 and members 3 and 4, each in the pane of a byte recorder at rest."""
    return found_fleet(cafleet, database, tmux_server, recorders)
