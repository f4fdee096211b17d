"""Databases as users have them: at an older schema, of the published predecessor, with rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from cafleet.store import migrate as driver
from cafleet.store.migration_files import migrations

NOW = datetime(2026, 3, 4, 5, 6, 7, 890123, UTC)
HEAD = len(migrations())
# The last schema that the predecessor published.
PUBLISHED = 8

# As refinery 0.8 makes it.
HISTORY = """
CREATE TABLE refinery_schema_history (
    version int4 PRIMARY KEY,
    name VARCHAR(255),
    applied_on VARCHAR(255),
    checksum VARCHAR(255)
)
"""
MONITOR_CARD = '{"name":"monitor","description":"d","skills":[],"cafleet":{"kind":"monitor"}}'
RETIRED_CARD = '{"name":"w","skills":["a"],"cafleet":{"kind":"monitoring-member","every":60}}'
PLAIN_CARD = '{"name":"p","description":"d","skills":["review"]}'


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection as the sqlite3 shell has it: each statement is committed, keys are not enforced."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        yield conn


def rows(path: Path, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with opened(path) as conn:
        return conn.execute(sql, parameters).fetchall()


def schema(path: Path) -> list[tuple[Any, ...]]:
    return rows(path, "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2")


def contents(path: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Everything that SQLite can tell of a database: its content as SQL, its schema."""
    with opened(path) as conn:
        return list(conn.iterdump()), schema(path)


def migrate_to(path: Path, version: int) -> driver.MigrationReport:
    """What an older edition of the program did, whose newest migration was ``version``."""
    with mock.patch.object(driver, "shipped_migrations", return_value=migrations()[:version]):
        return driver.migrate(str(path), now=NOW)


def setup(path: Path) -> driver.MigrationReport:
    return driver.migrate(str(path), now=NOW)


def publish(path: Path, version: int) -> None:
    """A database of the published predecessor at ``version``, without rows."""
    with opened(path) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute(HISTORY)
        for migration in migrations()[:version]:
            for statement in migration.statements:
                conn.execute(statement)
            insert(
                conn,
                "refinery_schema_history",
                version=migration.version,
                name=migration.file_name.partition("__")[2].removesuffix(".sql"),
                applied_on="2026-01-02T03:04:05.678901234Z",
                checksum=str(17_446_744_073_709_551_557 - migration.version),
            )


def insert(conn: sqlite3.Connection, table: str, **columns: Any) -> None:
    names = ", ".join(columns)
    values = ", ".join(f":{name}" for name in columns)
    conn.execute(f"INSERT INTO {table} ({names}) VALUES ({values})", columns)


def insert_member(conn: sqlite3.Connection, member_id: int, fleet_id: int, **columns: Any) -> None:
    values = {
        "name": f"m{member_id}",
        "description": "d",
        "status": "active",
        "registered_at": "2026-01-01T00:00:00.000000+00:00",
        "deregistered_at": None,
        "member_card_json": PLAIN_CARD,
    }
    insert(conn, "members", member_id=member_id, fleet_id=fleet_id, **{**values, **columns})


def insert_message(conn: sqlite3.Connection, message_id: int, **columns: Any) -> None:
    values = {
        "owner_member_id": 4,
        "from_member_id": 1,
        "to_member_id": 4,
        "type": "unicast",
        "created_at": f"2026-01-01T00:00:{message_id:02}.000000+00:00",
        "status_state": "input_required",
        "status_timestamp": f"2026-01-01T00:00:{message_id:02}.000000+00:00",
        "origin_message_id": None,
        "text": f"text {message_id} 'quoted' ☃ \n",
    }
    insert(conn, "messages", message_id=message_id, **{**values, **columns})


def populate(path: Path, version: int) -> None:
    """Rows in every table of schema ``version``, as a user of that version had them.

    Fleet 1: Director 1, monitor 2, retired watcher 3, members 4 (placed) and 5 (placed, pending),
    6 and 7 deregistered with cards that are no JSON. Fleet 2 is deleted; member 8 was its Director.
    """
    with opened(path) as conn:
        at = "2026-01-01T00:00:00.000000+00:00"
        insert(conn, "fleets", fleet_id=1, name="one", created_at=at, director_member_id=1)
        insert(conn, "fleets", fleet_id=2, created_at=at, deleted_at=at, director_member_id=8)
        insert_member(conn, 1, 1)
        insert_member(conn, 2, 1, member_card_json=MONITOR_CARD)
        insert_member(conn, 3, 1, member_card_json=RETIRED_CARD)
        insert_member(conn, 4, 1)
        insert_member(conn, 5, 1)
        gone = {"status": "deregistered", "deregistered_at": at}
        insert_member(conn, 6, 1, member_card_json="{bad", **gone)
        insert_member(conn, 7, 1, member_card_json=b"\xff{}", **gone)
        insert_member(conn, 8, 2, **gone)
        _populate_the_rest(conn, version, at)


def _populate_the_rest(conn: sqlite3.Connection, version: int, at: str) -> None:
    for member_id, pane in ((1, "%1"), (2, "%2"), (4, "%4"), (5, None)):
        insert(
            conn,
            "member_placements",
            member_id=member_id,
            mux_session="$0",
            mux_window_id="@0",
            mux_pane_id=pane,
            coding_agent="codex",
            created_at=at,
        )
    if version < 4:
        insert(conn, "monitor_config", member_id=1)
        insert(conn, "monitor_config", member_id=4, interval_seconds=30, last_ping_at=at)
    later = {4: ("last_wake_at", at), 5: ("wake_interval_seconds", 0), 7: ("wake_requested_at", at)}
    insert(
        conn,
        "monitor_runtime",
        fleet_id=1,
        pid=77,
        started_at=at,
        last_tick_at=at,
        tick_seconds=7,
        **dict(value for since, value in later.items() if since <= version),
    )
    paths = {"path": "/home/me/.codex"} if version >= 6 else {}
    insert(
        conn,
        "asset_installs",
        coding_agent="codex",
        cafleet_version="0.1",
        installed_at=at,
        **paths,
    )
    done = {"status_state": "completed"}
    insert_message(conn, 1)
    insert_message(conn, 2, **done)
    summary = {"owner_member_id": 1, "to_member_id": None, "type": "broadcast_summary"}
    insert_message(conn, 3, origin_message_id=3, **summary, **done)
    insert_message(conn, 4, origin_message_id=3)
    insert_message(conn, 5, owner_member_id=1, to_member_id=1)
    insert_message(conn, 9, from_member_id=999)
