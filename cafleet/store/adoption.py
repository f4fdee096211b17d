"""Take over a database of the published program: copy it, then fill our ledger."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from datetime import datetime

from cafleet.errors import DatabaseError
from cafleet.store.connection import connect
from cafleet.store.failures import translated
from cafleet.store.untouched import COMPANIONS


def begin_copy(path: str, version: int, now: datetime) -> None:
    """Copy the last committed state of the database at ``path``, under the name of an unfinished adoption.
    The copy of an interrupted adoption is overwritten.

    Raises:
        DatabaseError: the copy cannot be written, or its final name is taken. No copy is left.
    """
    begun, copy = _begun(path), _lasting(path, version, now)
    if os.path.lexists(copy):
        raise DatabaseError(
            f"no copy of the database can be made at {copy}, where there is something; nothing was "
            f"changed, move that away"
        )
    try:
        drop_copy(path)
        os.close(os.open(begun, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            with closing(connect(path)) as source, closing(connect(begun)) as target, translated():
                source.backup(target)
        except BaseException:
            drop_copy(path)
            raise
    except OSError as failure:
        raise DatabaseError(
            f"no copy of the database can be made at {copy} ({failure.strerror}); nothing was changed, "
            f"make room in its folder"
        ) from failure


def drop_copy(path: str) -> None:
    """Remove the copy of an adoption that was given up, and the files that SQLite kept beside it."""
    for end in ("", *COMPANIONS):
        with suppress(FileNotFoundError):
            os.unlink(_begun(path) + end)


def finish_copy(path: str, version: int, now: datetime) -> str | None:
    """Give the copy its final name once the database is adopted. Returns its path.

    None if there is no unfinished copy. After a killed setup, the next setup gives the copy its name.
    """
    copy = _lasting(path, version, now)
    try:
        os.rename(_begun(path), copy)
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise DatabaseError(
            f"the copy of the database at {_begun(path)} cannot be renamed to {copy} "
            f"({failure.strerror}); rename it by hand"
        ) from failure
    return copy


def _lasting(path: str, version: int, now: datetime) -> str:
    return f"{path}.published-v{version}-{now:%Y%m%dT%H%M%S%f}.bak"


def _begun(path: str) -> str:
    return f"{path}.published.part"
