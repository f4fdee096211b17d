"""Let many writers take turns, so that each can write in time."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from cafleet.file_lock import try_lock, wait_for_lock
from cafleet.store.failures import is_busy

# The first in the queue tries to begin. Between two transactions of a writer the database is free for a
# moment. The first try comes late, since fewer processes then compete for the processors. Each further
# try comes after half the time, since a greedy writer leaves short moments.
_FIRST_LOOK_SECONDS = 0.02
_LAST_LOOK_SECONDS = 0.0001


@contextmanager
def turn(conn: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Begin an IMMEDIATE transaction. Queue for it if another process writes.

    SQLite lets waiting writers sleep longer and longer, and gives a free lock to whoever asks next. Of 50
    writers some would be refused after 5 s while others write hundreds of times. So writers queue for an
    flock(2) on the database's folder, and the kernel wakes them one by one. Only the first in the queue
    competes for SQLite's lock, and keeps its place until it has written. A writer that cannot queue, or
    waits too long, competes, too.

    Raises:
        sqlite3.OperationalError: the transaction could not begin within ``seconds``, after as many in the
            queue.
    """
    with ExitStack() as place:
        try:
            _begin(conn, 0.0, seconds)
        except sqlite3.OperationalError as failure:
            if not is_busy(failure):
                raise
            place.enter_context(_first_in_line(conn, seconds))
            _begin(conn, seconds, seconds)
        yield


def _begin(conn: sqlite3.Connection, seconds: float, usual: float) -> None:
    """Begin as soon as nobody else writes. Sets the usual busy timeout afterwards."""
    ends, look = time.monotonic() + seconds, _FIRST_LOOK_SECONDS
    conn.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                conn.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as failure:
                if not is_busy(failure) or time.monotonic() >= ends:
                    raise
            time.sleep(look)
            look = max(look / 2, _LAST_LOOK_SECONDS)
    finally:
        conn.execute(f"PRAGMA busy_timeout = {round(usual * 1000)}")


@contextmanager
def _first_in_line(conn: sqlite3.Connection, seconds: float) -> Iterator[None]:
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
    # Never open the database file itself: closing it would drop SQLite's locks on it.
    _, _, path = conn.execute("PRAGMA database_list").fetchone()
    try:
        return os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None


def _wait(handle: int, seconds: float) -> None:
    try:
        if try_lock(handle):
            return
    except OSError:
        # Some network file systems have no such locks on folders.
        return
    from threading import Thread

    # The kernel's wait has no time limit, so a thread waits. If the time is over first, the caller
    # closes the handle: a lock that the thread gets later is gone with it.
    waiter = Thread(target=_stand, args=(handle,), daemon=True)
    waiter.start()
    waiter.join(seconds)


def _stand(handle: int) -> None:
    with suppress(OSError):
        wait_for_lock(handle)
