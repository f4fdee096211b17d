"""The schema guard: the first check of every command but `setup` and `doctor`."""

from __future__ import annotations

import sqlite3

from cafleet.store.connection import connect
from cafleet.store.recognition import Kind, Recognised, judge, recognise, refusal


def open_database(path: str) -> sqlite3.Connection:
    """Open the database at ``path``, which has to be at this program's schema.

    A refused database is not touched.

    Raises:
        SchemaError: it is older, newer, or not ours. Says which command mends it.
        DatabaseError: it is missing or cannot be opened.
    """
    _refuse(recognise(path, thorough=False))
    conn = connect(path)
    try:
        check_schema(conn, path)
    except BaseException:
        conn.close()
        raise
    return conn


def check_schema(conn: sqlite3.Connection, path: str) -> None:
    """The same for the database on ``conn``; raises as :func:`open_database`."""
    _refuse(judge(conn, path, thorough=False))


def _refuse(found: Recognised) -> None:
    if found.kind is not Kind.HEAD:
        raise refusal(found)
