"""Taking turns at writing, so that of many writers each comes to it in time."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def turn(conn: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Stand in line with the other writers of a database, for at most so long, and hold the place.

    SQLite lets those who wait for its lock sleep and try again, and whoever comes by when it is
    free has it: of 50 writers some are refused after 5 s while others write hundreds of times. In
    this line, an flock(2) on the database's folder, the kernel wakes them. It only makes things
    fair: whoever cannot stand in it, or not come first in time, still has what SQLite gives.
    """
    handle = _folder_of(conn)
    if handle is None:
        yield
        return
    try:
        _wait(handle, seconds)
        yield
    finally:
        os.close(handle)


def _folder_of(conn: sqlite3.Connection) -> int | None:
    # Never the database file itself: to close it would drop the locks that SQLite has on it.
    _, _, path = conn.execute("PRAGMA database_list").fetchone()
    try:
        return os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None


def _wait(handle: int, seconds: float) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        from threading import Thread

        # A wait that the kernel ends has no limit of its own. Who is left behind in it holds nothing
        # when it comes first: the handle is closed by then.
        waiter = Thread(target=_stand, args=(handle,), daemon=True)
        waiter.start()
        waiter.join(seconds)
    except OSError:
        # Some network file systems have no such locks on folders.
        return


def _stand(handle: int) -> None:
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)
