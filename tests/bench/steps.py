"""Counting the steps of SQLite's virtual machine: the work that a plan means, whatever the clock says."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable


def steps(conn: sqlite3.Connection, work: Callable[[], object]) -> int:
    """How many instructions SQLite has carried out on ``conn`` for ``work``."""
    count = 0

    def note() -> int:
        nonlocal count
        count += 1
        return 0

    conn.set_progress_handler(note, 1)
    try:
        work()
    finally:
        conn.set_progress_handler(None, 0)
    return count
