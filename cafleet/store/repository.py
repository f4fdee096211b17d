"""The query files, loaded by aiosql when one of their queries is first called."""

from __future__ import annotations

from functools import cache
from typing import Any

import aiosql
from aiosql.adapters.sqlite3 import SQLite3Adapter
from aiosql.queries import Queries

from cafleet.store.files import query_file


class RowAdapter(SQLite3Adapter):
    """aiosql's adapter for sqlite3, with rows as mappings and the many shape as a list.

    A lazy result would leave an UPDATE … RETURNING undone until it is read.
    """

    def select(
        self, conn: Any, query_name: str, sql: str, parameters: Any, record_class: Any = None
    ) -> Any:
        cursor = conn.execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def select_one(
        self, conn: Any, query_name: str, sql: str, parameters: Any, record_class: Any = None
    ) -> Any:
        rows = self.select(conn, query_name, sql, parameters)
        return rows[0] if rows else None


@cache
def repository(namespace: str) -> Queries:
    """The queries of ``sql/queries/<namespace>.sql``.

    Each file is loaded by itself: aiosql lets the last of two files that define one name win.
    """
    loaded: Queries = aiosql.from_str(query_file(namespace), RowAdapter, attribute=None)
    return loaded
