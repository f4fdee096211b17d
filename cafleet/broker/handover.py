"""What a member that leaves hands over to another: its open messages, and who sends to whom from then on."""

from __future__ import annotations

from datetime import datetime

from cafleet import clock
from cafleet.broker.composing import record
from cafleet.records import Forwarded
from cafleet.store import Connection, queries

# Every hand-over ends in a member that was registered later or still works, unless rows were damaged.
_LONGEST_CHAIN = 1_000


def hand_over(conn: Connection, *, member_id: int, successor_id: int, now: datetime) -> int:
    """Give the open deliveries of a member on to its successor, inside the caller's transaction.

    Returns how many. What the successor itself has sent stays with the member.
    """
    queries.set_member_successor(conn, member_id=member_id, successor_member_id=successor_id)
    return queries.insert_forwarded_deliveries(
        conn, owner_member_id=member_id, successor_member_id=successor_id, now=clock.stamp(now)
    )


def find_forwarded(conn: Connection, *, message_id: int) -> Forwarded | None:
    """The delivery that a delivery has become by now, or ``None`` if its owner did not hand it over."""
    found: Forwarded | None = None
    for _ in range(_LONGEST_CHAIN):
        row = queries.find_forwarded(conn, message_id=message_id)
        if row is None:
            break
        found = record(row, Forwarded)
        message_id = found.message_id
    return found


def find_successor(conn: Connection, *, member_id: int) -> int | None:
    """The member that stands in for one that has left, or ``None`` if nobody took over."""
    found: int | None = None
    for _ in range(_LONGEST_CHAIN):
        row = queries.find_successor(conn, member_id=member_id)
        if row is None:
            break
        found = member_id = row.successor_member_id
    return found
