"""Copy the database while others write. The copy is consistent and whole, or there is none."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from secrets import token_hex

from cafleet.atomic_write import sync_folder
from cafleet.errors import FROM_BACKUP, DatabaseError, RefusedError
from cafleet.store.connection import connect
from cafleet.store.failures import translated
from cafleet.store.soundness import integrity_faults
from cafleet.store.untouched import COMPANIONS


def back_up(conn: sqlite3.Connection, source: str, path: str) -> int:
    """Copy the database on ``conn``, the file ``source``, to ``path``. Returns the number of bytes.

    The copy is one moment of the database. It is made under another name, checked, and renamed last. Only
    its owner can read it. In WAL mode nobody waits for it.

    Raises:
        RefusedError: there is something at ``path`` already, or it belongs to the database itself.
        DatabaseError: the copy cannot be written, or the database is damaged; nothing is left.
    """
    _refuse_taken(source, path)
    with _temporary(path) as copy:
        with translated(), closing(connect(copy)) as target:
            # The copied moment is fixed from here on.
            conn.execute("BEGIN")
            try:
                conn.execute("PRAGMA schema_version").fetchone()
                conn.backup(target)
            finally:
                conn.execute("ROLLBACK")
            for fault in integrity_faults(target, source):
                raise DatabaseError(
                    f"the database is damaged, no copy was kept (integrity_check: {fault}); restore it "
                    f"{FROM_BACKUP}"
                )
        size = _flush(copy)
        _publish(copy, source, path)
    return size


def _refuse_taken(source: str, path: str) -> None:
    real = os.path.realpath(path)
    if real in {os.path.realpath(source) + end for end in ("", *COMPANIONS)}:
        raise RefusedError(f"{path} belongs to the database itself; give another path")
    if os.path.isdir(path):
        raise RefusedError(f"{path} is a folder; give the path of a file that is not there yet")
    if os.path.lexists(path):
        raise RefusedError(f"there is something at {path} already; give the path of a new file")


@contextmanager
def _temporary(path: str) -> Iterator[str]:
    """An empty file beside ``path``. It is removed in the end, with the files that SQLite kept beside it."""
    copy = os.path.join(os.path.dirname(path), f".cafleet-backup-{token_hex(8)}")
    with _written(path):
        os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        yield copy
    finally:
        for end in ("", *COMPANIONS):
            with suppress(FileNotFoundError):
                os.unlink(copy + end)


def _flush(copy: str) -> int:
    """Wait until the whole copy is on the disk. Returns its size."""
    with _written(copy), open(copy, "rb") as file:
        os.fsync(file.fileno())
        return os.fstat(file.fileno()).st_size


def _publish(copy: str, source: str, path: str) -> None:
    with _written(path):
        try:
            # Unlike a rename, this replaces no file.
            os.link(copy, path)
        except FileExistsError:
            _refuse_taken(source, path)
            raise
        except OSError:
            # Some file systems know no second name for a file.
            _refuse_taken(source, path)
            os.rename(copy, path)
        sync_folder(os.path.dirname(path))


@contextmanager
def _written(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise DatabaseError(
            f"no copy can be written to {path} ({failure.strerror}); check its folder, or give another path"
        ) from failure
