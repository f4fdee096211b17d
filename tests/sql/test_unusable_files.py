"""What stands at the path of the database, or what may not be written: one clear line each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.program import Program, assert_refused
from tests.sql.databases import HEAD, opened, populate, setup


@pytest.fixture
def path(tmp_path: Path, cafleet: Program) -> Path:
    path = tmp_path / "data" / "fleet.db"
    path.parent.mkdir()
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{path}"
    return path


COMMANDS = [("setup",), ("fleet", "list"), ("message", "poll", "4")]


@pytest.mark.parametrize("command", COMMANDS)
def test_folder_in_its_place(cafleet: Program, path: Path, command: tuple[str, ...]) -> None:
    path.mkdir()
    assert_refused(cafleet.run(*command), 1, "cannot be opened")
    assert list(path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "content", [b"not a database, but text\n" * 100, b"\x00" * 4096, b"a note\n"]
)
def test_other_content(
    cafleet: Program, path: Path, command: tuple[str, ...], content: bytes
) -> None:
    path.write_bytes(content)
    result = cafleet.run(*command)
    assert_refused(result, 1, "is not an SQLite database")
    assert path.read_bytes() == content


def test_empty_file(cafleet: Program, path: Path) -> None:
    path.touch()
    assert_refused(cafleet.run("fleet", "list"), 1, "is not set up yet; run `cafleet setup`")
    assert path.read_bytes() == b""
    said = cafleet.run("setup").ok().stdout
    assert said.splitlines()[0].endswith(f": created and migrated to {HEAD}")
    assert cafleet.run("fleet", "list").ok()


def test_no_file(cafleet: Program, path: Path) -> None:
    assert_refused(cafleet.run("fleet", "list"), 1, "there is no database at")
    assert not path.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_damaged_pages(cafleet: Program, path: Path, command: tuple[str, ...]) -> None:
    setup(path)
    populate(path, HEAD)
    content = bytearray(path.read_bytes())
    # The header says how long it is; every page of tables and indexes is gone.
    content[100:] = b"\xa5" * (len(content) - 100)
    path.write_bytes(content)
    assert_refused(cafleet.run(*command), 1, "is damaged")
    assert path.read_bytes() == bytes(content)


@pytest.mark.parametrize("command", COMMANDS)
def test_cut_off_file(cafleet: Program, path: Path, command: tuple[str, ...]) -> None:
    setup(path)
    populate(path, HEAD)
    content = path.read_bytes()[: 3 * 4096 + 1000]
    path.write_bytes(content)
    result = cafleet.run(*command)
    assert_refused(result, 1, "is damaged")
    assert path.read_bytes() == content


def test_file_that_may_not_be_written(cafleet: Program, path: Path) -> None:
    setup(path)
    with opened(path) as conn:
        conn.execute("DELETE FROM schema_migrations WHERE version = ?", (HEAD,))
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        before = path.read_bytes()
        assert_refused(cafleet.run_unprivileged("setup"), 1, "cannot be written")
        assert path.read_bytes() == before
    finally:
        path.parent.chmod(0o755)


def test_file_that_may_not_be_read(cafleet: Program, path: Path) -> None:
    setup(path)
    path.chmod(0)
    assert_refused(cafleet.run_unprivileged("fleet", "list"), 1, "cannot be opened")
    assert_refused(cafleet.run_unprivileged("setup"), 1, "cannot be opened")


def test_folder_that_may_not_be_written(cafleet: Program, path: Path) -> None:
    path.parent.chmod(0o555)
    try:
        assert_refused(cafleet.run_unprivileged("setup"), 1, "cannot be opened")
        assert list(path.parent.iterdir()) == []
    finally:
        path.parent.chmod(0o755)


def test_folder_that_cannot_be_made(cafleet: Program, path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("a file\n")
    assert_refused(cafleet.run("setup"), 1, f"the folder {path.parent} cannot be made")
    assert path.parent.read_text() == "a file\n"


@pytest.mark.parametrize("name", ["a b", "50%?#&.db", "é☃", "'; DROP TABLE members; --", "%41.db"])
def test_path_is_taken_literally(cafleet: Program, path: Path, name: str) -> None:
    odd = path.parent / name
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{odd}"
    cafleet.run("setup").ok()
    assert [entry.name for entry in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("command", COMMANDS)
def test_folder_that_may_not_be_searched(
    cafleet: Program, path: Path, command: tuple[str, ...]
) -> None:
    setup(path)
    path.parent.chmod(0)
    try:
        told = f"the database at {path} cannot be reached (Permission denied); check its path and"
        assert_refused(cafleet.run_unprivileged(*command), 1, told)
    finally:
        path.parent.chmod(0o755)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_that_leads_nowhere(cafleet: Program, path: Path, command: tuple[str, ...]) -> None:
    target = path.parent / "elsewhere.db"
    path.symlink_to(target)
    told = f"{path} is a link to {target}, where there is no file; correct the link, or remove it"
    assert_refused(cafleet.run(*command), 1, told)
    assert [*path.parent.iterdir()] == [path]
    setup(target)
    assert "a link to" not in cafleet.run(*command).stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_to_itself(cafleet: Program, path: Path, command: tuple[str, ...]) -> None:
    path.symlink_to(path)
    assert_refused(
        cafleet.run(*command), 1, "cannot be reached (Too many levels of symbolic links)"
    )


@pytest.mark.parametrize("slashes", ["/", "//"])
def test_a_path_that_begins_with_more_than_one_slash(
    cafleet: Program, path: Path, slashes: str
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{slashes}{path}"
    cafleet.run("setup").ok()
    assert cafleet.run("fleet", "list").ok()
    found = json.loads(cafleet.run("doctor", "--json").stdout)["database"]
    assert (found["ok"], found["error"]) == (True, None)
    assert path.is_file()
