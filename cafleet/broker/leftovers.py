"""Processes that have outlived the panes of members, recorded so that they can be ended later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from cafleet import clock
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction
from cafleet.store.rows import LeftProcessRow


def noted(conn: Connection, *, member_id: int) -> Sequence[LeftProcessRow]:
    """The processes that outlived a member's pane. They may have ended since."""
    return queries.list_left_processes(conn, member_id=member_id)


def note(
    conn: Connection,
    *,
    member_id: int,
    processes: Iterable[tuple[int, str, str]],
    boot: str,
    now: datetime,
) -> None:
    """Record id, start and name of each process that runs on. Replaces earlier records."""
    with transaction(conn):
        queries.delete_left_processes(conn, member_id=member_id)
        for pid, started, name in processes:
            queries.insert_left_process(
                conn,
                member_id=member_id,
                pid=pid,
                started=started,
                boot=boot,
                name=name,
                now=clock.stamp(now),
            )
