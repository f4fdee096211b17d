"""`db check`: everything that can be wrong with a database, a line each, and nothing that is not."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cafleet.broker import messages
from cafleet.broker.consistency import row_faults
from cafleet.clock import utc_now
from cafleet.operations.database_tools import MOST_OF_A_KIND, check
from cafleet.store.files import query_file, query_namespaces, schema_path
from tests.harness.database import Database
from tests.harness.program import Program, assert_refused
from tests.harness.refusals import Refusals
from tests.harness.registry import THEN, Registry
from tests.sql.databases import PUBLISHED, publish, setup

LATER = "2026-05-05T05:43:00.000000+00:00"


@pytest.fixture
def crowd(registry: Registry) -> Registry:
    """Fleet 1 of Director 1, monitor 2, ann 3 and bob 4; fleet 2, deleted, of 5 and 6.

    Messages 1 to 3 are a broadcast of ann's to 1 and 2; 4 was acknowledged, 5 is held.
    """
    registry.crew("ann", "bob")
    registry.crew()
    registry.rows("UPDATE fleets SET deleted_at = ? WHERE fleet_id = 2", THEN)
    registry.rows(
        "UPDATE members SET status = 'deregistered', deregistered_at = ? WHERE fleet_id = 2", THEN
    )
    registry.rows("UPDATE members SET successor_member_id = 3 WHERE status = 'deregistered'")
    registry.place(3, "%1", mux_socket="/s", screen="rest", screen_at=THEN, screen_since=THEN)
    registry.place(4, None)
    summary = {"to_member_id": None, "type": "broadcast_summary", "status_state": "completed"}
    registry.message(3, 3, "Broadcast sent to 2 recipients", origin_message_id=1, **summary)
    registry.message(3, 1, "all", origin_message_id=1)
    registry.message(3, 2, "all", origin_message_id=1)
    done = {"status_state": "completed", "status_timestamp": LATER, "delivery_state": "seen"}
    registry.message(2, 3, "done", **done)
    registry.message(2, 4, "held", delivery_state="held", urgent=1)
    for message_id, state in ((4, "seen"), (5, "held")):
        registry.rows(
            "INSERT INTO delivery_events (message_id, at, state, reason) VALUES (?, ?, ?, 'r')",
            message_id,
            THEN,
            state,
        )
    registry.rows(
        "INSERT INTO waits VALUES (1, 3, 4, 5, ?, ?, '/lock')",
        THEN,
        LATER,
    )
    registry.rows("INSERT INTO reserved_members VALUES (9, 9, 1, ?)", THEN)
    registry.rows("INSERT INTO left_processes VALUES (1, 3, 77, '1', 'b', 'n', ?)", THEN)
    registry.rows(
        "INSERT INTO member_launches VALUES"
        " (3, 'claude', NULL, NULL, NULL, '/', '/c', NULL, NULL, NULL, 'p', NULL, 2, ?)",
        THEN,
    )
    registry.rows("INSERT INTO member_launch_arguments VALUES (1, 3, 0, 'allow', 'ls')")
    registry.rows(
        "INSERT INTO monitor_runtime VALUES "
        "(1, 77, ?, ?, 5, NULL, 600, NULL, NULL, ?, 1, 'unproven', 'why')",
        THEN,
        THEN,
        THEN,
    )
    registry.rows(
        "INSERT INTO typings VALUES "
        "(3, 'notice', 'x', 'a', '%1', 'claude', 'f', ?, 1, 'unsure', 'why', ?, '80x24:a')",
        THEN,
        LATER,
    )
    registry.rows("INSERT INTO typing_messages VALUES (5, 3)")
    return registry


def found(registry: Database) -> Sequence[str]:
    return check(str(registry.path))


def test_nothing_is_wrong(crowd: Registry, refusals: Refusals, cafleet: Program) -> None:
    before = crowd.dump()
    done = cafleet.run("db", "check").ok()
    assert done.stdout == f"Nothing is wrong with {crowd.path}.\n"
    assert done.stderr == ""
    assert cafleet.run("db", "check", "--json").ok().stdout == '{"ok":true,"findings":[]}\n'
    assert crowd.dump() == before


def test_findings_are_lines(crowd: Registry, refusals: Refusals, cafleet: Program) -> None:
    crowd.rows("UPDATE members SET status = ? WHERE member_id = 3", "zom\nbie\x1b[31m\u202e")
    crowd.rows("UPDATE messages SET text = CAST(x'ff' AS TEXT) WHERE message_id = 5")
    done = cafleet.run("db", "check")
    assert (done.exit_code, done.stderr) == (1, "")
    first, second = done.stdout.splitlines()
    assert first.startswith(r"members.status holds 'zom\nbie\x1b[31m\u202e' where member_id is 3, ")
    assert second.startswith(r"messages.text holds '\udcff' where message_id is 5, which is no")
    told = cafleet.run("db", "check", "--json")
    assert told.exit_code == 1
    assert told.stdout.startswith('{"ok":false,"findings":["members.status holds ')


DAMAGES: list[tuple[str, str, Any, int, str]] = [
    ("fleets", "name", b"f", 1, "b'f'"),
    ("fleets", "created_at", "now", 1, "'now'"),
    ("fleets", "deleted_at", "2026-05-05", 2, "'2026-05-05'"),
    ("fleets", "director_member_id", "x", 1, "'x'"),
    ("fleets", "paused_at", "2026-05-05", 2, "'2026-05-05'"),
    ("members", "fleet_id", "x", 4, "'x'"),
    ("members", "name", b"\x01", 3, r"b'\x01'"),
    ("members", "description", b"", 3, "b''"),
    ("members", "status", "zombie", 3, "'zombie'"),
    ("members", "registered_at", "2026-05-05T05:42:11Z", 3, "'2026-05-05T05:42:11Z'"),
    ("members", "deregistered_at", "2026-02-30T05:42:11.000000+00:00", 5, "'2026-02-30"),
    ("members", "member_card_json", '{"skills":{}}', 3, """'{"skills":{}}'"""),
    ("members", "member_card_json", '{"cafleet":1}', 3, """'{"cafleet":1}'"""),
    ("members", "successor_member_id", b"4", 3, "b'4'"),
    ("members", "member_card_json", "[]", 3, "'[]'"),
    ("member_placements", "mux_session", b"s", 3, "b's'"),
    ("member_placements", "mux_window_id", b"w", 3, "b'w'"),
    ("member_placements", "mux_pane_id", b"%1", 3, "b'%1'"),
    ("member_placements", "mux_socket", b"/", 3, "b'/'"),
    ("member_placements", "mux_server_pid", "x", 3, "'x'"),
    ("member_placements", "backend", "screen", 3, "'screen'"),
    ("member_placements", "coding_agent", "gemini", 3, "'gemini'"),
    ("member_placements", "created_at", "", 3, "''"),
    ("member_placements", "screen", "asleep", 3, "'asleep'"),
    ("member_placements", "screen_at", "x", 3, "'x'"),
    ("member_placements", "screen_since", "x", 3, "'x'"),
    ("messages", "owner_member_id", 1.5, 5, "1.5"),
    ("messages", "from_member_id", "12abc", 5, "'12abc'"),
    ("messages", "to_member_id", b"4", 5, "b'4'"),
    ("messages", "type", "broadcast", 5, "'broadcast'"),
    (
        "messages",
        "created_at",
        "2026-05-05T05:42:11.123+00:00",
        4,
        "'2026-05-05T05:42:11.123+00:00'",
    ),
    ("messages", "status_state", "canceled", 5, "'canceled'"),
    ("messages", "status_timestamp", "0000-00-00T00:00:00.000000+00:00", 4, "'0000-"),
    ("messages", "origin_message_id", b"1", 2, "b'1'"),
    ("messages", "text", b"\x00\xff", 5, r"b'\x00\xff'"),
    ("messages", "delivery_state", "lost", 5, "'lost'"),
    ("messages", "urgent", 2, 5, "2"),
    ("messages", "forwarded_from", "x", 5, "'x'"),
    ("delivery_events", "message_id", "x", 2, "'x'"),
    ("delivery_events", "at", "x", 2, "'x'"),
    ("delivery_events", "state", "x", 2, "'x'"),
    ("delivery_events", "reason", b"x", 2, "b'x'"),
    ("delivery_events", "evidence", b"x", 2, "b'x'"),
    ("waits", "waiter_member_id", 2.5, 1, "2.5"),
    ("waits", "awaited_member_id", "x", 1, "'x'"),
    ("waits", "message_id", b"", 1, "b''"),
    ("waits", "started_at", "x", 1, "'x'"),
    ("waits", "until_at", "x", 1, "'x'"),
    ("waits", "lock_file", b"x", 1, "b'x'"),
    ("reserved_members", "fleet_id", "x", 9, "'x'"),
    ("reserved_members", "is_director", 2, 9, "2"),
    ("reserved_members", "reserved_at", "x", 9, "'x'"),
    ("left_processes", "member_id", "x", 1, "'x'"),
    ("left_processes", "pid", 0, 1, "0"),
    ("left_processes", "started", b"x", 1, "b'x'"),
    ("left_processes", "boot", b"x", 1, "b'x'"),
    ("left_processes", "name", b"x", 1, "b'x'"),
    ("left_processes", "noted_at", "x", 1, "'x'"),
    ("member_launches", "model", b"x", 3, "b'x'"),
    ("member_launches", "effort", b"x", 3, "b'x'"),
    ("member_launches", "permission_mode", b"x", 3, "b'x'"),
    ("member_launches", "working_directory", b"x", 3, "b'x'"),
    ("member_launches", "agent_base", b"x", 3, "b'x'"),
    ("member_launches", "worktree", b"x", 3, "b'x'"),
    ("member_launches", "branch", b"x", 3, "b'x'"),
    ("member_launches", "base_commit", b"x", 3, "b'x'"),
    ("member_launches", "session_id", b"x", 3, "b'x'"),
    ("member_launch_arguments", "member_id", "x", 1, "'x'"),
    ("member_launch_arguments", "position", "x", 1, "'x'"),
    ("member_launches", "coding_agent", "x", 3, "'x'"),
    ("member_launches", "launch_number", 0, 3, "0"),
    ("member_launches", "launched_at", "x", 3, "'x'"),
    ("member_launches", "prompt", b"x", 3, "b'x'"),
    ("member_launch_arguments", "kind", "x", 1, "'x'"),
    ("member_launch_arguments", "argument", b"x", 1, "b'x'"),
    ("monitor_runtime", "pid", "x", 1, "'x'"),
    ("monitor_runtime", "started_at", "x", 1, "'x'"),
    ("monitor_runtime", "last_tick_at", "x", 1, "'x'"),
    ("monitor_runtime", "tick_seconds", 0, 1, "0"),
    ("monitor_runtime", "last_wake_at", "x", 1, "'x'"),
    ("monitor_runtime", "wake_interval_seconds", -1, 1, "-1"),
    ("monitor_runtime", "wake_requested_at", "x", 1, "'x'"),
    ("monitor_runtime", "stopped_at", "x", 1, "'x'"),
    ("monitor_runtime", "wake_attempted_at", "x", 1, "'x'"),
    ("monitor_runtime", "wake_attempts", -1, 1, "-1"),
    ("monitor_runtime", "wake_outcome", "lost", 1, "'lost'"),
    ("monitor_runtime", "wake_reason", b"x", 1, "b'x'"),
    ("typings", "kind", "song", 3, "'song'"),
    ("typings", "text", b"x", 3, "b'x'"),
    ("typings", "marker", b"x", 3, "b'x'"),
    ("typings", "mux_pane_id", b"%1", 3, "b'%1'"),
    ("typings", "program", b"x", 3, "b'x'"),
    ("typings", "token", b"x", 3, "b'x'"),
    ("typings", "typed_at", "x", 3, "'x'"),
    ("typings", "enters", -1, 3, "-1"),
    ("typings", "state", "submitted", 3, "'submitted'"),
    ("typings", "evidence", b"x", 3, "b'x'"),
    ("typings", "settled_at", "x", 3, "'x'"),
    ("typings", "picture", b"x", 3, "b'x'"),
    ("typing_messages", "member_id", "x", 5, "'x'"),
    ("asset_installs", "coding_agent", "gemini", 1, "'gemini'"),
    ("asset_installs", "cafleet_version", b"1", 1, "b'1'"),
    ("asset_installs", "installed_at", "x", 1, "'x'"),
    ("schema_migrations", "file_name", "V2__x.sql", 2, "'V2__x.sql'"),
    ("schema_migrations", "applied_at", "x", 2, "'x'"),
    ("database_identity", "database_id", "a:b", 1, "'a:b'"),
    ("database_identity", "database_id", b"x", 1, "b'x'"),
]
KEYLESS = ("asset_installs", "database_identity")


def test_every_column_of_every_table_is_damaged_here(crowd: Registry) -> None:
    columns = {
        (table, column)
        for table in crowd.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in [table]
        if not table.startswith("sqlite_")
        for _, column, _, _, _, key in crowd.rows(f"PRAGMA table_info({table})")
        if not key
    }
    told = {(table, column) for table, column, *_ in DAMAGES}
    assert columns - told == {("schema_migrations", "checksum")}


@pytest.mark.parametrize(
    ("table", "column", "value", "row_id", "shown"),
    DAMAGES,
    ids=lambda each: repr(each)[:30],
)
def test_a_value_is_named(
    crowd: Registry, table: str, column: str, value: Any, row_id: int, shown: str
) -> None:
    crowd.rows(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", value, row_id)
    findings = found(crowd)
    named = [each for each in findings if f"{column} " in each and f"found {shown}" in each]
    named += [each for each in findings if each.startswith(f"{table}.{column} holds {shown}")]
    assert len(named) == 1, findings
    if table not in KEYLESS:
        assert f" is {row_id}, which " in named[0]
    assert all("; " in each for each in findings)


def test_an_id_below_1_is_named(crowd: Registry) -> None:
    ids = [
        (table, column)
        for (table,) in crowd.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
        for _, column, kind, *_ in crowd.rows(f"PRAGMA table_info({table})")
        if column.endswith("_id") and kind == "INTEGER"
    ]
    assert len(ids) == 28
    with closing(crowd.connect()) as conn:
        for table, column in ids:
            for value in (0, -5):
                conn.execute("BEGIN")
                conn.execute(
                    f"UPDATE {table} SET {column} = {value} WHERE rowid ="
                    f" (SELECT max(rowid) FROM {table} WHERE {column} IS NOT NULL)"
                )
                findings = [each for _, faults in row_faults(conn) for each in faults]
                told = f"{table}.{column} holds {value} where "
                assert [each for each in findings if each.startswith(told)], (told, findings)
                conn.execute("ROLLBACK")


#: What each rule says of what breaks it, and how to break it.
RULES = {
    "has no Director": "UPDATE fleets SET director_member_id = NULL WHERE fleet_id = 1",
    "has a Director of another fleet": "UPDATE fleets SET director_member_id = 5 WHERE fleet_id = 1",
    "is not deleted, and its Director is deregistered": (
        "UPDATE members SET status = 'deregistered' WHERE member_id = 1"
    ),
    "is deleted and has active members": (
        "UPDATE members SET status = 'active' WHERE member_id = 6"
    ),
    "is active, and has a time at which it was deregistered": (
        "UPDATE members SET status = 'active' WHERE member_id = 6"
    ),
    "is deregistered, and has no time at which it was": (
        "UPDATE members SET deregistered_at = NULL WHERE member_id = 5"
    ),
    "is deregistered and still has a placement": (
        "UPDATE members SET status = 'deregistered', deregistered_at = registered_at"
        " WHERE member_id = 4"
    ),
    "has half of a last look at its pane": (
        "UPDATE member_placements SET screen = NULL WHERE member_id = 3"
    ),
    "is a delivery that is not owned by its recipient": (
        "UPDATE messages SET to_member_id = NULL WHERE message_id = 4"
    ),
    "went from one fleet to another": (
        "UPDATE messages SET from_member_id = 5 WHERE message_id = 4"
    ),
    "has an origin that is no broadcast of its sender": (
        "UPDATE messages SET origin_message_id = 5 WHERE message_id = 4"
    ),
    "is a broadcast summary unlike any that a broadcast makes": (
        "UPDATE messages SET origin_message_id = NULL WHERE message_id = 1"
    ),
    "is a broadcast summary that does not count its deliveries right": (
        "DELETE FROM messages WHERE message_id = 3"
    ),
    "waits for its acknowledgement since another time than it was sent": (
        f"UPDATE messages SET status_timestamp = '{LATER}' WHERE message_id = 5"
    ),
    "is acknowledged, and its notice does not count as seen": (
        "UPDATE messages SET delivery_state = 'held' WHERE message_id = 4"
    ),
    "is in a delivery state that is not that of its last event": (
        "UPDATE messages SET delivery_state = 'typed' WHERE message_id = 5"
    ),
    "has half of a claim": "UPDATE monitor_runtime SET pid = NULL",
}


def test_every_rule_is_broken_here() -> None:
    told = {
        fault
        for namespace in query_namespaces()
        for query in query_file(namespace).split("-- name: ")
        if "_faults(" in query.partition("\n")[0]
        for fault in re.findall(r"(?:THEN '([a-z][^']+)'|'([^']+)' AS fault)", query)
        for fault in fault
        if fault
    }
    assert told == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_broken_rule_is_named(crowd: Registry, rule: str) -> None:
    crowd.rows(RULES[rule])
    findings = found(crowd)
    assert [each for each in findings if rule in each and "; correct that row" in each], findings
    assert re.match(r"(?:fleet|member|message|the courier of fleet) \d ", findings[0])


def test_what_is_odd_and_right_is_not_told(crowd: Registry) -> None:
    # Before schema 9 nothing was typed, and the sender may be history.
    crowd.message(1, 1, "self", status_state="completed", delivery_state="none")
    crowd.message(99, 3, "from long ago", delivery_state="seen")
    crowd.message(3, 4, "queued", delivery_state="queued")
    crowd.message(5, 6, "in a deleted fleet", delivery_state="none")
    crowd.rows("UPDATE monitor_runtime SET wake_interval_seconds = NULL")
    crowd.rows("UPDATE members SET member_card_json = '{}' WHERE member_id = 4")
    crowd.rows("UPDATE members SET name = ?, description = '' WHERE member_id = 3", "\u202e\0")
    crowd.rows("CREATE TABLE refinery_schema_history (version INTEGER PRIMARY KEY)")
    assert found(crowd) == []


def test_an_adopted_database_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    publish(path, PUBLISHED)
    setup(path)
    assert check(str(path)) == []


def test_all_damaged_rows_are_named_across_pages(crowd: Registry) -> None:
    with closing(crowd.connect()) as conn:
        names = [column[1] for column in conn.execute("PRAGMA table_info(messages)")][1:]
        columns = ", ".join(names)
        conn.executemany(
            f"INSERT INTO messages ({columns}) SELECT {columns} FROM messages WHERE message_id = ?",
            [(4,)] * 1100,
        )
    odd = [6, 7, 505, 506, 507, 1005, 1006, 1105]
    for message_id in odd:
        crowd.rows("UPDATE messages SET type = 'odd' WHERE message_id = ?", message_id)
    crowd.rows("UPDATE messages SET text = CAST(x'ff' AS TEXT) WHERE message_id IN (505, 8)")
    crowd.rows("UPDATE messages SET created_at = 'x' WHERE message_id IN (9, 508)")
    named = [
        int(re.findall(r"message_id is (\d+)", each)[0]) for each in found(crowd) if "holds" in each
    ]
    assert sorted(named) == sorted([*odd, 8, 9, 508])


def test_a_flood_is_cut(crowd: Registry) -> None:
    with closing(crowd.connect()) as conn:
        conn.executemany(
            "INSERT INTO delivery_events (message_id, at, state) VALUES (5, 'x', ?)",
            [("held",)] * (MOST_OF_A_KIND + 100),
        )
    findings = found(crowd)
    assert len(findings) == MOST_OF_A_KIND + 1
    assert findings[-1].startswith("delivery_events: there is more of it; ")


def test_missing_references_are_named(crowd: Registry) -> None:
    crowd.rows("UPDATE members SET fleet_id = 7 WHERE member_id = 4")
    crowd.rows("DELETE FROM messages WHERE message_id = 5")
    crowd.rows("DELETE FROM members WHERE member_id = 3")
    findings = found(crowd)
    for place in (
        "members.fleet_id of row 4 refers to a row of fleets",
        "member_placements.member_id of row 3 refers to a row of members",
        "messages.owner_member_id of row 4 refers to a row of members",
        "delivery_events.message_id of row 2 refers to a row of messages",
        "waits.message_id of row 1 refers to a row of messages",
    ):
        assert [each for each in findings if each.startswith(f"{place} that is not there; ")]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("DROP INDEX idx_messages_ack", "index idx_messages_ack is missing; "),
        ("CREATE INDEX more ON messages (text)", "index more is not cafleet's; "),
        ("CREATE TABLE more (more_id)", "table more is not cafleet's; "),
        ("CREATE VIEW more AS SELECT 1", "view more is not cafleet's; "),
        (
            "CREATE TRIGGER more AFTER INSERT ON messages BEGIN DELETE FROM waits; END",
            "trigger more is not cafleet's; ",
        ),
        (
            "ALTER TABLE members ADD COLUMN more",
            f"table members is not as {schema_path()} has it (more is not cafleet's); make it so",
        ),
        (
            "ALTER TABLE members DROP COLUMN deregistered_at",
            f"table members is not as {schema_path()} has it (deregistered_at is missing); make",
        ),
        (
            "ALTER TABLE waits RENAME COLUMN lock_file TO lock",
            f"table waits is not as {schema_path()} has it (lock is not cafleet's, lock_file is mis",
        ),
        ("DROP TABLE waits", "table waits is missing; restore the database from a backup"),
        ("DROP TABLE asset_installs", "table asset_installs is missing; run `cafleet setup`"),
    ],
)
def test_another_schema_is_named(crowd: Registry, change: str, finding: str) -> None:
    crowd.rows(change)
    findings = found(crowd)
    assert [each for each in findings if each.startswith(finding)]
    assert not [each for each in findings if "; see `cafleet db check`" in each]


def test_a_column_of_another_kind_is_named(crowd: Registry) -> None:
    crowd.rows("DROP TABLE database_identity")
    crowd.rows("CREATE TABLE database_identity (singleton INTEGER PRIMARY KEY, database_id BLOB)")
    [told] = [each for each in found(crowd) if each.startswith("table database_identity is not as")]
    assert "has it (database_id is declared otherwise); " in told


def test_a_weaker_index_is_named(crowd: Registry) -> None:
    name = "idx_members_one_active_monitor_per_fleet"
    crowd.rows(f"DROP INDEX {name}")
    crowd.rows(
        f"CREATE UNIQUE INDEX {name} ON members (fleet_id) WHERE status = 'active' AND "
        "json_extract(member_card_json, '$.cafleet.kind') = 'watcher'"
    )
    crowd.member(1, "second", kind="monitor")
    findings = found(crowd)
    assert f"index {name} is not as {schema_path()} has it; make it so again" in findings
    assert [each.partition(" is not")[0] for each in findings if "only active monitor" in each] == [
        "member 2",
        "member 7",
    ]


def test_the_same_schema_in_other_words_is_the_same(crowd: Registry) -> None:
    crowd.rows("DROP INDEX idx_messages_sent")
    crowd.rows(
        'create index if not exists "idx_messages_sent"\n on [messages](`from_member_id`,created_at)'
    )
    crowd.rows("DROP TABLE waits")
    crowd.rows(
        "CREATE TABLE waits (wait_id integer PRIMARY KEY, waiter_member_id integer NOT NULL,"
        " awaited_member_id integer, message_id integer, started_at text NOT NULL,"
        " until_at text NOT NULL, lock_file text NOT NULL,"
        " FOREIGN KEY (message_id) REFERENCES messages (message_id) ON DELETE RESTRICT,"
        " FOREIGN KEY (awaited_member_id) REFERENCES members (member_id) ON DELETE RESTRICT,"
        " FOREIGN KEY (waiter_member_id) REFERENCES members (member_id) ON DELETE RESTRICT)"
    )
    assert found(crowd) == []


def test_statistics_that_lead_astray_are_told(crowd: Registry) -> None:
    crowd.rows("ANALYZE")
    crowd.rows("DELETE FROM sqlite_stat1")
    crowd.rows("INSERT INTO sqlite_stat1 VALUES ('messages', 'idx_messages_pending', '9 9 9')")
    crowd.rows("INSERT INTO sqlite_stat1 VALUES ('messages', 'idx_messages_owed', '9 9 9')")
    crowd.rows("INSERT INTO sqlite_stat1 VALUES ('members', 'idx_members_fleet_status', '1 1 1')")
    findings = found(crowd)
    assert findings
    assert all(
        re.match(r"sql/queries/\w+\.sql:\d+: \w+ (?:searches|scans) ", each) for each in findings
    )
    crowd.rows("DROP TABLE sqlite_stat1")
    assert found(crowd) == []


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("DELETE FROM schema_migrations WHERE version > 8", "is at schema 8, older than"),
        ("INSERT INTO schema_migrations VALUES (99, 'x', 'x', 'x')", "newer than this program's"),
        ("DROP TABLE schema_migrations", "is not one of cafleet's; "),
        ("DELETE FROM schema_migrations WHERE version = 3", "lacks version 3; "),
        (
            "UPDATE schema_migrations SET checksum = 'x' WHERE version = 4",
            "V4__fleet_wide_wake.sql was another file when it was applied",
        ),
    ],
)
def test_the_ledger_is_judged(crowd: Registry, change: str, finding: str) -> None:
    crowd.rows(change)
    (told,) = found(crowd)
    assert finding in told


def test_a_damaged_file_is_told_and_what_can_be_is_checked(crowd: Registry) -> None:
    with closing(crowd.connect()) as conn:
        (size,) = conn.execute("PRAGMA page_size").fetchone()
        (root,) = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = 'waits'").fetchone()
        conn.execute("UPDATE members SET status = 'zombie' WHERE member_id = 4")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damaged = Database(crowd.path.with_name("damaged.db"))
    content = bytearray(crowd.path.read_bytes())
    content[(root - 1) * size : root * size] = b"\xa5" * size
    damaged.path.write_bytes(content)
    findings = found(damaged)
    assert findings[0].startswith("integrity")
    assert [each for each in findings if each.startswith("waits could not be checked: ")]
    assert [each for each in findings if each.startswith("members.status holds 'zombie'")]


def test_what_is_no_database(cafleet: Program, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("a note\n" * 200)
    cafleet.environment["CAFLEET_DATABASE_URL"] = Database(path).url
    for arguments in (("queries",), ("backup", "copy.db")):
        assert_refused(cafleet.run("db", *arguments), 1, "is not an SQLite database")
    told = cafleet.run("db", "check")
    assert (told.exit_code, told.stderr) == (1, "")
    assert told.stdout.startswith(f"the file at {path} is not an SQLite database; ")
    path.unlink()
    sqlite3.connect(path).execute("CREATE TABLE notes (note)")
    told = cafleet.run("db", "check")
    assert told.exit_code == 1
    assert "is not one of cafleet's; " in told.stdout


@pytest.mark.parametrize("size", [5000, 50_000])
def test_the_json_of_a_file_that_cannot_be_read_is_json(
    crowd: Registry, cafleet: Program, tmp_path: Path, size: int
) -> None:
    with closing(crowd.connect()) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = tmp_path / "x.db"
    path.write_bytes(crowd.path.read_bytes()[:size])
    cafleet.environment["CAFLEET_DATABASE_URL"] = Database(path).url
    done = cafleet.run("db", "check", "--json")
    assert (done.exit_code, done.stderr) == (1, "")
    [finding] = json.loads(done.stdout)["findings"]
    assert finding.startswith(f"the database at {path} is damaged; restore it from a backup")


def test_no_writer_waits_for_it(crowd: Registry) -> None:
    with closing(crowd.connect()) as reader, closing(crowd.connect()) as writer:
        writer.execute("PRAGMA busy_timeout = 0")
        for _, faults in row_faults(reader):
            messages.send(writer, sender_id=3, recipient_id=4, text="x", now=utc_now())
            assert list(faults) == []
            messages.send(writer, sender_id=3, recipient_id=4, text="x", now=utc_now())


def test_a_sender_that_was_removed_by_hand_is_a_remark_and_no_fault(
    cafleet: Program, crowd: Registry
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = crowd.url
    assert cafleet.run("db", "check", "--json").stdout == '{"ok":true,"findings":[]}\n'
    ghost = crowd.member(1, "ghost")
    for text in ("boo", "boo again"):
        crowd.message(ghost, 3, text)
    crowd.rows("DELETE FROM members WHERE member_id = ?", ghost)
    remark = f"member {ghost} has no row any more, and 2 messages from it are kept"
    told = cafleet.run("db", "check", "--json").json()
    assert (told["ok"], told["findings"]) == (True, [])
    assert [each.startswith(remark) for each in told["remarks"]] == [True]
    assert f"\nRemark: {remark}" in cafleet.run("db", "check").ok().stdout
