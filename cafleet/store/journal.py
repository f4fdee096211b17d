"""The journal mode: WAL where two processes can share it, else the rollback journal."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from tempfile import TemporaryDirectory

from cafleet.errors import DatabaseError
from cafleet.store.connection import BUSY_TIMEOUT_SECONDS, connect
from cafleet.store.failures import is_busy, reason, translate, translated


def use_wal(path: str) -> tuple[str, str | None]:
    """Switch the database to WAL for good. Returns the mode that it is in, and why it is not WAL.

    WAL needs memory that processes share through a file, which some file systems lack. So it is tried with
    a write on one connection and a read on another. A scratch database in the same folder comes first, so
    that nobody at work meets a mode that fails.

    Raises:
        DatabaseError: others kept it locked for 5 s.
    """
    mode = _mode(path)
    refusal = None if mode == "wal" else _refused_beside(path)
    if refusal is None:
        refusal = _refused(path)
    if refusal is None:
        return "wal", None
    _leave_wal(path)
    return _mode(path), refusal


def leave_unusable_wal(path: str) -> None:
    """Take a database out of WAL mode if that mode makes it unusable, for instance after it was moved to a
    file system that lacks what WAL needs.

    Raises:
        DatabaseError: it is unusable in another mode, too.
    """
    try:
        with closing(connect(path)) as conn, translated(conn):
            conn.execute("PRAGMA busy_timeout = 0")
            conn.execute("BEGIN IMMEDIATE")
            conn.execute("ROLLBACK")
    except DatabaseError as failure:
        cause = failure.__cause__
        # Where others write, it can be used.
        if isinstance(cause, sqlite3.Error) and not is_busy(cause):
            _leave_wal(path)


def _refused_beside(path: str) -> str | None:
    folder = os.path.dirname(os.path.realpath(path))
    try:
        with TemporaryDirectory(prefix=".cafleet-wal-", dir=folder) as scratch:
            tried = os.path.join(scratch, "scratch.db")
            with closing(connect(tried, create=True)):
                return _refused(tried)
    except OSError as failure:
        return f"no folder can be made to try it in: {failure.strerror}"


def _refused(path: str) -> str | None:
    """Switch to WAL, write and read. Returns SQLite's reason if that fails.

    A database that is in WAL mode already is only read, by two connections.
    """
    try:
        with closing(connect(path)) as writer:
            was = writer.execute("PRAGMA journal_mode").fetchone()
            mode = _patiently(lambda: writer.execute("PRAGMA journal_mode = WAL").fetchone())
            if mode != ("wal",):
                return "SQLite keeps the rollback journal here"
            (version,) = writer.execute("PRAGMA user_version").fetchone()
            with closing(connect(path)) as reader:
                reader.execute("PRAGMA schema_version").fetchone()
                if was != mode:
                    # To write the number that is there is a write all the same.
                    writer.execute(f"PRAGMA user_version = {int(version)}")
                    reader.execute("PRAGMA schema_version").fetchone()
    except (sqlite3.Error, DatabaseError) as failure:
        cause = failure.__cause__ if isinstance(failure, DatabaseError) else failure
        if not isinstance(cause, sqlite3.Error):
            raise
        if is_busy(cause):
            raise translate(cause, path) from cause
        return reason(cause)
    return None


def _mode(path: str) -> str:
    with closing(connect(path)) as conn, translated(conn):
        (mode,) = conn.execute("PRAGMA journal_mode").fetchone()
    return str(mode)


def _leave_wal(path: str) -> None:
    def leave() -> None:
        with closing(connect(path, alone=True)) as conn:
            conn.execute("PRAGMA journal_mode = DELETE").fetchone()

    with translated(path):
        _patiently(leave)


def _patiently(step: Callable[[], object]) -> tuple[object, ...]:
    """Repeat a statement that needs the file for itself, since SQLite does not wait for it."""
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            found = step()
            return found if isinstance(found, tuple) else ()
        except sqlite3.OperationalError as failure:
            if not is_busy(failure) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
