"""Reading a database without a trace: no byte of it changes, and nothing appears beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from cafleet.errors import DatabaseError
from cafleet.store.connection import refuse_what_is_no_file, sqlite_uri
from cafleet.store.failures import translated

COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database, by the ends of the names."""


@contextmanager
def read_untouched(path: str) -> Iterator[sqlite3.Connection]:
    """A connection that reads the database at ``path``, its log included.

    An ordinary connection, even one that only reads, makes the files of WAL mode, writes a crashed
    program's log into the database, or rolls its transaction back. This one does none of it.

    Raises:
        DatabaseError: there is no such file, or it cannot be read.
    """
    refuse_what_is_no_file(path, create=False)
    real = os.path.realpath(path)
    with ExitStack() as opened:
        with translated(path):
            conn = opened.enter_context(closing(_open(real, opened)))
            conn.execute("PRAGMA query_only = ON")
        yield conn


def traces(path: str) -> list[tuple[int, ...] | None]:
    """What changes when somebody writes to the database: compare it before and after a reading."""
    real = os.path.realpath(path)
    return [_state(real + end) for end in ("", "-wal", "-journal")]


def _state(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _open(path: str, opened: ExitStack) -> sqlite3.Connection:
    if _is_filled(f"{path}-wal"):
        if os.path.exists(f"{path}-shm"):
            # Others may be at work. What a crash has left is recovered in this process's memory.
            return _connect(path, "mode=ro&readonly_shm=1")
        conn = _connect(path, "mode=ro&vfs=unix-none")
        # The index of the log is kept in memory too.
        conn.execute("PRAGMA locking_mode = EXCLUSIVE")
        return conn
    if _is_filled(f"{path}-journal"):
        conn = _connect(path, "mode=ro")
        try:
            conn.execute("PRAGMA schema_version").fetchone()
            return conn
        except sqlite3.Error as failure:
            conn.close()
            if failure.sqlite_errorname != "SQLITE_READONLY_ROLLBACK":
                raise
        return _connect(_copy(path, opened), "mode=rw")
    # Nobody's log has to be read, so the file alone is the database.
    return _connect(path, "immutable=1")


def _is_filled(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except OSError:
        return False


def _connect(path: str, options: str) -> sqlite3.Connection:
    return sqlite3.connect(sqlite_uri(path, options), uri=True, isolation_level=None)


def _copy(path: str, opened: ExitStack) -> str:
    """Copy a database that a crash has left in the middle of a transaction, to roll the copy back."""
    from shutil import copyfile
    from tempfile import TemporaryDirectory

    try:
        folder = opened.enter_context(TemporaryDirectory(prefix="cafleet-"))
        copy = os.path.join(folder, "copy.db")
        for end in ("", "-journal"):
            copyfile(path + end, copy + end)
    except OSError as failure:
        raise DatabaseError(
            f"the database at {path} was left in the middle of a transaction, and no copy can be made "
            f"to look at it ({failure.strerror}); make room in the folder for temporary files"
        ) from failure
    return copy
