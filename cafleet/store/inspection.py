"""Looking at a database without changing it: what it is, and what is wrong with it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import msgspec

from cafleet.errors import FROM_BACKUP, CafleetError, DatabaseError
from cafleet.store import queries
from cafleet.store.connection import connect
from cafleet.store.failures import translated
from cafleet.store.guard import check_schema, table_names
from cafleet.store.ledger import applied_version, shipped_migrations
from cafleet.store.soundness import INSTALLS, refuse_losses

HEAD = queries.SCHEMA_VERSION

# Where SQLite's locks or its shared memory are not to be trusted (sqlite.org/wal.html, section 1).
_NETWORK = ("nfs", "cifs", "smb", "afs", "ceph", "glusterfs", "lustre", "9p", "fuse.sshfs", "gpfs")
_MOUNTS = "/proc/self/mountinfo"
_MOST_FINDINGS = 3


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """``schema_version`` is null without a ledger, what was not reached is null. ``integrity`` is
    ``ok`` or SQLite's first findings; ``file_system`` is the type of a network's, else null."""

    schema_version: int | None = None
    error: str | None = None
    journal_mode: str | None = None
    integrity: str | None = None
    size_bytes: int | None = None
    file_system: str | None = None


def inspect(path: str) -> Inspection:
    """Everything about the database at ``path``; never raises, ``error`` says what is wrong."""
    found = Inspection(size_bytes=_size(path), file_system=network_file_system(path, _mounts()))
    try:
        with closing(connect(path)) as conn:
            return _inspect(conn, path, found)
    except CafleetError as failure:
        return msgspec.structs.replace(found, error=str(failure))


def _inspect(conn: sqlite3.Connection, path: str, found: Inspection) -> Inspection:
    error = None
    try:
        check_schema(conn, path)
        applied_version(conn, path, shipped_migrations())
        refuse_losses(conn, path, HEAD)
        if INSTALLS not in table_names(conn):
            error = f"the database at {path} lacks table {INSTALLS}; run `cafleet setup`"
    except CafleetError as failure:
        error = str(failure)
    integrity = None
    try:
        integrity = _integrity(conn)
    except CafleetError as failure:
        error = error or str(failure)
    if error is None and integrity != "ok":
        error = f"the database at {path} is damaged ({integrity}); restore it {FROM_BACKUP}"
    if error is None:
        error = _unwritable(path)
    return msgspec.structs.replace(
        found,
        schema_version=_version(conn),
        error=error,
        journal_mode=_journal_mode(conn),
        integrity=integrity,
    )


def _unwritable(path: str) -> str | None:
    """Which of the files and the folder that every write needs this user may not write, if any."""
    file = os.path.realpath(path)
    for place in (file, f"{file}-wal", f"{file}-shm", os.path.dirname(file)):
        if os.path.exists(place) and not os.access(place, os.W_OK):
            return (
                f"{place} cannot be written; check its owner, its permissions and its file system"
            )
    return None


def _version(conn: sqlite3.Connection) -> int | None:
    try:
        if "schema_migrations" not in table_names(conn):
            return None
        return queries.get_schema_version(conn) or 0
    except DatabaseError:
        return None


def _journal_mode(conn: sqlite3.Connection) -> str | None:
    try:
        with translated(conn):
            (mode,) = conn.execute("PRAGMA journal_mode").fetchone()
    except DatabaseError:
        return None
    return str(mode)


def _integrity(conn: sqlite3.Connection) -> str:
    with translated(conn):
        rows = conn.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})").fetchall()
    return ", ".join(" ".join(str(text).split()) for (text,) in rows)


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _mounts() -> str:
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def network_file_system(path: str, mounts: str) -> str | None:
    """The type of the file system that holds ``path``, if it is one over a network.

    ``mounts`` is in the form of ``/proc/self/mountinfo`` (proc(5)); without it nothing is known.
    """
    folder = os.path.realpath(os.path.dirname(path))
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 7 or "-" not in fields[:-1]:
            continue
        point = _unescaped(fields[4])
        is_above = folder == point or folder.startswith(point.rstrip("/") + "/")
        # Of two on one another the later one is seen.
        if is_above and len(point) >= len(best):
            best, kind = point, fields[fields.index("-") + 1]
    return kind if kind.startswith(_NETWORK) else None


def _unescaped(text: str) -> str:
    for code, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        text = text.replace(f"\\{code}", character)
    return text
