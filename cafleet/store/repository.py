"""The named queries. aiosql loads each at its first call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import aiosql
from aiosql.adapters.sqlite3 import SQLite3Adapter

from cafleet.store.files import query_file


class RowAdapter(SQLite3Adapter):
    """aiosql's adapter for sqlite3, with the many shape as a list.

    A lazy result would leave an UPDATE … RETURNING undone until it is read.
    """

    def select(
        self, conn: Any, query_name: str, sql: str, parameters: Any, record_class: Any = None
    ) -> Any:
        return conn.execute(sql, parameters).fetchall()

    def select_one(
        self, conn: Any, query_name: str, sql: str, parameters: Any, record_class: Any = None
    ) -> Any:
        rows = self.select(conn, query_name, sql, parameters)
        return rows[0] if rows else None


@cache
def query(namespace: str, name: str) -> Callable[..., Any]:
    """The query ``name`` of ``sql/queries/<namespace>.sql``, as the function that aiosql makes of it.

    aiosql gets the lines of this query alone: to read a whole file takes a tenth of a command's time. The
    generator checks that every name is unique.
    """
    text = query_file(namespace)
    start = text.index(f"-- name: {name}(")
    end = text.find("\n-- name: ", start)
    loaded = aiosql.from_str(text[start : None if end < 0 else end], RowAdapter, attribute=None)
    found: Callable[..., Any] = getattr(loaded, name)
    return found
