"""`setup` killed before every statement, file operation and start of a program."""

from __future__ import annotations

import shutil
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from cafleet.agents.replacing import MANIFEST
from cafleet.store.guard import open_database
from tests.harness.dying import attempt, kill_at_each_step, run_program
from tests.harness.program import Program
from tests.sql.databases import HEAD, contents, migrate_to, opened, populate, publish, rows

pytestmark = pytest.mark.slow

OWN_OLDER = 8
PUBLISHED = 5


def prepare(path: Path, what: str) -> None:
    """A database as ``setup`` may find it."""
    path.parent.mkdir(parents=True)
    if what == "older":
        migrate_to(path, OWN_OLDER)
        populate(path, OWN_OLDER)
    elif what == "published":
        publish(path, PUBLISHED)
        populate(path, PUBLISHED)


def application(path: Path) -> list[str]:
    """The rows and the schema, without what each setup makes anew: times and ids."""
    with opened(path) as conn:
        dump = list(conn.iterdump())
    tables = ("schema_migrations", "database_identity", "asset_installs")
    return [
        line for line in dump if not line.startswith(tuple(f'INSERT INTO "{t}"' for t in tables))
    ]


@pytest.mark.parametrize("what", ["new", "older", "published"])
def test_a_setup_that_is_killed_leaves_the_old_or_the_new(
    what: str, cafleet: Program, tmp_path: Path
) -> None:
    template, place = tmp_path / "template", tmp_path / "place"
    prepare(template / "fleet.db", what)
    path, home = place / "fleet.db", place / "home"
    environment = {"HOME": str(home), "CAFLEET_DATABASE_URL": f"sqlite:///{path}"}
    environment["XDG_RUNTIME_DIR"] = cafleet.environment["XDG_RUNTIME_DIR"]
    work = partial(run_program, "setup", "--coding-agent", "claude")
    old = None if what == "new" else contents(template / "fleet.db")
    heads: list[list[str]] = []
    known: set[str] = set()

    def before() -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place)
        home.mkdir()

    def after() -> None:
        for copy in place.glob("*.bak"):
            assert contents(copy) == old
        assert len([*place.glob("*.bak"), *place.glob("*.part")]) <= 1
        found = contents(path) if path.exists() else None
        if found != old and found != ([*EMPTY], []):
            assert rows(path, "PRAGMA integrity_check") == [("ok",)]
            assert rows(path, "SELECT max(version) FROM schema_migrations") == [(HEAD,)]
        state = repr((found == old, sorted(str(each) for each in place.rglob("*"))))
        if state not in known:
            known.add(state)
            assert_the_next_one_works()

    def assert_the_next_one_works() -> None:
        assert attempt(work, place, environment=environment) == 0
        with closing(open_database(str(path))) as conn:
            assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        assert ("claude",) in rows(path, "SELECT coding_agent FROM asset_installs")
        heads.append(application(path))
        assert heads[-1] == heads[0]
        assert len([*place.glob("*.bak")]) == (what == "published")
        left = [each.name for each in home.rglob(".cafleet*")] + [*place.glob("*.part")]
        assert left == [MANIFEST]

    steps = kill_at_each_step(work, place, environment=environment, before=before, after=after)
    assert steps > 40
    assert len(known) > 3


# What SQLite tells of a file without a table.
EMPTY = ("BEGIN TRANSACTION;", "COMMIT;")
