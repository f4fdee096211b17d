"""Read a database without a trace: no byte changes, and no file appears beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from cafleet.errors import DatabaseError
from cafleet.store.connection import refuse_what_is_no_file, sqlite_uri
from cafleet.store.failures import is_busy, translated

COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database, by the ends of the names."""


@contextmanager
def read_untouched(path: str) -> Iterator[sqlite3.Connection]:
    """Open the database at ``path`` for reading, with its log.

    An ordinary connection makes the files of WAL mode even if it only reads, and it writes a crashed
    program's log into the database or rolls its transaction back. This connection does neither.

    Raises:
        DatabaseError: there is no such file, or it cannot be read.
    """
    refuse_what_is_no_file(path, create=False)
    real = os.path.realpath(path)
    with ExitStack() as opened:
        with translated(path):
            conn = opened.enter_context(closing(_open(real, opened)))
            conn.execute("PRAGMA query_only = ON")
            # All of it is read as of one moment, whatever others write meanwhile.
            conn.execute("BEGIN")
        yield conn


def traces(path: str) -> list[tuple[int, ...] | None]:
    """The state of the files. It changes when somebody writes: compare it before and after a read."""
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
        # Others may be at work. What a crash has left is recovered in this process's memory.
        return _readable(path, "mode=ro&readonly_shm=1") or _recovered(path, "-wal", opened)
    if _is_filled(f"{path}-journal"):
        return _readable(path, "mode=ro") or _recovered(path, "-journal", opened)
    # Nobody's log has to be read, so the file alone is the database.
    return _connect(path, "immutable=1")


def _readable(path: str, options: str) -> sqlite3.Connection | None:
    """A connection with these options, or None if it cannot read the database."""
    conn = _connect(path, options)
    try:
        conn.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as failure:
        conn.close()
        if is_busy(failure):
            raise
        return None
    return conn


def _is_filled(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except OSError:
        return False


def _connect(path: str, options: str) -> sqlite3.Connection:
    return sqlite3.connect(sqlite_uri(path, options), uri=True, isolation_level=None)


def _recovered(path: str, end: str, opened: ExitStack) -> sqlite3.Connection:
    """A connection to a copy of a database and its log, in which SQLite recovers the log."""
    from shutil import copyfile
    from tempfile import TemporaryDirectory

    try:
        folder = opened.enter_context(TemporaryDirectory(prefix="cafleet-"))
        copy = os.path.join(folder, "copy.db")
        for each in ("", end):
            copyfile(path + each, copy + each)
    except OSError as failure:
        raise DatabaseError(
            f"the database at {path} has a log that cannot be read in its place, and no copy can be made "
            f"to look at it ({failure.strerror}); make room in the folder for temporary files"
        ) from failure
    return _connect(copy, "mode=rw")
