"""Rows that cannot be read are named, and a database that goes away comes back."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.harness.registry import Registry
from tests.harness.waiting import wait_for
from tests.harness.web import WebServer
from tests.web.conftest import OwnServer

SEND = "/api/messages/send"


@pytest.fixture
def crowd(registry: Registry) -> Registry:
    fill(registry)
    return registry


def fill(registry: Registry) -> None:
    """Fleet 1 of Director 1, monitor 2, ann 3 in a pane and bob 4, with message 1 from bob to ann
    and 2 from ann to bob; a row of its monitor; fleet 2 of 5 and 6."""
    registry.crew("ann", "bob")
    registry.crew()
    registry.place(3, "%1", mux_socket="/nonexistent/socket")
    registry.message(4, 3, "to ann")
    registry.message(3, 4, "to bob")
    registry.rows("INSERT INTO monitor_runtime (fleet_id) VALUES (1)")


@pytest.mark.parametrize(
    ("table", "column", "value", "shown", "path"),
    [
        ("members", "status", "zombie", "'zombie'", "/api/members"),
        ("members", "status", "zombie", "'zombie'", "/api/members/3/inbox"),
        ("members", "status", "zombie", "'zombie'", "/api/monitor"),
        ("members", "status", "zombie", "'zombie'", "/api/fleets"),
        ("members", "name", b"\x01", r"b'\x01'", "/api/timeline"),
        ("member_placements", "backend", "screen", "'screen'", "/api/members"),
        ("member_placements", "coding_agent", "gemini", "'gemini'", "/api/members"),
        ("member_placements", "coding_agent", "gemini", "'gemini'", "/api/monitor"),
        ("messages", "status_state", "canceled", "'canceled'", "/api/timeline"),
        ("messages", "type", "broadcast", "'broadcast'", "/api/timeline"),
        ("messages", "type", "broadcast", "'broadcast'", "/api/timeline?limit=9"),
        ("messages", "type", "broadcast", "'broadcast'", "/api/members/3/inbox"),
        ("messages", "type", "broadcast", "'broadcast'", "/api/members/4/sent"),
        ("messages", "delivery_state", "lost", "'lost'", "/api/members/3/inbox?limit=9"),
        ("messages", "delivery_state", "lost", "'lost'", "/api/members/4/sent?limit=9"),
        ("messages", "delivery_state", "lost", "'lost'", "/api/messages/1/why"),
        ("messages", "text", b"\xff", r"b'\xff'", "/api/timeline"),
        ("monitor_runtime", "tick_seconds", 0, "0", "/api/monitor"),
        ("monitor_runtime", "wake_interval_seconds", "often", "'often'", "/api/monitor"),
        ("fleets", "director_member_id", "x", "'x'", "/api/fleets"),
        ("fleets", "name", b"f", "b'f'", "/api/members"),
    ],
)
def test_a_value_outside_its_column_is_named(
    web: WebServer, crowd: Registry, table: str, column: str, value: Any, shown: str, path: str
) -> None:
    key, row_id = {
        "messages": ("message_id", 1),
        "fleets": ("fleet_id", 1),
        "monitor_runtime": ("fleet_id", 1),
    }.get(table, ("member_id", 3))
    crowd.rows(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", value, row_id)
    detail = web.get(path).detail(500)
    for part in (f"{table}.{column}", shown, key, str(row_id)):
        assert part in detail
    assert web.get("/api/members", fleet=2).ok()
    assert web.get("/api/timeline", fleet=2).ok()


def test_a_message_to_nobody_is_refused_with_all_others(web: WebServer, crowd: Registry) -> None:
    crowd.rows("UPDATE messages SET to_member_id = 99 WHERE message_id = 1")
    for path in ("/api/timeline", "/api/members/3/inbox", "/api/timeline?before=2"):
        detail = web.get(path).detail(500)
        assert "messages.to_member_id holds 99 where message_id is 1" in detail
    assert web.get("/api/members/4/inbox").ok()["messages"]


def test_messages_outlive_their_sender(web: WebServer, crowd: Registry) -> None:
    crowd.rows("DELETE FROM messages WHERE owner_member_id = 4")
    crowd.rows("DELETE FROM members WHERE member_id = 4")
    for path in ("/api/timeline", "/api/members/3/inbox", "/api/timeline?before=2"):
        [message] = web.get(path).ok()["messages"]
        assert (message["from_member_id"], message["from_member_name"]) == (4, None)
        assert message["to_member_name"] == "ann"


def test_a_sender_that_cannot_be_read_sends_nothing(web: WebServer, crowd: Registry) -> None:
    crowd.rows("UPDATE members SET status = 'zombie' WHERE member_id = 3")
    before = crowd.dump()
    for sender, recipient in ((3, 4), (4, 3)):
        body = {"from_member_id": sender, "to_member_id": recipient, "text": "hi"}
        assert "members.status holds 'zombie'" in web.post(SEND, body).detail(500)
    assert crowd.dump() == before


def removed(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("INSERT INTO schema_migrations VALUES (9999, 'V.sql', 'x', 'then')")


def another_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE bookmarks (url TEXT)")


def prose(path: Path) -> None:
    path.unlink()
    path.write_text("This is no database at all. " * 200)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "fragment"),
    [
        (removed, "there is no database"),
        # Whoever has it open still may see a file that is none before it sees an empty one.
        (emptied, "cafleet setup|not an SQLite database"),
        (newer, "newer than this program's"),
        (another_program, "is not one of cafleet's"),
        (prose, "not an SQLite database"),
        (a_folder, "cannot be opened"),
    ],
)
def test_a_database_that_goes_away_is_told_and_comes_back(
    own: OwnServer, spoil: Callable[[Path], None], fragment: str
) -> None:
    web, path = own.web, own.registry.path
    fill(own.registry)
    aside = path.with_suffix(".aside")
    with closing(own.registry.connect()) as conn, closing(sqlite3.connect(aside)) as copy:
        conn.backup(copy)
    spoil(path)
    body = {"from_member_id": 3, "to_member_id": 4, "text": "hi"}
    for reply in (web.get("/api/fleets"), web.get("/api/members"), web.post(SEND, body)):
        assert re.search(fragment, reply.detail(503))
    if path.is_dir():
        path.rmdir()
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    os.replace(aside, path)
    wait_for(lambda: web.get("/api/members").status == 200, "it is served again")
    assert len(web.get("/api/timeline").ok()["messages"]) == 2
    assert web.stop() == (0, "")


def test_a_locked_database_is_read_and_written_later(web: WebServer, crowd: Registry) -> None:
    with closing(crowd.connect()) as conn:
        conn.execute("BEGIN IMMEDIATE")
        assert web.get("/api/timeline").ok()
        body = {"from_member_id": 3, "to_member_id": 4, "text": "hi"}
        assert "locked" in web.post(SEND, body).detail(503)
        conn.execute("ROLLBACK")
    assert web.post(SEND, body).ok()["message_id"] == 3
