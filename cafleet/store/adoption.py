"""Taking over a database of the published predecessor, whose history refinery has kept."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import datetime

from cafleet.errors import DatabaseError, SchemaError
from cafleet.store import queries
from cafleet.store.connection import connect
from cafleet.store.failures import translated
from cafleet.store.reference import database_at

HISTORY = "refinery_schema_history"
# The last schema that the predecessor published.
LAST_PUBLISHED = 8


def published_version(conn: sqlite3.Connection, path: str) -> int:
    """The version of the predecessor's database on ``conn``, once it is found to be as published.

    Raises:
        SchemaError: its history has a gap or goes beyond the last published version, or its tables
            are not those of its version.
    """
    versions: list[int] = []
    if "version" in _columns(conn, HISTORY):
        versions = [row.version for row in queries.list_published_versions(conn)]
    if not versions or versions != list(range(1, len(versions) + 1)):
        raise SchemaError(
            f"the history of the database at {path} is not one of the published cafleet; nothing was "
            f"changed, point CAFLEET_DATABASE_URL elsewhere"
        )
    if len(versions) > LAST_PUBLISHED:
        raise SchemaError(
            f"the database at {path} is at version {len(versions)} of the published cafleet, which this "
            f"program knows up to {LAST_PUBLISHED}; nothing was changed, upgrade cafleet"
        )
    with closing(database_at(len(versions))) as reference:
        _compare_tables(conn, reference, path, len(versions))
    return len(versions)


def copy_aside(path: str, version: int, now: datetime) -> str:
    """Copy the database at ``path`` as it was last committed; the path of the copy beside it.

    Raises:
        DatabaseError: the copy cannot be written; none is left.
    """
    copy = f"{path}.published-v{version}-{now:%Y%m%dT%H%M%S%f}.bak"
    # A copy that a crash has cut off must not look like one; the next setup begins it anew.
    begun = f"{path}.published.part"
    try:
        if os.path.lexists(begun):
            os.unlink(begun)
        os.close(os.open(begun, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            with closing(connect(path)) as source, closing(connect(begun)) as target, translated():
                source.backup(target)
            os.rename(begun, copy)
        except BaseException:
            os.unlink(begun)
            raise
    except OSError as failure:
        raise DatabaseError(
            f"no copy of the database can be made at {copy} ({failure.strerror}); nothing was changed"
        ) from failure
    return copy


def make_missing_indexes(conn: sqlite3.Connection, version: int) -> None:
    """Make the indexes of ``version`` that are not there: they say nothing about the rows."""
    present = {row.name for row in queries.list_schema_objects(conn)}
    with closing(database_at(version)) as reference, translated():
        for wanted in queries.list_schema_objects(reference):
            if wanted.type == "index" and wanted.name not in present:
                conn.execute(wanted.sql)


def _compare_tables(
    conn: sqlite3.Connection, reference: sqlite3.Connection, path: str, version: int
) -> None:
    for wanted in queries.list_schema_objects(reference):
        if (
            wanted.type == "table"
            and wanted.name != "schema_migrations"
            and _columns(conn, wanted.name) != _columns(reference, wanted.name)
        ):
            raise SchemaError(
                f"table {wanted.name} of the database at {path} is not that of version {version} of the "
                f"published cafleet; nothing was changed, point CAFLEET_DATABASE_URL elsewhere"
            )


def _columns(conn: sqlite3.Connection, table: str) -> set[str]:
    # The names come from our own migrations, never from the database at hand.
    with translated(), closing(conn.execute(f"PRAGMA table_info({table})")) as found:
        return {column[1] for column in found}
