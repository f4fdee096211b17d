"""The one place where a failure of SQLite becomes an error of this program."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from cafleet.errors import FROM_BACKUP, DatabaseError, UsageError


class UniqueIndexError(DatabaseError):
    """A unique index refused a row; ``index`` is its name."""

    def __init__(self, index: str) -> None:
        super().__init__(f"the database refused a second row under {index}; look at the rows there")
        self.index = index


class UnsoundError(DatabaseError):
    """The file is no SQLite database, or its pages are damaged."""


# SQLite names the columns of an index that refuses a row, not the index. No other unique index is
# over this column.
_INDEX_ON = {"members.fleet_id": "idx_members_one_active_monitor_per_fleet"}

NO_DATABASE = (
    "the file{at} is not an SQLite database; check CAFLEET_DATABASE_URL, or restore it "
    + FROM_BACKUP
)
# WAL needs memory that processes share through the file `-shm`.
_NO_SHARED_MEMORY = (
    "the file system cannot share memory for the database{at} ({reason}); run `cafleet setup`, which "
    "takes the database out of WAL mode, or move it to a local disk"
)
_SENTENCES = {
    "SQLITE_BUSY": "the database is locked by another process; try again",
    "SQLITE_LOCKED": "the database is locked by another process; try again",
    "SQLITE_FULL": "the disk is full, nothing was written; free some space and try again",
    "SQLITE_READONLY": (
        "the database{at} cannot be written; check the permissions of the file and its folder ({reason})"
    ),
    # A mount that is read-only as well: there the files beside a database in WAL mode cannot be made.
    "SQLITE_CANTOPEN": (
        "the database{at} cannot be opened; check its path and permissions, and that the file system "
        "is not mounted read-only ({reason})"
    ),
    "SQLITE_NOTADB": NO_DATABASE,
    "SQLITE_CORRUPT": f"the database{{at}} is damaged; restore it {FROM_BACKUP}",
    "SQLITE_IOERR": "the disk failed under the database{at}; check it and try again ({reason})",
    "SQLITE_PROTOCOL": _NO_SHARED_MEMORY,
}
_UNSOUND = ("SQLITE_NOTADB", "SQLITE_CORRUPT")


def translate(
    failure: sqlite3.Error, database: sqlite3.Connection | str | None = None
) -> DatabaseError:
    """The error to raise for ``failure``: by its constraint if that is known, else by its result code.

    ``database`` is the path of the file, or a connection to it, so that it can be named.
    """
    name = getattr(failure, "sqlite_errorname", "") or ""
    text = str(failure)
    if name == "SQLITE_CONSTRAINT_UNIQUE":
        refused_by = text.partition("failed: ")[2]
        if refused_by in _INDEX_ON:
            return UniqueIndexError(_INDEX_ON[refused_by])
    # An extended code (SQLITE_IOERR_WRITE) shares the sentence of its primary code.
    primary = "_".join(name.split("_")[:2])
    sentence = _NO_SHARED_MEMORY if name.startswith("SQLITE_IOERR_SHM") else _SENTENCES.get(primary)
    if name == "SQLITE_IOERR_LOCK":
        # A lock for writing on a file that was opened for reading only.
        sentence = _SENTENCES["SQLITE_READONLY"]
    if sentence is None:
        sentence = (
            f"the database refused ({name or type(failure).__name__}: {text}); mend what `cafleet db "
            f"check` names, or restore it {FROM_BACKUP}"
        )
        return DatabaseError(sentence)
    path = _path(database) if isinstance(database, sqlite3.Connection) else database
    kind = UnsoundError if primary in _UNSOUND else DatabaseError
    return kind(sentence.format(at=f" at {path}" if path else "", reason=reason(failure)))


def reason(failure: sqlite3.Error) -> str:
    """SQLite's reason: its code and its words."""
    return f"{getattr(failure, 'sqlite_errorname', type(failure).__name__)}: {failure}"


def is_busy(failure: sqlite3.Error) -> bool:
    """Whether another connection was in the way, which passes."""
    # The upper bits of the code tell the kinds of it apart.
    return (getattr(failure, "sqlite_errorcode", 0) & 0xFF) == sqlite3.SQLITE_BUSY


def _path(conn: sqlite3.Connection) -> str:
    try:
        # The name by which it was opened. This does not read the file.
        return str(conn.execute("PRAGMA database_list").fetchone()[2])
    except sqlite3.Error:
        return ""


@contextmanager
def translated(database: sqlite3.Connection | str | None = None) -> Iterator[None]:
    """Turn failures of SQLite, and of binding a value, into errors of this program. They name the file of
    ``database`` as in :func:`translate`."""
    try:
        yield
    except sqlite3.Error as failure:
        raise translate(failure, database) from failure
    except UnicodeEncodeError as failure:
        raise UsageError("the text is not valid Unicode; send it as UTF-8") from failure
