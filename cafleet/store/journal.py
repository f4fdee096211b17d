"""The journal mode: WAL where two processes can share it, else the rollback journal."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from tempfile import TemporaryDirectory

from cafleet.store.connection import BUSY_TIMEOUT_SECONDS, connect
from cafleet.store.failures import is_busy, reason, translate, translated


def use_wal(path: str) -> tuple[str, str | None]:
    """Switch the database to WAL, which lasts; the mode that it is in afterwards, and why not WAL.

    WAL needs memory that processes share through a file, which some file systems cannot do. So it is
    tried by a write on one connection and a read on another: first on a scratch database in the same
    folder, so that nobody at work meets a mode that fails, then on the database itself.

    Raises:
        DatabaseError: others kept it locked for 5 s.
    """
    mode = _mode(path)
    refusal = None if mode == "wal" else _refused_beside(path)
    if refusal is None:
        refusal = _refused(path, may_write=mode != "wal")
    if refusal is None:
        return "wal", None
    _leave_wal(path)
    return _mode(path), refusal


def leave_unusable_wal(path: str) -> None:
    """Take a database out of WAL mode if that keeps it from being read at all, as it does where it
    was moved to a file system that lacks what WAL needs.

    Raises:
        DatabaseError: it cannot be read in another mode either.
    """
    with closing(connect(path)) as conn:
        try:
            conn.execute("PRAGMA schema_version").fetchone()
            return
        except sqlite3.Error as failure:
            if is_busy(failure):
                return
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


def _refused(path: str, *, may_write: bool = True) -> str | None:
    """Switch to WAL, write and read; what SQLite says if that does not work."""
    try:
        with closing(connect(path)) as writer:
            (mode,) = _patiently(lambda: writer.execute("PRAGMA journal_mode = WAL").fetchone())
            if mode != "wal":
                return "SQLite keeps the rollback journal here"
            (version,) = writer.execute("PRAGMA user_version").fetchone()
            writer.execute("BEGIN IMMEDIATE")
            if may_write:
                # To write the number that is there is a write all the same.
                writer.execute(f"PRAGMA user_version = {int(version)}")
            with closing(connect(path)) as reader:
                reader.execute("PRAGMA schema_version").fetchone()
                writer.execute("COMMIT")
                reader.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as failure:
        if is_busy(failure):
            raise translate(failure, path) from failure
        return reason(failure)
    return None


def _mode(path: str) -> str:
    with closing(connect(path)) as conn, translated(conn):
        (mode,) = conn.execute("PRAGMA journal_mode").fetchone()
    return str(mode)


def _leave_wal(path: str) -> None:
    def leave() -> None:
        with closing(connect(path)) as conn:
            # Alone with the file, SQLite keeps in its own memory what it would share.
            conn.execute("PRAGMA locking_mode = EXCLUSIVE")
            conn.execute("PRAGMA journal_mode = DELETE").fetchone()

    with translated(path):
        _patiently(leave)


def _patiently(step: Callable[[], object]) -> tuple[object, ...]:
    """Do what needs the file alone: it does not wait by itself as other statements do."""
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            found = step()
            return found if isinstance(found, tuple) else ()
        except sqlite3.OperationalError as failure:
            if not is_busy(failure) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
