"""The statements of an operation, to be run again without the program."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from cafleet.store.connection import BUSY_TIMEOUT_SECONDS
from tests.bench.population import Population

Statement = tuple[str, Mapping[str, Any]]


class _Recording(sqlite3.Connection):
    statements: list[Statement]

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        self.statements.append((sql, values))
        return super().execute(sql, values)

    def cursor(self, *args: Any, **kwargs: Any) -> Any:
        return _RecordingCursor(self)


class _RecordingCursor(sqlite3.Cursor):
    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        self.connection.statements.append((sql, values))
        return super().execute(sql, values)


def statements_of(
    population: Population, work: Callable[[sqlite3.Connection], object]
) -> list[Statement]:
    """What ``work`` has run, with its parameters."""
    path, wait = population.path, BUSY_TIMEOUT_SECONDS
    with closing(
        sqlite3.connect(path, factory=_Recording, timeout=wait, isolation_level=None)
    ) as conn:
        conn.statements = []
        conn.execute("PRAGMA foreign_keys = ON")
        conn.execute("PRAGMA synchronous = FULL")
        conn.statements.clear()
        work(conn)
        return list(conn.statements)


def replay(conn: sqlite3.Connection, statements: list[Statement]) -> None:
    """Run them again, their rows fetched as tuples."""
    for sql, values in statements:
        conn.execute(sql, values).fetchall()
