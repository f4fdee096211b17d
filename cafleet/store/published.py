"""Databases of the published program with our schemas 1 to 8. refinery keeps their history."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from cafleet.store import queries
from cafleet.store.catalogue import LEDGER, REFINERY, columns
from cafleet.store.failures import translated
from cafleet.store.reference import database_at
from cafleet.store.soundness import differences, strangers

# The last schema that it published.
LAST = 8


def versions(conn: sqlite3.Connection) -> list[int]:
    """The schema versions in its history, ascending. Empty if the history has another form.

    Raises:
        IntegrityError: one of them is no number.
    """
    if "version" not in columns(conn, REFINERY):
        return []
    return [row.version for row in queries.list_published_versions(conn)]


def oddities(conn: sqlite3.Connection, version: int) -> Iterator[str]:
    """The differences between the declared schema and that of ``version``.

    An index may be missing. Other objects do not matter, unless they affect our tables: a trigger or a unique
    index on one of them.
    """
    with closing(database_at(version)) as reference:
        for found in differences(conn, reference):
            entry = found.entry
            if found.is_missing and entry.type == "table" and entry.name != LEDGER:
                yield f"table {entry.name} is missing"
            elif not found.is_missing:
                yield f"{entry.type} {entry.name} is declared otherwise{found.odd}"
        for entry in strangers(conn, reference):
            if entry.type == "trigger" or entry.sql.split()[:2] == ["CREATE", "UNIQUE"]:
                yield f"{entry.type} {entry.name} is not of that version"


def make_missing_indexes(conn: sqlite3.Connection, version: int) -> None:
    """Make the missing indexes of ``version``."""
    present = {row.name for row in queries.list_schema_objects(conn)}
    with closing(database_at(version)) as reference, translated(conn):
        for wanted in queries.list_schema_objects(reference):
            if wanted.type == "index" and wanted.name not in present:
                conn.execute(wanted.sql)
