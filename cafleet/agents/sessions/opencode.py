"""opencode: one SQLite database for all sessions, in WAL mode.

This is the one place outside ``store`` that opens a database: another program's, and only to read it.
The file is opened in place, because most of the data stands in its ``-wal`` file.
"""

from __future__ import annotations

import os
import pkgutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from urllib.parse import quote

import msgspec

from cafleet.agents.sessions.record import Activity, Session, Turn, as_dict, as_text

_LIMIT_SECONDS = 1.0
# How many steps of SQLite's virtual machine pass between two looks at the clock.
_STEPS = 10_000


def database(home: str, data_home: str | None = None) -> str:
    """The file for a user's ``home`` folder, or below ``data_home`` (``XDG_DATA_HOME``) where set."""
    return os.path.join(data_home or os.path.join(home, ".local/share"), "opencode", "opencode.db")


def session_ids(path: str, folder: str) -> list[str]:
    """The ids of the sessions of ``folder`` that were used last, newest first; empty if none is known."""
    with _reading(path) as conn:
        if conn is None:
            return []
        return [as_text(row[0]) for row in _rows(conn, "opencode_sessions", {"folder": folder})]


def first_texts(path: str, session_id: str) -> tuple[str, ...]:
    """The first text that was submitted in a session, as the one element; empty if none is known."""
    with _reading(path) as conn:
        if conn is None:
            return ()
        rows = _rows(conn, "opencode_first_text", {"session_id": session_id})
    text = _Message(rows).text if rows else ""
    return (text,) if text else ()


def read(path: str, session_id: str) -> Session | None:
    """The newest messages of a session, or ``None`` where it has none that can be read."""
    with _reading(path) as conn:
        if conn is None:
            return None
        rows = _rows(conn, "opencode_messages", {"session_id": session_id})
    messages = [_Message(list(group)) for _, group in groupby(rows, key=itemgetter(0))]
    if not messages:
        return None
    return Session(
        session_id=session_id,
        folder=None,
        submitted=tuple(each.text for each in messages if each.role == "user" and each.text),
        turns=tuple(each.turn() for each in messages if each.text or each.tools),
        activity=_activity(messages[-1]),
    )


class _Message:
    """The rows of one message: the same message in each, with one part."""

    def __init__(self, rows: list[tuple[object, object, object, object]]) -> None:
        _, created, data, _ = rows[0]
        self.data = _json(data)
        self.role = as_text(self.data.get("role"))
        self._created = created if isinstance(created, int) else 0
        parts = [_json(part) for *_, part in rows]
        texts = [part for part in parts if part.get("type") == "text" and not part.get("synthetic")]
        self.text = "\n".join(as_text(part.get("text")) for part in texts)
        self.tools = tuple(_tool(part) for part in parts if part.get("type") == "tool")

    def turn(self) -> Turn:
        return Turn(
            at=_stamp(self._created),
            role="user" if self.role == "user" else "assistant",
            text=self.text,
            tools=self.tools,
        )


def _activity(last: _Message) -> Activity | None:
    """A user's message without an answer yet, and an answer without its end, are work."""
    if last.role == "user":
        return Activity.WORKING
    completed = as_dict(last.data.get("time")).get("completed")
    return Activity.IDLE if completed is not None else Activity.WORKING


def _tool(part: dict[str, object]) -> str:
    given = as_dict(as_dict(part.get("state")).get("input"))
    first = next((value for value in given.values() if isinstance(value, str)), "")
    return f"{as_text(part.get('tool'))}: {first}"


def _stamp(milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return ""


def _json(data: object) -> dict[str, object]:
    try:
        return as_dict(msgspec.json.decode(data)) if isinstance(data, str) else {}
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return {}


@contextmanager
def _reading(path: str) -> Iterator[sqlite3.Connection | None]:
    """A connection that can only read and gives up after a second; ``None`` if there is no file."""
    try:
        # SQLite would wait at a FIFO for a writer.
        if not os.path.isfile(path):
            yield None
            return
        conn = sqlite3.connect(
            f"file:{quote(path)}?mode=ro", uri=True, timeout=_LIMIT_SECONDS, isolation_level=None
        )
    except (sqlite3.Error, ValueError):
        yield None
        return
    ends = time.monotonic() + _LIMIT_SECONDS
    conn.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
    with closing(conn):
        yield conn


def _rows(
    conn: sqlite3.Connection, query: str, values: dict[str, str]
) -> list[tuple[object, object, object, object]]:
    statement = pkgutil.get_data(__package__, f"{query}.sql") or b""
    try:
        return conn.execute(statement.decode(), values).fetchall()
    except sqlite3.Error:
        return []
