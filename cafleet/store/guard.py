"""The schema guard: what every command but `setup` and `doctor` asks of the database first."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from cafleet.errors import FROM_BACKUP, DatabaseError, SchemaError
from cafleet.store import queries
from cafleet.store.connection import connect
from cafleet.store.failures import translated

LEDGER = "schema_migrations"
REFINERY = "refinery_schema_history"
_LEDGER_COLUMNS = {"version", "file_name", "checksum", "applied_at"}


def open_database(path: str) -> sqlite3.Connection:
    """A connection to the database at ``path``, which is at this program's schema.

    Raises:
        SchemaError: it is older, newer, or not one of ours; says which command mends it.
        DatabaseError: it is missing or cannot be opened.
    """
    conn = connect(path)
    try:
        check_schema(conn, path)
    except BaseException:
        conn.close()
        raise
    return conn


def check_schema(conn: sqlite3.Connection, path: str) -> None:
    """Compare versions; raises as :func:`open_database`."""
    try:
        version = queries.get_schema_version(conn)
    except DatabaseError:
        _refuse_without_ledger(conn, path)
        raise
    if version is None:
        refuse_emptied_ledger(conn, path)
    if version is None or version < queries.SCHEMA_VERSION:
        raise SchemaError(
            f"the database at {path} is at schema {version or 0}, older than this program's "
            f"{queries.SCHEMA_VERSION}; run `cafleet setup`"
        )
    if version > queries.SCHEMA_VERSION:
        _refuse_without_ledger(conn, path)
        raise SchemaError(
            f"the database at {path} is at schema {version}, newer than this program's "
            f"{queries.SCHEMA_VERSION}; upgrade cafleet"
        )


def _refuse_without_ledger(conn: sqlite3.Connection, path: str) -> None:
    if has_ledger(conn):
        return
    tables = table_names(conn)
    if not tables:
        raise SchemaError(
            f"the database at {path} is not set up yet; run `cafleet setup`"
        ) from None
    if REFINERY in tables:
        raise SchemaError(
            f"the database at {path} is one of the published cafleet, older than this program; run "
            f"`cafleet setup`, which upgrades it"
        ) from None
    raise SchemaError(
        f"the database at {path} is not one of cafleet's; point CAFLEET_DATABASE_URL elsewhere"
    ) from None


def refuse_emptied_ledger(conn: sqlite3.Connection, path: str) -> None:
    """Raise SchemaError if the database, whose ledger has no entry, has tables of a schema."""
    if table_names(conn) - {LEDGER}:
        raise SchemaError(
            f"the ledger of the database at {path} is empty, so its schema is unknown; "
            f"restore it {FROM_BACKUP}"
        )


def has_ledger(conn: sqlite3.Connection) -> bool:
    """Whether the database has cafleet's ledger; other programs call a table of theirs the same."""
    with translated(conn), closing(conn.execute(f"PRAGMA table_info({LEDGER})")) as found:
        return {column[1] for column in found} == _LEDGER_COLUMNS


def table_names(conn: sqlite3.Connection) -> set[str]:
    """The tables of the database, SQLite's own left out."""
    with translated(conn), closing(conn.execute("PRAGMA table_list")) as found:
        return {
            name
            for schema, name, *_ in found
            if schema == "main" and not name.startswith("sqlite_")
        }
