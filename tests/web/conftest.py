"""Fixtures of the tests of the web server: one process and one database for most of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.environment import private_environment
from tests.harness.journals import Recorders
from tests.harness.loops import end_loops
from tests.harness.program import Program
from tests.harness.registry import Registry, database_at_head
from tests.harness.tmux import TmuxServer
from tests.harness.web import WebServer, serving
from tests.web.browsing import browser, profile, window

__all__ = ["browser", "database_at_head", "profile", "window"]


@dataclass(frozen=True)
class OwnServer:
    """A server, and the registry that it was started on."""

    web: WebServer
    registry: Registry


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory, database_at_head: Path) -> Iterator[Program]:
    """The installed program, with the database that it serves."""
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
def registry(program: Program) -> Iterator[Registry]:
    """The registry that the program serves, without a row."""
    registry = Registry(Registry.at(program.environment["CAFLEET_DATABASE_URL"]).path)
    _clear(registry)
    registry.record_assets(Path(program.environment["HOME"]))
    yield registry
    assert registry.rows("PRAGMA integrity_check") == [("ok",)]


@pytest.fixture
def own(program: Program, database_at_head: Path, tmp_path: Path) -> Iterator[OwnServer]:
    """A server and a registry of the test's own, whose file it may do anything to."""
    path = tmp_path / "fleet.db"
    shutil.copyfile(database_at_head, path)
    registry = Registry(path)
    with serving(program, env={"CAFLEET_DATABASE_URL": registry.url}) as server:
        yield OwnServer(server, registry)


def _clear(registry: Registry) -> None:
    """Take every row out of a registry, and begin with the first ids again.

    To put another file in its place would be less work, and not safe while the server looks at it.
    """
    with closing(registry.connect()) as conn:
        conn.execute("BEGIN IMMEDIATE")
        for (table,) in conn.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            if table not in {"schema_migrations", "database_identity"}:
                conn.execute(f"DELETE FROM {table}")
        conn.execute("COMMIT")
