"""Databases in memory with the shipped migrations, to compare others with."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from cafleet.store.access import many
from cafleet.store.failures import translated
from cafleet.store.files import sql_folder
from cafleet.store.migration_files import ledger_statements, migrations, statements
from cafleet.store.rows import SchemaObjectRow


def database_at(version: int) -> sqlite3.Connection:
    """An empty database at schema ``version``, with its ledger's table."""
    steps = [migration.statements for migration in migrations()[:version]]
    return _run([ledger_statements(), *steps])


def database_for_queries() -> sqlite3.Connection:
    """A database at head, with the predecessor's history table, so that every query compiles."""
    steps = [migration.statements for migration in migrations()]
    history = sql_folder().joinpath("migrations", "predecessor.sql").read_text(encoding="utf-8")
    return _run([ledger_statements(), *steps, statements(history)])


def schema_objects(conn: sqlite3.Connection) -> list[SchemaObjectRow]:
    """Tables, then indexes, by name. Runs before there are generated functions to call."""
    return many(conn, "sqlite_master", "list_schema_objects", SchemaObjectRow, {})


def _run(steps: Sequence[Sequence[str]]) -> sqlite3.Connection:
    conn = sqlite3.connect(":memory:", isolation_level=None)
    with translated():
        for step in steps:
            for statement in step:
                conn.execute(statement)
    return conn
