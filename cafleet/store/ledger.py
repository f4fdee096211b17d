"""The ledger of applied migrations, compared with the shipped ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime

from cafleet import clock
from cafleet.errors import DatabaseError
from cafleet.store import queries
from cafleet.store.failures import translated
from cafleet.store.migration_files import Migration, ledger_statements, migrations


def shipped_migrations() -> list[Migration]:
    """All migrations, which lead to the schema that this program was generated for.

    Raises:
        DatabaseError: the installation lacks migrations, or has others.
    """
    found = migrations()
    if len(found) != queries.SCHEMA_VERSION:
        raise DatabaseError(
            f"the migrations of this installation end at {len(found)}, and it needs "
            f"{queries.SCHEMA_VERSION}; install cafleet again"
        )
    return found


def misnamed(conn: sqlite3.Connection, shipped: Sequence[Migration]) -> Iterator[str]:
    """The entries whose file name is not that of the shipped migration, a sentence each."""
    names = {migration.version: migration.file_name for migration in shipped}
    for entry in queries.list_applied_migrations(conn):
        if names.get(entry.version, entry.file_name) != entry.file_name:
            yield (
                f"schema_migrations.file_name holds {entry.file_name!r} where version is "
                f"{entry.version}, which is {names[entry.version]}; correct that row"
            )


def make_ledger(conn: sqlite3.Connection) -> None:
    """Make the ledger, empty."""
    with translated(conn):
        for statement in ledger_statements():
            conn.execute(statement)


def record(conn: sqlite3.Connection, migration: Migration, now: datetime) -> None:
    """Enter an applied migration."""
    queries.insert_applied_migration(
        conn,
        version=migration.version,
        file_name=migration.file_name,
        checksum=migration.checksum,
        now=clock.stamp(now),
    )
