"""Who waits for whom: rows that live as long as their process, and the refusal of circles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from cafleet import clock
from cafleet.broker.messages import NO_LIMIT
from cafleet.errors import RefusedError
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction
from cafleet.store.rows import WaitRow


def begin(
    conn: Connection,
    *,
    waiter_id: int,
    awaited_ids: Sequence[int],
    message_id: int | None,
    lock_file: str,
    is_alive: Callable[[str], bool],
    now: datetime,
    until: datetime,
) -> list[int]:
    """Note that a process waits for members; the ids of its rows. An empty ``awaited_ids`` means
    that it waits for whoever comes. ``message_id`` is the (first) message whose fate it waits for,
    ``None`` that it waits for a message to come.

    ``is_alive`` tells by the lock file of another wait whether its process lives; the rows of dead
    ones are removed. One whose time is over blocks nobody, though its process may not have seen that.

    Raises:
        RefusedError: one of the awaited waits, directly or through others, for the waiter.
    """
    with transaction(conn):
        going = []
        for row in queries.list_waits(conn):
            if not is_alive(row.lock_file):
                queries.delete_wait(conn, wait_id=row.wait_id)
            elif row.until_at > clock.stamp(now) and not _is_met(conn, row):
                going.append(row)
        for each in awaited_ids:
            _refuse_circle(going, waiter_id, each)
        awaited_or_anyone: Sequence[int | None] = awaited_ids or [None]
        return [
            queries.insert_wait(
                conn,
                waiter_member_id=waiter_id,
                awaited_member_id=awaited,
                message_id=message_id,
                now=clock.stamp(now),
                until_at=clock.stamp(until),
                lock_file=lock_file,
            )
            for awaited in awaited_or_anyone
        ]


def end(conn: Connection, *, wait_ids: Sequence[int]) -> None:
    """Remove the rows of a wait that is over."""
    with transaction(conn):
        for wait_id in wait_ids:
            queries.delete_wait(conn, wait_id=wait_id)


def _is_met(conn: Connection, row: WaitRow) -> bool:
    """Whether the message that a process waits for has come, though it has not seen it yet."""
    if row.message_id is not None or row.awaited_member_id is None:
        return False
    pending = queries.list_pending(conn, member_id=row.waiter_member_id, limit=NO_LIMIT)
    return any(message.from_member_id == row.awaited_member_id for message in pending)


def _refuse_circle(rows: Sequence[WaitRow], waiter: int, awaited: int) -> None:
    """Follow who waits for whom from ``awaited`` on; a wait for oneself is a circle as well."""
    path = {awaited: [awaited]}
    frontier = [awaited]
    while frontier:
        member = frontier.pop()
        if member == waiter:
            awaits = ", who waits for ".join(map(str, path[member]))
            raise RefusedError(
                f"member {waiter} would wait for {'itself' if waiter == awaited else awaits}, so this wait "
                f"could never end; read your messages first with `cafleet message poll {waiter}`"
            )
        for row in rows:
            nxt = row.awaited_member_id
            if row.waiter_member_id == member and nxt is not None and nxt not in path:
                path[nxt] = [*path[member], nxt]
                frontier.append(nxt)
