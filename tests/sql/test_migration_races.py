"""Sixteen processes that open one database at the same moment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cafleet import __version__
from tests.sql.databases import HEAD, insert, migrate_to, opened, populate, publish, rows, setup

ROOT = Path(__file__).parents[2]
PROCESSES = 16


def home_of(paths: list[Path]) -> Path:
    """Where the assets go that a race installs: never into the home of whoever runs the tests."""
    home = paths[0].parent / "home"
    home.mkdir(parents=True, exist_ok=True)
    return home


def race(paths: list[Path], *command: str) -> str:
    """Run the command 16 times at once on each path, one path after the other; what was said."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.sql.racers", str(PROCESSES), *command],
        input="".join(f"{path}\n" for path in paths),
        cwd=ROOT,
        env={**os.environ, "HOME": str(home_of(paths))},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    expected = " ".join(["0"] * PROCESSES)
    assert done.stdout.splitlines() == [expected] * len(paths), done.stderr
    return done.stderr


def assert_at_head(path: Path) -> None:
    applied = rows(path, "SELECT version FROM schema_migrations ORDER BY version")
    assert applied == [(version,) for version in range(1, HEAD + 1)]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "SELECT count(*) FROM database_identity") == [(1,)]


def test_setups_of_a_new_database(tmp_path: Path) -> None:
    paths = [tmp_path / f"round {number}" / "fleet.db" for number in range(6)]
    said = race(paths, "setup")
    for path in paths:
        assert_at_head(path)
        of_this = [line for line in said.splitlines() if f"{path.parent.name}/fleet.db" in line]
        assert sorted(line.partition(": ")[2] for line in of_this) == [
            *[f"already at {HEAD}"] * (PROCESSES - 1),
            f"created and migrated to {HEAD}",
        ]


def test_setups_that_adopt(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}" / "fleet.db" for number in range(2)]
    for path in paths:
        path.parent.mkdir()
        publish(path, 5)
        populate(path, 5)
    race(paths, "setup")
    for path in paths:
        assert_at_head(path)
        assert len(list(path.parent.glob("*.bak"))) == 1


def test_setups_of_an_older_database_in_rollback_mode(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    migrate_to(path, 7)
    populate(path, 7)
    with opened(path) as conn:
        conn.execute("PRAGMA journal_mode = DELETE")
    race([path], "setup")
    assert_at_head(path)


def test_polls_of_a_database_put_back_to_a_rollback_journal(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    setup(path)
    populate(path, HEAD)
    with opened(path) as conn:
        assert conn.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
        insert(
            conn,
            "asset_installs",
            coding_agent="claude",
            path=str(home_of([path]) / ".claude"),
            cafleet_version=__version__,
            installed_at="2026-01-01T00:00:00.000000+00:00",
        )
    said = race([path, path], "message", "poll", "4")
    assert said.count("text 1 ") == 2 * PROCESSES
