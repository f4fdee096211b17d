"""The named queries, each loaded by aiosql when it is first called."""

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
    """The query ``name`` of ``sql/queries/<namespace>.sql``, as aiosql makes it callable.

    Only its own lines are handed to aiosql, which takes a tenth of a command's time to read a whole
    file. That every name stands once is for the generator to see to.
    """
    text = query_file(namespace)
    start = text.index(f"-- name: {name}(")
    end = text.find("\n-- name: ", start)
    loaded = aiosql.from_str(text[start : None if end < 0 else end], RowAdapter, attribute=None)
    found: Callable[..., Any] = getattr(loaded, name)
    return found
