"""Taking over a database of the published program: a copy of it as it was, then our ledger."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from datetime import datetime

from cafleet.errors import DatabaseError
from cafleet.store.connection import connect
from cafleet.store.failures import translated
from cafleet.store.untouched import COMPANIONS


def begin_copy(path: str, version: int, now: datetime) -> None:
    """Copy the database at ``path`` as it was last committed, under a name that says that its
    adoption is not over. What an adoption that was cut off has left there is written anew.

    Raises:
        DatabaseError: the copy cannot be written, or the name that it is to have is taken; none is
            left.
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
    """Remove the copy of an adoption that was given up, with what SQLite kept beside it."""
    for end in ("", *COMPANIONS):
        with suppress(FileNotFoundError):
            os.unlink(_begun(path) + end)


def finish_copy(path: str, version: int, now: datetime) -> str | None:
    """Give the copy its lasting name once the database is adopted; its path.

    None where there is no copy without one: that of a killed setup gets its name from the next.
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
