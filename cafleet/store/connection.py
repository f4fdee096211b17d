"""The one place that opens connections, and the transactions on them."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from cafleet.errors import DatabaseError
from cafleet.store.failures import translate, translated
from cafleet.store.turns import turn

BUSY_TIMEOUT_SECONDS = 5.0
# `->>` and RETURNING are older than this; it is the oldest SQLite that the queries are tested on.
OLDEST_SQLITE = (3, 38, 0)


def connect(path: str, *, create: bool = False, alone: bool = False) -> sqlite3.Connection:
    """Open the database file at ``path``, an absolute path that is taken literally.

    Callers begin transactions themselves (:func:`transaction`). Foreign keys are enforced. SQLite waits up
    to 5 s for a lock. A commit is on the disk when it returns. New files are readable by their owner
    alone. ``alone`` keeps all others out of the database, so no memory has to be shared.

    Raises:
        DatabaseError: there is no such file and ``create`` is not set; it is no regular file; it is a
            dangling link; it has a second name; it cannot be reached; or SQLite cannot open it.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise DatabaseError(
            f"SQLite {sqlite3.sqlite_version} is too old; use a Python with SQLite "
            f"{'.'.join(map(str, OLDEST_SQLITE))} or newer"
        )
    refuse_what_is_no_file(path, create=create)
    if create:
        _make(path)
    with translated(path):
        conn = sqlite3.connect(
            sqlite_uri(path, "mode=rw"),
            uri=True,
            timeout=BUSY_TIMEOUT_SECONDS,
            isolation_level=None,
        )
        try:
            if alone:
                # This has to be the first statement that reads the file.
                conn.execute("PRAGMA locking_mode = EXCLUSIVE")
            conn.execute("PRAGMA foreign_keys = ON")
            conn.execute("PRAGMA synchronous = FULL")
        except BaseException:
            conn.close()
            raise
    return conn


def _make(path: str) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    except OSError as failure:
        raise DatabaseError(
            f"the database at {path} cannot be opened ({failure.strerror}); check its path and the "
            f"permissions of its folder"
        ) from failure


def refuse_what_is_no_file(path: str, *, create: bool) -> None:
    """Raise DatabaseError if SQLite must not open ``path``, as :func:`connect` says."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise DatabaseError(
                f"{path} is a link to {os.readlink(path)}, where there is no file; correct the link, "
                f"or remove it and run `cafleet setup`"
            ) from None
        if create:
            return
        raise DatabaseError(f"there is no database at {path}; run `cafleet setup`") from None
    except OSError as failure:
        raise DatabaseError(
            f"the database at {path} cannot be reached ({failure.strerror}); check its path and the "
            f"permissions of the folders above it"
        ) from failure
    if stat.S_ISDIR(found.st_mode):
        raise DatabaseError(
            f"the database at {path} cannot be opened; check its path and permissions, there is a folder"
        )
    if not stat.S_ISREG(found.st_mode):
        raise DatabaseError(
            f"{path} is a device or a pipe, not a file; point CAFLEET_DATABASE_URL elsewhere"
        )
    # SQLite finds its log by the name of the file (sqlite.org/howtocorrupt.html, section 2.5).
    if found.st_nlink > 1:
        raise DatabaseError(
            f"the file at {path} has {found.st_nlink} names (hard links), and SQLite would keep a log "
            f"for each, which damages the database; copy it and remove the other names"
        )


def file_identity(path: str) -> tuple[int, int] | None:
    """The identity of the file at ``path``, ``None`` if there is none. A file in its place has another."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def forbid_writes(conn: sqlite3.Connection) -> None:
    """Make SQLite refuse every change of the database.

    Only writes check references, so plans no longer contain these checks.
    """
    with translated(conn):
        conn.execute("PRAGMA query_only = ON")
        conn.execute("PRAGMA foreign_keys = OFF")


def data_version(conn: sqlite3.Connection) -> int:
    """A number that changes when another connection commits. Reading it costs next to nothing.

    Couriers ask for it all day, so it does without the context manager.
    """
    try:
        (version,) = conn.execute("PRAGMA data_version").fetchone()
    except sqlite3.Error as failure:
        raise translate(failure, conn) from failure
    return int(version)


def sqlite_uri(path: str, options: str) -> str:
    """The URI with ``options`` by which SQLite opens exactly the file at ``path``."""
    # Only these characters mean something in the path of an SQLite URI.
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    # The authority is empty, so that a path may begin with two slashes.
    return f"file://{quoted}?{options}"


@contextmanager
def transaction(conn: sqlite3.Connection) -> Iterator[None]:
    """One write: all of it is committed, or none of it.

    It begins IMMEDIATE, so it waits for the lock at the start. A deferred transaction that reads first and
    writes later fails at once if another has written in between.

    Raises:
        DatabaseError: the lock was not free within 5 s, or SQLite could not commit.
    """
    with ExitStack() as place:
        with translated(conn):
            place.enter_context(turn(conn, BUSY_TIMEOUT_SECONDS))
        try:
            yield
            with translated(conn):
                conn.execute("COMMIT")
        finally:
            # After some failures, such as a full disk, SQLite has already rolled back.
            if conn.in_transaction:
                with translated(conn):
                    conn.execute("ROLLBACK")
