"""Fixtures of the tests of the web server: one process for all tests, a new database for each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.environment import private_environment
from tests.harness.journals import Recorders
from tests.harness.loops import end_loops
from tests.harness.program import Program
from tests.harness.registry import Registry, database_at_head
from tests.harness.tmux import TmuxServer
from tests.harness.web import WebServer, serving

__all__ = ["database_at_head"]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory, database_at_head: Path) -> Iterator[Program]:
    """The installed program, with the database that the tests replace."""
    root = tmp_path_factory.mktemp("web")
    environment = private_environment(root, Recorders.installed(root / "recorders"))
    environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{root}/fleet.db"
    shutil.copyfile(database_at_head, root / "fleet.db")
    yield Program(environment, TmuxServer(environment), root)
    end_loops(root)


@pytest.fixture(scope="session")
def web(program: Program) -> Iterator[WebServer]:
    """The program's server."""
    with serving(program) as server:
        yield server


@pytest.fixture
def registry(program: Program, database_at_head: Path) -> Iterator[Registry]:
    """A registry of the test's own, without a row, in the place of the last test's."""
    path = Registry.at(program.environment["CAFLEET_DATABASE_URL"]).path
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    shutil.copyfile(database_at_head, path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)
    registry = Registry(path)
    registry.record_assets(Path(program.environment["HOME"]))
    yield registry
    assert registry.rows("PRAGMA integrity_check") == [("ok",)]
