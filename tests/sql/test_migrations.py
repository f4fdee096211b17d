"""The migrations, each with the rows that its users had, and what setup does where it cannot go on."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest

from cafleet.errors import DatabaseError, SchemaError
from cafleet.store import migrate as driver
from cafleet.store import migration_files
from cafleet.store.connection import connect, transaction
from cafleet.store.failures import UniqueIndexError, translated
from cafleet.store.guard import open_database
from cafleet.store.migration_files import Migration, migrations, statements
from tests.sql.databases import (
    HEAD,
    MONITOR_CARD,
    NOW,
    PLAIN_CARD,
    contents,
    insert,
    insert_member,
    migrate_to,
    opened,
    populate,
    rows,
    schema,
    setup,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fleet.db"


def ledger(path: Path) -> list[tuple[int, str]]:
    return rows(path, "SELECT version, file_name FROM schema_migrations ORDER BY version")


# --- the files


def test_files_are_numbered_from_1_without_a_gap() -> None:
    names = sorted(
        (path.name for path in (ROOT / "sql/migrations").glob("V*")),
        key=lambda name: int(re.findall(r"[0-9]+", name)[0]),
    )
    assert [name.partition("__")[0] for name in names] == [f"V{n}" for n in range(1, HEAD + 1)]
    assert all(re.fullmatch(r"V[1-9][0-9]*__[a-z0-9_]+\.sql", name) for name in names)
    assert [migration.file_name for migration in migrations()] == names


@pytest.mark.parametrize("migration", migrations(), ids=lambda migration: migration.file_name)
def test_file_says_why_and_at_what_cost(migration: Migration) -> None:
    text = (ROOT / "sql/migrations" / migration.file_name).read_text(encoding="utf-8")
    assert text.startswith("-- ")
    assert "Cost:" in text
    assert not re.search(r"\b(PRAGMA|BEGIN|COMMIT|ROLLBACK|VACUUM)\b", text)


@pytest.mark.parametrize(
    ("names", "fragment"),
    [
        (["V1__a.sql", "V3__c.sql"], "numbered 1, 3; they must run from 1 without a gap"),
        (["V2__a.sql"], "numbered 2"),
        (["V1__a.sql", "V1__b.sql"], "numbered 1, 1"),
        (["V1_a.sql"], "V1_a.sql is not named"),
        (["V01__a.sql"], "V01__a.sql is not named"),
        (["V1__A.sql"], "V1__A.sql is not named"),
        (["V1__a.sql.orig"], "V1__a.sql.orig is not named"),
        (["V٣__a.sql"], "is not named"),
    ],
)
def test_misnamed_files_are_refused(tmp_path: Path, names: list[str], fragment: str) -> None:
    folder = tmp_path / "migrations"
    folder.mkdir()
    for name in [*names, "ledger.sql"]:
        (folder / name).write_text("SELECT 1;\n")
    with (
        mock.patch.object(migration_files, "sql_folder", return_value=tmp_path),
        pytest.raises(DatabaseError, match=re.escape(fragment)),
    ):
        migrations()


def test_statements_are_split_as_sqlite_reads_them() -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM b;\n  DELETE FROM c;\nEND;"
    text = f"-- first; or not\nCREATE TABLE a (x TEXT DEFAULT ';');\n{trigger}\n-- the end\n"
    assert statements(text) == [
        "-- first; or not\nCREATE TABLE a (x TEXT DEFAULT ';');",
        trigger,
    ]
    with pytest.raises(DatabaseError, match="has no end"):
        statements("SELECT 1;\nSELECT 2")


# --- new, and at head


def test_fresh_install_equals_the_snapshot(path: Path) -> None:
    report = setup(path)
    assert (report.from_version, report.to_version, report.backup) == (0, HEAD, None)
    found = rows(path, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    snapshot = statements((ROOT / "sql/schema.sql").read_text(encoding="utf-8"))
    committed = [re.sub(r"^(--.*\n|\s)*", "", each).removesuffix(";") for each in snapshot]
    assert sorted(committed) == sorted(sql for (sql,) in found if "sqlite_sequence" not in sql)


def test_fresh_install_has_no_rows_of_the_application(path: Path) -> None:
    setup(path)
    with opened(path) as conn:
        tables = [
            name
            for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith("sqlite_")
        ]
        filled = {
            table for table in tables if conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        }
    assert filled == {"schema_migrations", "database_identity"}
    assert ledger(path) == [(each.version, each.file_name) for each in migrations()]
    applied = rows(path, "SELECT DISTINCT applied_at FROM schema_migrations")
    assert applied == [("2026-03-04T05:06:07.890123+00:00",)]


def test_each_database_has_an_id_of_its_own(tmp_path: Path) -> None:
    found = set()
    for name in ("a.db", "b.db"):
        setup(tmp_path / name)
        [(database_id,)] = rows(tmp_path / name, "SELECT database_id FROM database_identity")
        assert re.fullmatch(r"[0-9a-f]{32}", database_id)
        found.add(database_id)
    assert len(found) == 2


def test_second_setup_changes_not_a_byte(path: Path) -> None:
    setup(path)
    populate(path, HEAD)
    before = path.read_bytes()
    report = setup(path)
    assert (report.from_version, report.to_version, report.backup) == (HEAD, HEAD, None)
    assert report.journal_mode == "wal"
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_three_tables_alone_mint_ids(path: Path) -> None:
    setup(path)
    populate(path, HEAD)
    minting = rows(path, "SELECT name FROM sqlite_sequence ORDER BY name")
    assert minting == [("fleets",), ("members",), ("messages",)]
    with opened(path) as conn:
        conn.execute("DELETE FROM messages WHERE message_id = 9")
        insert(
            conn,
            "messages",
            owner_member_id=4,
            from_member_id=1,
            type="unicast",
            created_at="t",
            status_state="completed",
            status_timestamp="t",
            text="",
        )
        assert conn.execute("SELECT max(message_id) FROM messages").fetchone() == (10,)


# --- each step with rows


def test_v2_takes_the_configuration_of_directors(path: Path) -> None:
    migrate_to(path, 1)
    populate(path, 1)
    assert rows(path, "SELECT member_id FROM monitor_config ORDER BY 1") == [(1,), (4,)]
    migrate_to(path, 2)
    assert rows(path, "SELECT * FROM monitor_config") == [
        (4, 30, "2026-01-01T00:00:00.000000+00:00", 1, None)
    ]


def test_v3_takes_the_retired_marker_and_touches_no_other_card(path: Path) -> None:
    kept = [
        PLAIN_CARD,
        MONITOR_CARD,
        "{bad",
        "",
        "null",
        "[1]",
        '"text"',
        "{}",
        '{"cafleet":"monitoring-member"}',
        '{"cafleet":null}',
        '{"cafleet":{"kind":5}}',
        '{"cafleet":{"kind":"Monitoring-Member"}}',
        '{"kind":"monitoring-member"}',
        "[" * 100_000,
        b'{"cafleet":{"kind":"monitoring-member"}}',
        b"\xff\x00",
    ]
    retired = '{"name":"w","cafleet":{"kind":"monitoring-member","every":60},"skills":["é","☃"]}'
    migrate_to(path, 2)
    with opened(path) as conn:
        insert(conn, "fleets", fleet_id=1, created_at="t")
        for member_id, card in enumerate([*kept, retired], 1):
            insert_member(conn, member_id, 1, status="deregistered", member_card_json=card)
    migrate_to(path, 3)
    cards = [
        card for (card,) in rows(path, "SELECT member_card_json FROM members ORDER BY member_id")
    ]
    assert cards == [*kept, '{"name":"w","skills":["é","☃"]}']


def test_v4_to_v7_leave_nulls_where_nothing_was_known(path: Path) -> None:
    migrate_to(path, 3)
    populate(path, 3)
    setup(path)
    at = "2026-01-01T00:00:00.000000+00:00"
    columns = "pid, started_at, last_tick_at, tick_seconds, last_wake_at, wake_interval_seconds"
    found = rows(path, f"SELECT {columns}, wake_requested_at, stopped_at FROM monitor_runtime")
    assert found == [(77, at, at, 7, None, None, None, None)]
    assert not rows(path, "SELECT 1 FROM sqlite_master WHERE name = 'monitor_config'")


def test_v5_interval_of_zero_is_not_null(path: Path) -> None:
    migrate_to(path, 5)
    populate(path, 5)
    setup(path)
    assert rows(path, "SELECT wake_interval_seconds FROM monitor_runtime") == [(0,)]


@pytest.mark.parametrize(("version", "kept"), [(5, []), (6, [("codex", "/home/me/.codex", "0.1")])])
def test_v6_alone_empties_the_installs(path: Path, version: int, kept: list[object]) -> None:
    migrate_to(path, version)
    populate(path, version)
    setup(path)
    assert rows(path, "SELECT coding_agent, path, cafleet_version FROM asset_installs") == kept


def test_v7_keeps_a_pending_request(path: Path) -> None:
    migrate_to(path, 7)
    populate(path, 7)
    setup(path)
    [(wanted,)] = rows(path, "SELECT wake_requested_at FROM monitor_runtime")
    assert wanted == "2026-01-01T00:00:00.000000+00:00"


MARKER = """'{"cafleet":{"kind":"monitor"}}'"""


@pytest.mark.parametrize(
    ("sql", "allowed"),
    [
        (f"UPDATE members SET member_card_json = {MARKER} WHERE member_id = 4", False),
        ("UPDATE members SET status = 'active' WHERE member_id = 21", False),
        ("UPDATE members SET fleet_id = 1 WHERE member_id = 22", False),
        (f"INSERT INTO members VALUES (23, 1, '', '', 'active', '', NULL, {MARKER}, NULL)", False),
        (
            f"INSERT INTO members VALUES (23, 1, '', '', 'deregistered', '', NULL, {MARKER}, NULL)",
            True,
        ),
        (f"INSERT INTO members VALUES (23, 2, '', '', 'active', '', NULL, {MARKER}, NULL)", True),
        ("INSERT INTO members VALUES (23, 1, '', '', 'active', '', NULL, '{}', NULL)", True),
        ("UPDATE members SET name = 'other' WHERE member_id = 2", True),
        ("UPDATE members SET status = 'deregistered' WHERE member_id = 2", True),
    ],
)
def test_v8_guards_one_active_monitor_and_nothing_else(path: Path, sql: str, allowed: bool) -> None:
    migrate_to(path, 7)
    populate(path, 7)
    setup(path)
    with opened(path) as conn:
        insert_member(conn, 21, 1, member_card_json=MONITOR_CARD, status="deregistered")
        insert(conn, "fleets", fleet_id=3, created_at="t")
        insert_member(conn, 22, 3, member_card_json=MONITOR_CARD)
        if allowed:
            conn.execute(sql)
        else:
            with pytest.raises(UniqueIndexError) as refused, translated():
                conn.execute(sql)
            assert refused.value.index == "idx_members_one_active_monitor_per_fleet"


def test_v8_index_is_told_from_every_other_constraint(path: Path) -> None:
    setup(path)
    with opened(path) as conn:
        insert(conn, "fleets", fleet_id=1, created_at="t")
        with pytest.raises(DatabaseError, match="UNIQUE") as refused, translated():
            insert(conn, "fleets", fleet_id=1, created_at="t")
        assert not isinstance(refused.value, UniqueIndexError)


def test_v9_owes_nothing_of_old(path: Path) -> None:
    migrate_to(path, 8)
    populate(path, 8)
    setup(path)
    found = rows(path, "SELECT message_id, delivery_state FROM messages ORDER BY message_id")
    assert found == [
        (1, "seen"),
        (2, "seen"),
        (3, "none"),
        (4, "seen"),
        (5, "none"),
        (9, "seen"),
    ]
    assert rows(path, "SELECT * FROM delivery_events") == []
    assert rows(path, "SELECT * FROM waits") == []
    for table in ("reserved_members", "left_processes", "member_launches"):
        assert rows(path, f"SELECT * FROM {table}") == []
    columns = "mux_pane_id, mux_socket, screen, screen_at, mux_server_pid"
    placed = rows(path, f"SELECT {columns} FROM member_placements")
    assert placed == [(pane, *[None] * 4) for pane in ("%1", "%2", "%4", None)]


def test_v17_keeps_what_was_being_typed_and_has_tried_no_wake(path: Path) -> None:
    migrate_to(path, 16)
    populate(path, 16)
    with opened(path) as conn:
        conn.execute("UPDATE messages SET delivery_state = 'typed' WHERE message_id = 1")
    loops = "SELECT fleet_id, last_wake_at, wake_requested_at FROM monitor_runtime"
    before = rows(path, loops)
    setup(path)
    assert rows(path, loops) == before
    wakes = "wake_attempted_at, wake_attempts, wake_outcome, wake_reason"
    assert rows(path, f"SELECT {wakes} FROM monitor_runtime") == [(None, 0, None, None)]
    assert rows(path, "SELECT * FROM typings") == []
    assert rows(path, "SELECT * FROM typing_messages") == []
    # The next courier settles it by the text that it would have typed.
    typed = "SELECT message_id FROM messages WHERE delivery_state = 'typed'"
    assert rows(path, typed) == [(1,)]


@pytest.mark.parametrize("version", range(1, HEAD))
def test_every_row_of_every_version_is_kept(path: Path, version: int) -> None:
    migrate_to(path, version)
    populate(path, version)
    kept = {
        table: f"SELECT {columns} FROM {table} ORDER BY 1"
        for table, columns in {
            "fleets": "fleet_id, name, created_at, deleted_at, director_member_id",
            "messages": "message_id, owner_member_id, from_member_id, to_member_id, type, created_at,"
            " status_state, status_timestamp, origin_message_id, text",
            "members": "member_id, fleet_id, name, description, status, registered_at,"
            " deregistered_at",
            "member_placements": "member_id, mux_session, mux_window_id, mux_pane_id, backend,"
            " coding_agent, created_at",
            "monitor_runtime": "fleet_id, pid, started_at, last_tick_at, tick_seconds",
        }.items()
    }
    before = {table: rows(path, sql) for table, sql in kept.items()}
    report = setup(path)
    assert (report.from_version, report.to_version) == (version, HEAD)
    assert {table: rows(path, sql) for table, sql in kept.items()} == before
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "PRAGMA foreign_key_check") == []
    assert len(ledger(path)) == HEAD
    with closing(open_database(str(path))) as conn:
        assert conn.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_head_is_the_same_from_every_version(tmp_path: Path) -> None:
    heads = []
    for version in range(1, HEAD + 1):
        path = tmp_path / f"{version}.db"
        migrate_to(path, version)
        setup(path)
        heads.append(schema(path))
    assert all(head == heads[0] for head in heads)


# --- what stops it


@pytest.mark.parametrize(
    ("version", "obstacle", "file"),
    [
        (
            5,
            "CREATE TABLE idx_members_one_active_monitor_per_fleet (x)",
            "V8__one_active_monitor.sql",
        ),
        (8, "CREATE TABLE waits (x)", "V9__delivery.sql"),
        (8, "CREATE INDEX idx_member_placements_pane ON fleets (name)", "V9__delivery.sql"),
        (3, "CREATE TABLE database_identity (x)", "V9__delivery.sql"),
        (8, "CREATE INDEX idx_messages_ack ON messages (text)", "V10__roster_indexes.sql"),
    ],
)
def test_failure_midway_changes_nothing(path: Path, version: int, obstacle: str, file: str) -> None:
    migrate_to(path, version)
    populate(path, version)
    with opened(path) as conn:
        conn.execute(obstacle)
    before = contents(path)
    with pytest.raises(
        SchemaError, match=rf"^{file} cannot be applied \(.* already .*setup` again$"
    ):
        setup(path)
    assert contents(path) == before
    assert len(ledger(path)) == version
    with opened(path) as conn:
        _, kind, name, *_ = obstacle.split()
        conn.execute(f"DROP {kind} {name}")
    assert setup(path).from_version == version


def test_killed_setup_changes_nothing(path: Path) -> None:
    migrate_to(path, 8)
    populate(path, 8)
    with opened(path) as conn:
        conn.execute(
            "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 120000) "
            "INSERT INTO messages SELECT i, 4, 1, NULL, 'broadcast_summary', i, 'completed', i, NULL, "
            "'some words that fill the page of a database' FROM n"
        )
    count = "SELECT count(*), sum(message_id), total(status_timestamp) FROM messages"
    before = schema(path), rows(path, count)
    wal = path.with_name("fleet.db-wal")
    process = subprocess.Popen(
        [sys.executable, "-c", _SETUP, str(path)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 30
    # Pages reach the journal before the commit, since they are more than SQLite's cache holds.
    while not (wal.exists() and wal.stat().st_size > 2_000_000):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert (schema(path), rows(path, count)) == before
    assert len(ledger(path)) == 8
    setup(path)
    assert rows(path, count) == before[1]
    assert len(ledger(path)) == HEAD


_SETUP = """
import sys
from datetime import UTC, datetime
from cafleet.store.migrate import migrate
migrate(sys.argv[1], now=datetime.now(UTC))
"""


@pytest.mark.parametrize(
    ("sql", "fragment"),
    [
        (
            "UPDATE schema_migrations SET checksum = 'abc' WHERE version = 4",
            "V4__fleet_wide_wake.sql was another file when it was applied",
        ),
        (
            f"INSERT INTO schema_migrations VALUES ({HEAD + 1}, 'V99__new.sql', 'x', 't')",
            f"is at schema {HEAD + 1}, newer than this program's {HEAD}; upgrade cafleet",
        ),
        ("DELETE FROM schema_migrations WHERE version = 3", "lacks version 3"),
    ],
)
def test_odd_ledger_is_refused(path: Path, sql: str, fragment: str) -> None:
    setup(path)
    populate(path, HEAD)
    with opened(path) as conn:
        conn.execute(sql)
    before = path.read_bytes()
    with pytest.raises(SchemaError, match=re.escape(fragment)):
        setup(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("journal_mode", ["DELETE", "WAL"])
def test_tables_of_another_program_are_refused(path: Path, journal_mode: str) -> None:
    with opened(path) as conn:
        conn.execute(f"PRAGMA journal_mode = {journal_mode}")
        conn.execute("CREATE TABLE members (member_id INTEGER PRIMARY KEY, name TEXT)")
        conn.execute("INSERT INTO members VALUES (1, 'theirs')")
    before = path.read_bytes()
    with pytest.raises(SchemaError, match=r"is not one of cafleet's; point"):
        setup(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_ledger_of_another_program_is_refused(path: Path) -> None:
    with opened(path) as conn:
        conn.execute("CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, dirty INTEGER)")
        conn.execute("INSERT INTO schema_migrations VALUES (20260102030405, 0)")
    before = path.read_bytes()
    with pytest.raises(SchemaError, match=r"is not one of cafleet's; point"):
        setup(path)
    with pytest.raises(SchemaError, match=r"is not one of cafleet's; point"):
        open_database(str(path))
    assert path.read_bytes() == before


# --- connections


def fail_midway(conn: sqlite3.Connection) -> None:
    with transaction(conn):
        conn.execute("DELETE FROM messages")
        conn.execute("DELETE FROM absent")


def test_foreign_keys_hold_before_and_after_a_failed_transaction(path: Path) -> None:
    setup(path)
    populate(path, HEAD)

    def enforced(conn: sqlite3.Connection) -> bool:
        return bool(conn.execute("PRAGMA foreign_keys").fetchone() == (1,))

    with closing(connect(str(path))) as conn:
        assert enforced(conn)
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"), transaction(conn):
            insert(
                conn,
                "member_placements",
                member_id=999,
                mux_session="",
                mux_window_id="",
                coding_agent="codex",
                created_at="",
            )
        assert enforced(conn)
        assert not conn.in_transaction
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            fail_midway(conn)
        assert enforced(conn)
        assert conn.execute("SELECT count(*) FROM messages").fetchone() == (6,)
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            conn.execute("DELETE FROM members WHERE member_id = 4")
        conn.execute("PRAGMA foreign_keys = OFF")
        assert not enforced(conn)  # so that the probe itself can fail


def test_one_place_opens_database_files() -> None:
    opening = {
        f"{module.relative_to(ROOT)}: {call}"
        for module in (ROOT / "cafleet").rglob("*.py")
        for call in re.findall(r"sqlite3\.connect\(\s*([^,\s]+)", module.read_text("utf-8"))
    }
    assert opening == {
        # The database of another program, which is only read.
        'cafleet/agents/sessions/opencode.py: f"file:{quote(path)}?mode=ro"',
        "cafleet/store/connection.py: sqlite_uri(path",
        'cafleet/store/reference.py: ":memory:"',
        "cafleet/store/untouched.py: sqlite_uri(path",
    }


def test_driver_holds_foreign_keys_while_it_migrates(path: Path) -> None:
    migrate_to(path, 7)
    seen = []
    apply = driver._apply

    def watched(conn: sqlite3.Connection, migration: Migration, now: object) -> None:
        seen.append(conn.execute("PRAGMA foreign_keys").fetchone())
        apply(conn, migration, NOW)

    with mock.patch.object(driver, "_apply", watched):
        setup(path)
    assert seen == [(1,)] * (HEAD - 7)
