"""Inspect a database without changing it: what it is, and what is wrong with it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from itertools import islice

import msgspec

from cafleet.errors import FROM_BACKUP, CafleetError, DatabaseError
from cafleet.store.catalogue import INSTALLS, table_names
from cafleet.store.connection import connect
from cafleet.store.failures import translated
from cafleet.store.mounts import mounts, network_file_system
from cafleet.store.recognition import Kind, recognise
from cafleet.store.soundness import integrity_faults
from cafleet.store.untouched import read_untouched

_MOST_FINDINGS = 3


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """``schema_version`` is null without a ledger. What could not be inspected is null. ``integrity`` is
    ``ok`` or SQLite's first findings. ``file_system`` is that of a network, else null."""

    schema_version: int | None = None
    error: str | None = None
    journal_mode: str | None = None
    integrity: str | None = None
    size_bytes: int | None = None
    file_system: str | None = None


def inspect(path: str) -> Inspection:
    """Everything about the database at ``path``. Never raises: ``error`` says what is wrong.

    A database that is not at head is not touched.
    """
    recognised = recognise(path)
    found = Inspection(
        error=recognised.sentence,
        schema_version=recognised.schema_version,
        size_bytes=_size(path),
        file_system=network_file_system(path, mounts()),
    )
    try:
        if recognised.kind is Kind.HEAD:
            with closing(connect(path)) as conn:
                return _inspect(conn, path, found)
        if recognised.kind is not Kind.MISSING:
            with read_untouched(path) as conn:
                return _inspect(conn, path, found)
    except CafleetError as failure:
        return msgspec.structs.replace(found, error=found.error or str(failure))
    return found


def _inspect(conn: sqlite3.Connection, path: str, found: Inspection) -> Inspection:
    error = found.error
    if error is None and INSTALLS not in table_names(conn):
        error = f"the database at {path} lacks table {INSTALLS}; run `cafleet setup`"
    integrity = None
    try:
        integrity = ", ".join(islice(integrity_faults(conn), _MOST_FINDINGS)) or "ok"
    except CafleetError as failure:
        error = error or str(failure)
    if error is None and integrity != "ok":
        error = f"the database at {path} is damaged ({integrity}); restore it {FROM_BACKUP}"
    if error is None:
        error = _unwritable(path)
    return msgspec.structs.replace(
        found,
        error=error,
        # A connection that leaves no trace has a mode of its own.
        journal_mode=_journal_mode(conn) if found.error is None else None,
        integrity=integrity,
    )


def _unwritable(path: str) -> str | None:
    """The first of the files and the folder of a write that this user may not write, if any."""
    file = os.path.realpath(path)
    for place in (file, f"{file}-wal", f"{file}-shm", os.path.dirname(file)):
        if os.path.exists(place) and not os.access(place, os.W_OK):
            return (
                f"{place} cannot be written; check its owner, its permissions and its file system"
            )
    return None


def _journal_mode(conn: sqlite3.Connection) -> str | None:
    try:
        with translated(conn):
            (mode,) = conn.execute("PRAGMA journal_mode").fetchone()
    except DatabaseError:
        return None
    return str(mode)


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
