"""Databases that are missing, of another version, damaged, or not ours; and URLs that name none."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cafleet.store import queries
from tests.harness.program import Program, assert_refused
from tests.sql.databases import publish

HEAD = queries.SCHEMA_VERSION


def at_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("DELETE FROM schema_migrations WHERE version > ?", [version])
        if version > HEAD:
            conn.execute(
                "INSERT INTO schema_migrations VALUES (?, 'V.sql', 'x', 'then')", [version]
            )


def older(path: Path) -> None:
    at_version(path, HEAD - 1)


def newer(path: Path) -> None:
    at_version(path, HEAD + 1)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def emptied_ledger(path: Path) -> None:
    at_version(path, 0)


def published(path: Path) -> None:
    path.unlink()
    publish(path, 8)


def another_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE bookmarks (url TEXT)")


def prose(path: Path) -> None:
    path.write_text("This is no database at all. " * 200)


def torn(path: Path) -> None:
    """The first page stays, the rest is overwritten."""
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)


def missing(path: Path) -> None:
    path.unlink()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


FAULTS: list[tuple[Callable[[Path], None], str]] = [
    (missing, "there is no database at {path}; run `cafleet setup`"),
    (emptied, "the database at {path} is not set up yet; run `cafleet setup`"),
    (older, f"is at schema {HEAD - 1}, older than this program's {HEAD}; run `cafleet setup`"),
    (newer, f"is at schema {HEAD + 1}, newer than this program's {HEAD}; upgrade cafleet"),
    (emptied_ledger, "is empty, so its schema is unknown; restore it from a backup"),
    (published, "is one of the published cafleet, older than this program; run `cafleet setup`"),
    (another_program, "is not one of cafleet's; point CAFLEET_DATABASE_URL elsewhere"),
    (prose, "the file at {path} is not an SQLite database; check CAFLEET_DATABASE_URL"),
    (torn, "the database at {path} is damaged; restore it from a backup"),
    (a_folder, "the database at {path} cannot be opened; check its path and permissions"),
]


@pytest.mark.parametrize(("spoil", "fragment"), FAULTS)
def test_the_guard_names_the_fault_and_the_cure(
    cafleet: Program,
    tmp_path: Path,
    database_at_head: Path,
    spoil: Callable[[Path], None],
    fragment: str,
) -> None:
    path = tmp_path / "data" / "fleet.db"
    path.parent.mkdir()
    path.write_bytes(database_at_head.read_bytes())
    spoil(path)
    before = contents(path.parent)
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{path}"
    assert_refused(cafleet.run("fleet", "list"), 1, fragment.format(path=path))
    assert contents(path.parent) == before


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        path.name: path.read_bytes() if path.is_file() else None
        for path in folder.iterdir()
        if not path.name.endswith(("-wal", "-shm"))
    }


@pytest.mark.parametrize(
    ("spoil", "fragment"),
    [
        (another_program, "is not one of cafleet's; point CAFLEET_DATABASE_URL elsewhere"),
        (prose, "the file at {path} is not an SQLite database"),
        (torn, "the database at {path} is damaged"),
        (a_folder, "the database at {path} cannot be opened"),
    ],
)
def test_setup_changes_nothing_that_is_not_its_own(
    cafleet: Program,
    tmp_path: Path,
    database_at_head: Path,
    spoil: Callable[[Path], None],
    fragment: str,
) -> None:
    path = tmp_path / "data" / "fleet.db"
    path.parent.mkdir()
    path.write_bytes(database_at_head.read_bytes())
    spoil(path)
    before = contents(path.parent)
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{path}"
    assert_refused(cafleet.run("setup"), 1, fragment.format(path=path))
    assert contents(path.parent) == before


def test_setup_says_what_it_did(cafleet: Program, tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "deeper" / "fleet #1?%20.db"
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{path}"
    first = cafleet.run("setup").ok()
    assert first.stdout.splitlines()[0] == f"database {path}: created and migrated to {HEAD}"
    again = cafleet.run("setup").ok()
    assert again.stdout.splitlines()[0] == f"database {path}: already at {HEAD}"
    assert first.stderr == again.stderr == ""
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert cafleet.run("fleet", "list", "--json").ok().stdout == "[]\n"


def test_setup_says_what_stands_where_its_folder_should_be(
    cafleet: Program, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{tmp_path}/file/fleet.db"
    assert_refused(cafleet.run("setup"), 1, f"the folder {tmp_path}/file cannot be made")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "fleet.db",
        "/tmp/fleet.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///fleet.db",
        "sqlite:///~/fleet.db",
        "sqlite:///:memory:",
        "sqlite:////tmp/",
        "SQLITE:////tmp/fleet.db",
        "sqlite+aiosqlite:////tmp/fleet.db",
        "postgresql://localhost/fleet",
        b"sqlite:////tmp/\xff.db",
        "sqlite:////tmp/fleet.db?mode=ro",
        "sqlite:////tmp/fleet.db?cache=shared&mode=ro#top",
    ],
)
def test_a_url_that_names_no_file(cafleet: Program, tmp_path: Path, url: str | bytes) -> None:
    value = url if isinstance(url, str) else url.decode("utf-8", "surrogateescape")
    result = cafleet.run("setup", env={"CAFLEET_DATABASE_URL": value})
    assert_refused(result, 1, "CAFLEET_DATABASE_URL is '")
    assert [*(tmp_path / "work").iterdir()] == []
    assert [*(tmp_path / "home").iterdir()] == []


@pytest.mark.parametrize(
    ("home", "told"),
    [
        ("", "the home folder is '', which is not an absolute path; set HOME to one"),
        ("relative", "the home folder is 'relative', which is not an absolute path; set HOME to"),
        (
            "/tmp/\udcff",
            r"the home folder is '/tmp/\udcff', which is not UTF-8; set HOME to another",
        ),
    ],
)
def test_a_home_that_can_hold_no_database(cafleet: Program, home: str, told: str) -> None:
    assert_refused(cafleet.run("setup", env={"HOME": home}), 1, told)
    assert_refused(cafleet.run("fleet", "list", env={"HOME": home}), 1, told)


def test_the_default_database_is_in_the_home_folder(cafleet: Program, tmp_path: Path) -> None:
    path = tmp_path / "home/.local/share/cafleet/cafleet.db"
    assert_refused(cafleet.run("fleet", "list"), 1, f"there is no database at {path}")
    assert not path.parent.exists()
    cafleet.run("setup").ok()
    assert path.is_file()
    assert path.parent.stat().st_mode & 0o77 == 0
