"""What SQLite's catalogue says of a database: its tables, and whether one is our ledger."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

from cafleet.store.failures import translated

LEDGER = "schema_migrations"
# The history of the published program whose schemas 1 to 8 are ours, as refinery keeps it.
REFINERY = "refinery_schema_history"
# The history of the published Python program, as alembic keeps it.
ALEMBIC = "alembic_version"
PUBLISHED_HISTORIES = frozenset([REFINERY, ALEMBIC])
# `setup` makes this table again: the assets that it tells of are there to be installed again.
INSTALLS = "asset_installs"
_LEDGER_COLUMNS = {"version", "file_name", "checksum", "applied_at"}


def table_names(conn: sqlite3.Connection) -> set[str]:
    """The tables and views of the database, SQLite's own left out."""
    return {name for name, _ in _tables(conn)}


def has_ledger(conn: sqlite3.Connection) -> bool:
    """Whether the database has cafleet's ledger. Other programs have a table of the same name."""
    return (LEDGER, "table") in _tables(conn) and columns(conn, LEDGER) == _LEDGER_COLUMNS


def columns(conn: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table. Empty if there is no such table."""
    with translated(conn), closing(conn.execute(f"PRAGMA table_info({table})")) as found:
        return {column[1] for column in found}


def is_marked(conn: sqlite3.Connection) -> bool:
    """Whether another program has put its number into the header of the file."""
    with translated(conn):
        (application,) = conn.execute("PRAGMA application_id").fetchone()
        (version,) = conn.execute("PRAGMA user_version").fetchone()
    return (application, version) != (0, 0)


def is_shorter_than_a_page(conn: sqlite3.Connection, path: str) -> bool:
    """Whether the file is not empty, but smaller than any database."""
    with translated(conn):
        (pages,) = conn.execute("PRAGMA page_count").fetchone()
    return pages == 0 and os.path.getsize(path) > 0


def _tables(conn: sqlite3.Connection) -> set[tuple[str, str]]:
    with translated(conn), closing(conn.execute("PRAGMA table_list")) as found:
        return {
            (name, kind)
            for schema, name, kind, *_ in found
            if schema == "main" and not name.startswith("sqlite_")
        }
