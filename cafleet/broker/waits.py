"""Record who waits for whom while its process lives, and refuse circles."""

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
    """Record that a process waits for members. Returns the ids of its rows. Without ``awaited_ids`` it
    waits for anybody. ``message_id`` is the (first) message whose delivery it waits for; ``None`` means
    that it waits for a new message.

    ``is_alive`` says by the lock file of another wait whether its process lives. The rows of dead processes
    are removed. A wait whose time is over blocks nobody.

    Raises:
        RefusedError: an awaited member waits for the waiting one, directly or through others.
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
    """Whether the awaited message has come, though the process has not seen it yet."""
    if row.message_id is not None or row.awaited_member_id is None:
        return False
    pending = queries.list_pending(conn, member_id=row.waiter_member_id, limit=NO_LIMIT)
    return any(message.from_member_id == row.awaited_member_id for message in pending)


def _refuse_circle(rows: Sequence[WaitRow], waiter: int, awaited: int) -> None:
    """Follow who waits for whom, beginning at ``awaited``. A wait for oneself is a circle, too."""
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
