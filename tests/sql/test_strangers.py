"""Databases that are nobody's, or not ours to touch: each is named, refused by all, and left as it is."""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cafleet.errors import CafleetError
from cafleet.operations.database_tools import check
from cafleet.operations.setup import install_assets
from cafleet.records import CodingAgent
from cafleet.store.guard import open_database
from cafleet.store.inspection import inspect
from cafleet.store.migrate import migrate
from cafleet.store.recognition import recognise
from tests.harness.traces import trace
from tests.sql.databases import HEAD, insert, migrate_to, opened, populate, publish, setup

NOW = datetime(2026, 3, 4, tzinfo=UTC)
Maker = Callable[[Path], None]


def content(data: bytes) -> Maker:
    def make(path: Path) -> None:
        path.write_bytes(data)

    return make


def sql(*statements: str) -> Maker:
    """A database that some program has made with these statements."""

    def make(path: Path) -> None:
        with opened(path) as conn:
            for statement in statements:
                conn.execute(statement)

    return make


def crashed(*statements: str, ends: tuple[str, ...] = ("-wal", "-shm")) -> Maker:
    """A database in WAL mode whose program has died: part of it is in the log alone."""

    def make(path: Path) -> None:
        alive = path.with_name("alive")
        with opened(alive) as conn:
            conn.execute("PRAGMA journal_mode = WAL")
            for statement in statements:
                conn.execute(statement)
            for end in ("", *ends):
                shutil.copy(f"{alive}{end}", f"{path}{end}")
        for left in path.parent.glob("alive*"):
            left.unlink()

    return make


def in_the_middle(before: str) -> Maker:
    """A database whose program has died in a transaction: its rollback journal is hot."""

    def make(path: Path) -> None:
        alive = path.with_name("alive")
        with opened(alive) as conn:
            conn.execute(before)
            conn.execute("CREATE TABLE filling (x BLOB)")
            conn.execute("PRAGMA cache_size = 2")
            conn.execute("BEGIN IMMEDIATE")
            for _ in range(40):
                conn.execute("INSERT INTO filling VALUES (zeroblob(3000))")
            for end in ("", "-journal"):
                shutil.copy(f"{alive}{end}", f"{path}{end}")
        for left in path.parent.glob("alive*"):
            left.unlink()

    return make


def ours(*statements: str) -> Maker:
    """A database at head that somebody has run these statements on."""

    def make(path: Path) -> None:
        setup(path)
        sql("PRAGMA journal_mode = DELETE", *statements)(path)

    return make


def published(version: int, *statements: str) -> Maker:
    """A database of the published predecessor that somebody has run these statements on."""

    def make(path: Path) -> None:
        publish(path, version)
        populate(path, version)
        sql("PRAGMA journal_mode = DELETE", *statements)(path)

    return make


def rebuilt(old: str, new: str) -> Maker:
    """A published database whose table of messages is declared otherwise by a word or two."""

    def make(path: Path) -> None:
        publish(path, 8)
        with opened(path) as conn:
            conn.execute("PRAGMA journal_mode = DELETE")
            [(declared,)] = conn.execute("SELECT sql FROM sqlite_master WHERE name = 'messages'")
            assert old in declared
            conn.execute("DROP TABLE messages")
            conn.execute(declared.replace(old, new))

    return make


def random_bytes(path: Path) -> None:
    path.write_bytes(random.Random(7).randbytes(40_000))


def truncated(path: Path) -> None:
    setup(path)
    path.write_bytes(path.read_bytes()[:5_000])


def a_flipped_page(path: Path) -> None:
    setup(path)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "note").write_text("mine")


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    import socket

    with closing(socket.socket(socket.AF_UNIX)) as server:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/null")


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def a_second_name(path: Path) -> None:
    setup(path)
    os.link(path, path.with_name("other.db"))


def a_log_of_another(path: Path) -> None:
    sql("CREATE TABLE bookmarks (url TEXT)")(path)
    crashed("CREATE TABLE other (x)", ends=("-wal",))(path.with_name("second"))
    path.with_name("second").unlink()
    path.with_name("second-wal").rename(f"{path}-wal")


def a_garbage_log(path: Path) -> None:
    sql("CREATE TABLE bookmarks (url TEXT)")(path)
    Path(f"{path}-wal").write_bytes(b"no log at all" * 400)


def a_garbage_journal(path: Path) -> None:
    sql("CREATE TABLE bookmarks (url TEXT)")(path)
    Path(f"{path}-journal").write_bytes(b"no journal at all" * 400)


def read_only(path: Path) -> None:
    sql("CREATE TABLE bookmarks (url TEXT)")(path)
    path.chmod(0o400)


def other_text(path: Path) -> None:
    sql("PRAGMA encoding = 'UTF-16le'", "CREATE TABLE bookmarks (url TEXT)")(path)


def an_older_head(path: Path) -> None:
    setup(path)
    sql("PRAGMA journal_mode = DELETE", "DELETE FROM schema_migrations WHERE version = 2")(path)


FOREIGN = "is not one of cafleet's; point CAFLEET_DATABASE_URL elsewhere"
NO_DATABASE = "is not an SQLite database"
LEDGER = "(version INTEGER PRIMARY KEY, file_name TEXT, checksum TEXT, applied_at TEXT)"
REGISTRY = [
    "CREATE TABLE fleets (fleet_id INTEGER)",
    "CREATE TABLE members (member_id INTEGER)",
    "CREATE TABLE messages (message_id INTEGER)",
]
NEXT = f"INSERT INTO schema_migrations VALUES ({HEAD + 1}, 'V.sql', 'x', 'then')"


def newer_in_the_log(path: Path) -> None:
    """The entry of the newer program stands in the log alone, and the program has died."""
    template = path.with_name("template")
    setup(template)
    with opened(template) as conn:
        conn.execute(NEXT)
        for end in ("", "-wal", "-shm"):
            shutil.copy(f"{template}{end}", f"{path}{end}")
    for left in path.parent.glob("template*"):
        left.unlink()


STRANGERS: dict[str, tuple[Maker, str]] = {
    "prose": (content(b"This is no database at all. " * 200), NO_DATABASE),
    "a line": (content(b"a note\n"), NO_DATABASE),
    "one byte": (content(b"x"), NO_DATABASE),
    "zero pages": (content(b"\0" * 8192), NO_DATABASE),
    "random": (random_bytes, NO_DATABASE),
    "gzip": (content(b"\x1f\x8b\x08\0" + b"\x5a" * 5000), NO_DATABASE),
    "a magic and nothing": (content(b"SQLite format 3\0"), NO_DATABASE),
    "a magic and noise": (content(b"SQLite format 3\0" + b"\xa5" * 4080), ""),
    "SQLite 2": (content(b"** This file contains an SQLite 2.1 database **\0" * 60), NO_DATABASE),
    "truncated": (truncated, "is damaged"),
    "overwritten": (a_flipped_page, "is damaged"),
    "a folder": (a_folder, "cannot be opened"),
    "a fifo": (a_fifo, "is a device or a pipe, not a file"),
    "a socket": (a_socket, "is a device or a pipe, not a file"),
    "a device": (a_device, "is a device or a pipe, not a file"),
    "a link to itself": (a_link_to_itself, "cannot be reached"),
    "a second name": (a_second_name, "has 2 names (hard links)"),
    "bookmarks": (sql("CREATE TABLE bookmarks (url TEXT)"), FOREIGN),
    "a view alone": (sql("CREATE VIEW v AS SELECT 1"), FOREIGN),
    "our names": (sql(*REGISTRY), FOREIGN),
    "its own members": (sql("CREATE TABLE members (name TEXT)"), FOREIGN),
    "views of our names": (
        sql(
            "CREATE VIEW schema_migrations AS SELECT 1 AS version, 'f' AS file_name, 'c' AS checksum, "
            "'t' AS applied_at",
            "CREATE VIEW fleets AS SELECT 1 AS fleet_id",
        ),
        FOREIGN,
    ),
    "a trigger of our name": (
        sql(
            "CREATE TABLE t (x)",
            "CREATE TRIGGER fleets AFTER INSERT ON t BEGIN DELETE FROM t; END",
        ),
        FOREIGN,
    ),
    "Rails": (sql("CREATE TABLE schema_migrations (version TEXT PRIMARY KEY)"), FOREIGN),
    "golang-migrate": (
        sql(
            "CREATE TABLE schema_migrations (version INTEGER, dirty INTEGER)",
            "INSERT INTO schema_migrations VALUES (20260102030405, 0)",
        ),
        FOREIGN,
    ),
    "a ledger like ours": (
        sql(
            f"CREATE TABLE schema_migrations {LEDGER}",
            "INSERT INTO schema_migrations VALUES (1, 'V1.sql', 'x', 'then')",
            "CREATE TABLE bookmarks (url TEXT)",
        ),
        FOREIGN,
    ),
    "alembic": (
        sql(
            "CREATE TABLE alembic_version (version_num VARCHAR(32))",
            "INSERT INTO alembic_version VALUES ('0006')",
            "CREATE TABLE users (id INTEGER)",
        ),
        FOREIGN,
    ),
    "alembic and our names": (
        sql("CREATE TABLE alembic_version (version_num VARCHAR(32))", *REGISTRY),
        FOREIGN,
    ),
    "django": (sql("CREATE TABLE django_migrations (id INTEGER, app TEXT, name TEXT)"), FOREIGN),
    "full text": (sql("CREATE VIRTUAL TABLE notes USING fts5(body)"), FOREIGN),
    "an index of our name": (
        sql("CREATE TABLE t (x)", "CREATE INDEX idx_messages_ack ON t (x)"),
        FOREIGN,
    ),
    "strict": (sql("CREATE TABLE t (x INTEGER) STRICT"), FOREIGN),
    "without rowid": (sql("CREATE TABLE t (x TEXT PRIMARY KEY) WITHOUT ROWID"), FOREIGN),
    "an application id": (sql("PRAGMA application_id = 1196444487"), FOREIGN),
    "a user version": (sql("PRAGMA user_version = 3"), FOREIGN),
    "an application id and tables": (
        sql("PRAGMA application_id = 252006675", "CREATE TABLE t (x)"),
        FOREIGN,
    ),
    "huge pages": (sql("PRAGMA page_size = 65536", "CREATE TABLE t (x)"), FOREIGN),
    "small pages": (sql("PRAGMA page_size = 512", "CREATE TABLE t (x)"), FOREIGN),
    "autovacuum": (sql("PRAGMA auto_vacuum = FULL", "CREATE TABLE t (x)"), FOREIGN),
    "UTF-16": (other_text, FOREIGN),
    "read-only": (read_only, FOREIGN),
    "in WAL mode": (sql("PRAGMA journal_mode = WAL", "CREATE TABLE t (x)"), FOREIGN),
    "a log after a crash": (crashed("CREATE TABLE t (x)"), FOREIGN),
    "a log after a crash, all in it": (crashed("CREATE TABLE t (x)", ends=("-wal",)), FOREIGN),
    "a hot journal": (in_the_middle("CREATE TABLE t (x)"), FOREIGN),
    "the log of another": (a_log_of_another, FOREIGN),
    "a log that is none": (a_garbage_log, FOREIGN),
    "a journal that is none": (a_garbage_journal, FOREIGN),
    "newer": (ours(NEXT), f"is at schema {HEAD + 1}, newer than this program's {HEAD}"),
    "newer, in the log": (
        newer_in_the_log,
        f"is at schema {HEAD + 1}, newer than this program's {HEAD}",
    ),
    "a gap": (an_older_head, "lacks version 2"),
    "another edition": (
        ours("UPDATE schema_migrations SET checksum = 'x' WHERE version = 4"),
        "V4__fleet_wide_wake.sql was another file",
    ),
    "an empty ledger": (ours("DELETE FROM schema_migrations"), "is empty, so its schema is unk"),
    "lost ledger": (ours("DROP TABLE schema_migrations"), FOREIGN),
    "lost tables": (ours("DROP TABLE waits"), "lacks table waits"),
    "published, version 9": (
        published(8, "INSERT INTO refinery_schema_history VALUES (9, 'x', 't', '1')"),
        "is at version 9 of the published cafleet, which this program knows up to 8",
    ),
    "published, a gap": (
        published(5, "DELETE FROM refinery_schema_history WHERE version = 2"),
        "is not one of the published cafleet",
    ),
    "published, no history": (
        published(5, "DELETE FROM refinery_schema_history"),
        "is not one of the published cafleet",
    ),
    "published, a column more": (
        published(8, "ALTER TABLE messages ADD COLUMN more TEXT"),
        "is not as version 8 of the published cafleet made it (table messages",
    ),
    "published, a unique index": (
        published(8, "CREATE UNIQUE INDEX mine ON members (name, member_id)"),
        "(index mine is not of that version)",
    ),
    "published, a trigger": (
        published(
            8,
            "CREATE TRIGGER mine AFTER INSERT ON messages BEGIN SELECT 1; END",
        ),
        "(trigger mine is not of that version)",
    ),
    "published, another index": (
        published(
            8,
            "DROP INDEX idx_members_fleet_status",
            "CREATE INDEX idx_members_fleet_status ON members (status, fleet_id)",
        ),
        "(index idx_members_fleet_status is declared otherwise)",
    ),
    "published, ids twice": (rebuilt("AUTOINCREMENT", ""), "table messages is declared otherwise"),
    "published, no foreign key": (
        rebuilt("REFERENCES members (member_id) ON DELETE RESTRICT", ""),
        "table messages is declared otherwise",
    ),
    "published, another action": (
        rebuilt("ON DELETE RESTRICT", "ON DELETE CASCADE"),
        "table messages is declared otherwise",
    ),
    "published, another type": (
        rebuilt("text TEXT NOT NULL", "text BLOB NOT NULL"),
        "table messages is declared otherwise (text is declared otherwise)",
    ),
    "published, null allowed": (
        rebuilt("type TEXT NOT NULL", "type TEXT"),
        "table messages is declared otherwise (type is declared otherwise)",
    ),
    "published, unique": (
        rebuilt("created_at TEXT NOT NULL", "created_at TEXT NOT NULL UNIQUE"),
        "table messages is declared otherwise",
    ),
    "published, a collation": (
        rebuilt("text TEXT NOT NULL", "text TEXT NOT NULL COLLATE NOCASE"),
        "table messages is declared otherwise",
    ),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_it_is_refused_in_the_same_words_by_all_and_left_as_it_is(
    tmp_path: Path, name: str
) -> None:
    make, fragment = STRANGERS[name]
    path = tmp_path / "data" / "fleet.db"
    path.parent.mkdir()
    make(path)
    before = trace(path.parent)
    sentence = recognise(str(path)).sentence
    assert sentence is not None
    assert fragment in sentence
    assert "; " in sentence
    if name != "lost tables":
        # The guard compares no tables.
        assert refused(lambda: open_database(str(path)).close()) == sentence or is_believed(name)
        assert refused(lambda: [*installing(path)]) == sentence
    assert refused(lambda: migrate(str(path), now=NOW)) == sentence
    assert inspect(str(path)).error == sentence
    assert trace(path.parent) == before
    with suppress(CafleetError):
        found = check(str(path))
        assert any(sentence in each or "waits is missing" in each for each in found)
    assert trace(path.parent) == before


def is_believed(name: str) -> bool:
    """The guard does not read the checksums of a ledger that is at head."""
    return name == "another edition"


def installing(path: Path) -> list[object]:
    return [*install_assets(str(path), [CodingAgent.CLAUDE], is_database_ready=False)]


def refused(work: Callable[[], object]) -> str | None:
    """What the refusal says; nothing if there was none."""
    try:
        work()
    except CafleetError as failure:
        return str(failure)
    return None


def test_there_are_fifty() -> None:
    assert len(STRANGERS) >= 50


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o027])
def test_the_database_and_its_companions_are_their_owners_alone(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "fleet.db"
    before = os.umask(umask)
    try:
        setup(path)
        with closing(open_database(str(path))) as conn:
            conn.execute("CREATE TABLE t (x)")
            modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["fleet.db", "fleet.db-wal", "fleet.db-shm"], 0o600)


def test_a_published_database_in_other_words_is_adopted(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    publish(path, 8)
    with opened(path) as conn:
        [(declared,)] = conn.execute("SELECT sql FROM sqlite_master WHERE name = 'messages'")
        conn.execute("DROP TABLE messages")
        conn.execute(declared.replace("INTEGER", "integer").replace("text TEXT", '"text"\n  TEXT'))
        conn.execute("CREATE TABLE notes (of_the_operator TEXT)")
        conn.execute("CREATE INDEX faster ON messages (type)")
    assert setup(path).from_version == 8


def test_an_empty_database_of_a_crashed_setup_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    path.touch()
    assert setup(path).from_version == 0


def test_what_a_migration_leaves_out_is_told(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    migrate_to(path, 5)
    with opened(path) as conn:
        for agent in ("claude", "gemini", b"\xff"):
            insert(
                conn, "asset_installs", coding_agent=agent, cafleet_version="1", installed_at="?"
            )
    [told] = setup(path).left_out
    assert told.startswith("V6__asset_installs_by_path.sql leaves out 3 rows of asset_installs, wh")
    assert setup(path).left_out == []
