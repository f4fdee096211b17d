"""Rows that a hand has damaged, in every column of every table, and what commands make of them.

``FUZZ_DAMAGES`` databases are damaged (a dozen by default) and ``FUZZ_SEED`` says how; a failure
names its own.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cafleet.records import DeliveryState, MemberKind, ScreenState
from tests.harness.database import Database
from tests.harness.program import Program
from tests.harness.registry import THEN, Registry

pytestmark = pytest.mark.slow

DAMAGES = int(os.environ.get("FUZZ_DAMAGES", "12"))
SEED = int(os.environ.get("FUZZ_SEED", "7"))

# Each with the tables of fleet 1 that it reads, or nothing where the fleet is 2, which nobody touches.
READING: Sequence[tuple[str, ...]] = (
    ("fleet", "list"),
    ("fleet", "show", "1"),
    ("member", "list", "1"),
    ("member", "show", "3"),
    ("message", "poll", "3"),
    ("message", "poll", "4"),
    ("message", "show", "1"),
    ("message", "why", "4"),
    ("message", "why", "1"),
    ("monitor", "status", "1"),
    ("monitor", "scan", "1"),
)
WRITING: Sequence[tuple[str, ...]] = (
    ("message", "ack", "5"),
    ("message", "send", "--from-member-id=3", "--to-member-id=4", "hi"),
    ("message", "broadcast", "--from-member-id=1", "hi"),
    ("message", "wait", "4", "--timeout=0"),
    ("member", "ping", "3"),
    ("member", "delete", "4"),
    ("monitor", "stop", "1"),
    ("fleet", "delete", "1"),
)
UNHARMED: Sequence[tuple[str, ...]] = (
    ("fleet", "show", "2"),
    ("member", "list", "2"),
    ("member", "show", "7"),
    ("message", "poll", "7"),
    ("message", "show", "6"),
    ("message", "why", "6"),
    ("message", "send", "--from-member-id=5", "--to-member-id=7", "hi"),
)
# What every command reads, or `fleet list` alone.
FOR_ALL = ("asset_installs", "schema_migrations", "database_identity")
# A card and a free text can be damaged in fewer ways than a number.
FREE = {
    *("name", "description", "mux_session", "mux_window_id", "mux_pane_id", "mux_socket", "text"),
    *("reason", "evidence", "lock_file", "cafleet_version", "path"),
    *("marker", "program", "token", "picture", "wake_reason", "started", "boot"),
    *("model", "effort", "permission_mode", "working_directory", "agent_base", "worktree"),
    *("branch", "base_commit", "prompt", "session_id", "argument"),
}
CHOSEN = {kind.value for enum in (MemberKind, DeliveryState, ScreenState) for kind in enum}
COUNTED = {"owed", "idle", "member_count"}


@pytest.fixture
def whole(registry: Registry) -> Registry:
    """Fleet 1 of Director 1, monitor 2, ann 3 and bob 4 with a row in every table; fleet 2 of 5 to 7."""
    registry.crew("ann", "bob")
    registry.crew("eve")
    registry.place(3, "%1", mux_socket="/nonexistent/socket", screen="rest", screen_at=THEN)
    registry.place(4, None)
    done = {"status_state": "completed", "delivery_state": "none", "to_member_id": None}
    registry.message(
        2,
        2,
        "Broadcast sent to 2 recipients",
        type="broadcast_summary",
        origin_message_id=1,
        **done,
    )
    registry.message(2, 3, "all", origin_message_id=1)
    registry.message(2, 4, "all", origin_message_id=1)
    registry.message(2, 3, "held", delivery_state="held", urgent=1)
    registry.message(3, 4, "to bob")
    registry.message(5, 7, "to eve")
    registry.rows(
        "INSERT INTO delivery_events (message_id, at, state, reason, evidence)"
        " VALUES (4, ?, 'held', 'working', 'e')",
        THEN,
    )
    registry.rows("INSERT INTO waits VALUES (1, 3, 4, 5, ?, ?, '/lock')", THEN, THEN)
    registry.rows(
        "INSERT INTO monitor_runtime (fleet_id, pid, started_at, last_tick_at, last_wake_at,"
        " wake_interval_seconds, wake_requested_at, stopped_at) VALUES (1, 77, ?, ?, ?, 600, ?, ?)",
        *[THEN] * 5,
    )
    registry.rows("INSERT INTO left_processes VALUES (1, 4, 88, '12', 'boot', 'claude', ?)", THEN)
    registry.rows(
        "INSERT INTO member_launches VALUES"
        " (4, 'claude', NULL, NULL, NULL, '/', '/c', NULL, NULL, NULL, 'p', NULL, 2, ?)",
        THEN,
    )
    registry.rows("INSERT INTO member_launch_arguments VALUES (1, 4, 0, 'allow', 'ls')")
    registry.rows("INSERT INTO reserved_members VALUES (9, 3, 0, ?)", THEN)
    registry.rows(
        "INSERT INTO typings (member_id, kind, text, mux_pane_id, program, token, typed_at, state)"
        " VALUES (3, 'prompt', 'x', '%1', 'claude', 't', ?, 'typed')",
        THEN,
    )
    return registry


def damage(rng: random.Random, database: Database) -> tuple[str, str, str] | None:
    """Put something impossible into one place of fleet 1; table, column and value, if SQLite took it."""
    with closing(database.connect()) as conn:
        tables = conn.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        ).fetchall()
        table = rng.choice(tables)[0]
        columns = [
            (column, kind)
            for _, column, kind, _, _, key in conn.execute(f"PRAGMA table_info({table})")
            if not (key and kind == "INTEGER")
        ]
        column, kind = rng.choice(columns)
        ours = {
            "members": "member_id IN (3, 4)",
            "messages": "message_id < 6",
            "fleets": "fleet_id = 1",
        }
        row_ids = [
            row_id
            for (row_id,) in conn.execute(f"SELECT rowid FROM {table} WHERE {ours.get(table, '1')}")
        ]
        if not row_ids:
            return None
        new, value = odd(rng, column, kind)
        if column == "member_card_json":
            conn.execute("DROP INDEX idx_members_one_active_monitor_per_fleet")
        try:
            conn.execute(
                f"UPDATE {table} SET {column} = {new} WHERE rowid = ?", (value, rng.choice(row_ids))
            )
        except sqlite3.IntegrityError:
            return None
        return table, column, repr(value)


def odd(rng: random.Random, column: str, kind: str) -> tuple[str, Any]:
    """How SQL takes it, and a value that no such column may hold."""
    raw = bytes(rng.randrange(256) for _ in range(rng.choice((0, 1, 4, 200))))
    choices: list[tuple[str, Any]] = [("?", raw), ("CAST(? AS TEXT)", b"\xff" + raw)]
    if kind == "INTEGER":
        choices += [("?", "x"), ("?", "1abc"), ("?", 1.5), ("?", 2.0**70), ("?", float("inf"))]
    elif column == "member_card_json":
        choices += [
            ("?", "{bad"),
            ("?", "[]"),
            ("?", '{"skills":1}'),
            ("?", '{"cafleet":{"kind":"x"}}'),
        ]
    elif column not in FREE:
        choices += [
            ("?", ""),
            ("?", "x"),
            ("?", " active"),
            ("?", "ACTIVE\0"),
            ("?", "9999-99-99"),
            ("?", 5),
        ]
        choices += [("?", "2026-05-05T05:42:11Z"), ("?", "\x1b[31m\u202e"), ("?", "x" * 100_000)]
    return rng.choice(choices)


def stored(database: Database) -> set[str]:
    """Every value of the database, as text."""
    found: set[str] = set()
    with closing(database.connect()) as conn:
        conn.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        for (table,) in conn.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            found |= {str(each) for row in conn.execute(f"SELECT * FROM {table}") for each in row}
    return found


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, key)
    elif value is not None and not isinstance(value, bool):
        yield key, str(value)


def test_damage_is_named_and_nothing_is_invented(
    whole: Registry, cafleet: Program, tmp_path: Path
) -> None:
    pristine = whole.path.read_bytes()
    assert [cafleet.run("db", "check", env={"CAFLEET_DATABASE_URL": whole.url}).exit_code] == [0]
    done = 0
    for number in range(DAMAGES):
        rng = random.Random(f"{SEED} {number}")
        database = Database(tmp_path / f"damaged-{number}.db")
        database.path.write_bytes(pristine)
        made = damage(rng, database)
        if made is None:
            continue
        done += 1
        Case(cafleet, database, made, f"FUZZ_SEED={SEED}, case {number}: {made}").judge(rng)
        database.path.unlink()
    assert done > DAMAGES / 2


class Case:
    def __init__(
        self, cafleet: Program, database: Database, made: tuple[str, str, str], name: str
    ) -> None:
        self._cafleet = cafleet
        self._database = database
        self._table, self._column, _ = made
        self._name = name

    def judge(self, rng: random.Random) -> None:
        self.is_found_by_check()
        for command in rng.sample(READING, 4):
            self.answers(command)
        if self._table not in FOR_ALL:
            for command in rng.sample(UNHARMED, 2):
                assert self.run(*command) == 0, (self._name, command)
        for command in rng.sample(WRITING, 2):
            self.run(*command)

    def is_found_by_check(self) -> None:
        result = self._result("db", "check", "--json")
        assert result.exit_code == 1, (self._name, result)
        if self._table in FOR_ALL and not result.stdout:
            # Nothing can be read where the list of migrations itself is damaged.
            assert f"{self._table}.{self._column} holds " in result.stderr, (self._name, result)
            return
        findings = json.loads(result.stdout)["findings"]
        named = [each for each in findings if f"{self._table}.{self._column} holds " in each]
        told = (
            named
            or self._column == "checksum"
            or any(each.startswith(self._table) for each in findings)
        )
        assert told, (self._name, findings)

    def answers(self, command: tuple[str, ...]) -> None:
        """What it prints stands in the database, before or after what it notes there itself."""
        known = CHOSEN | stored(self._database)
        result = self._result(*command, "--json")
        if result.exit_code != 0:
            return
        known |= stored(self._database)
        for key, value in leaves(json.loads(result.stdout)):
            assert key in COUNTED or value in known, (self._name, command, key, value)

    def run(self, *command: str) -> int:
        return self._result(*command).exit_code

    def _result(self, *command: str) -> Any:
        result = self._cafleet.run(*command, env={"CAFLEET_DATABASE_URL": self._database.url})
        shown = (self._name, result)
        assert result.exit_code in (0, 1), shown
        assert "Traceback" not in result.stderr, shown
        assert "internal error" not in result.stderr, shown
        lines = result.stderr.splitlines()
        assert all(line.startswith(("Error: ", "Warning: ")) for line in lines), shown
        if result.exit_code == 1 and command[0] != "db":
            assert result.stdout == "", shown
            assert [line.partition(":")[0] for line in lines].count("Error") == 1, shown
        return result
