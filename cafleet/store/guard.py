"""The schema guard: what every command but `setup` and `doctor` asks of the database first."""

from __future__ import annotations

import sqlite3

from cafleet.store.connection import connect
from cafleet.store.recognition import Kind, Recognised, judge, recognise, refusal


def open_database(path: str) -> sqlite3.Connection:
    """A connection to the database at ``path``, which is at this program's schema.

    One that is refused is not touched.

    Raises:
        SchemaError: it is older, newer, or not one of ours; says which command mends it.
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
