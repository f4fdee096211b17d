"""Send, broadcast, poll, acknowledge and look up messages."""

from __future__ import annotations

from datetime import datetime

import msgspec

from cafleet import clock
from cafleet.broker import deliveries, fleets, members
from cafleet.broker.composing import record, records
from cafleet.broker.ids import is_id
from cafleet.errors import IntegrityError, RefusedError, UnknownIdError
from cafleet.records import (
    LifeLine,
    MessageRecord,
    MessageType,
    TrackedMessage,
)
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction

TIMELINE_LIMIT = 200
NO_LIMIT = -1
"""What SQLite takes as no limit (lang_select.html, The LIMIT clause)."""


class Broadcast(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a broadcast, and the ids of its deliveries, ascending."""

    summary: MessageRecord
    delivery_ids: list[int]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """At most ``limit`` messages, the newest of those whose id is below ``before``."""

    before: int
    limit: int


def send(
    conn: Connection,
    *,
    sender_id: int,
    recipient_id: int,
    text: str,
    now: datetime,
    urgent: bool = False,
) -> MessageRecord:
    """Store a message to one member of the sender's fleet. The body is stored unchanged.

    The notice of an ``urgent`` message may be typed into the queue of a working agent.

    Raises:
        UnknownIdError: the sender or the recipient is not an active member.
        RefusedError: they are in different fleets.
        IntegrityError: one of them is damaged.
    """
    stored = None
    with transaction(conn):
        if is_id(sender_id) and is_id(recipient_id):
            stored = queries.insert_delivery(
                conn,
                from_member_id=sender_id,
                owner_member_id=recipient_id,
                now=clock.stamp(now),
                text=text,
                urgent=urgent,
            )
        if stored is None:
            members.check_together(conn, member_id=sender_id, other_id=recipient_id)
            raise IntegrityError(
                f"members {sender_id} and {recipient_id} are not stored as they should be; see "
                f"`cafleet db check`"
            )
    return record(stored, MessageRecord)


def broadcast(
    conn: Connection, *, sender_id: int, text: str, now: datetime, urgent: bool = False
) -> Broadcast:
    """Store a message to all other active members of the sender's fleet. There may be none.

    ``urgent`` is that of :func:`send`.

    Raises:
        UnknownIdError: the sender is not an active member.
        IntegrityError: the status of a member is not known.
    """
    at = clock.stamp(now)
    with transaction(conn):
        fleet_id = members.get(conn, member_id=sender_id).fleet_id
        recipients = fleets.count_active(conn, fleet_id=fleet_id) - 1
        summary_id = queries.insert_broadcast_summary(
            conn,
            from_member_id=sender_id,
            now=at,
            text=f"Broadcast sent to {recipients} recipients",
        )
        queries.set_summary_origin(conn, message_id=summary_id)
        queries.insert_broadcast_deliveries(
            conn,
            fleet_id=fleet_id,
            from_member_id=sender_id,
            origin_message_id=summary_id,
            now=at,
            text=text,
            urgent=urgent,
        )
        return Broadcast(
            summary=get(conn, message_id=summary_id),
            delivery_ids=delivery_ids(conn, summary_id=summary_id),
        )


def delivery_ids(conn: Connection, *, summary_id: int) -> list[int]:
    """The deliveries of a broadcast, ids ascending."""
    rows = queries.list_broadcast_delivery_ids(conn, origin_message_id=summary_id)
    return [row.message_id for row in rows]


def poll(
    conn: Connection, *, member_id: int, limit: int | None = None, oldest: bool = False
) -> list[MessageRecord]:
    """The messages that an active member has not acknowledged, newest or ``oldest`` first, at most ``limit``.
    Marks nothing.

    Raises:
        UnknownIdError: there is no such active member.
    """
    members.get(conn, member_id=member_id)
    find = queries.list_oldest_pending if oldest else queries.list_pending
    rows = find(conn, member_id=member_id, limit=NO_LIMIT if limit is None else limit)
    return records(rows, MessageRecord)


def count_pending(conn: Connection, *, member_id: int) -> int:
    """How many deliveries a member has not acknowledged."""
    return queries.count_pending(conn, member_id=member_id)


def ack(conn: Connection, *, message_id: int, now: datetime) -> MessageRecord:
    """Acknowledge a delivery. Its status changes this once.

    Raises:
        UnknownIdError: there is no such message.
        RefusedError: it is not waiting for an acknowledgement. Says its state.
    """
    with transaction(conn):
        message = get(conn, message_id=message_id)
        if not queries.ack_message(conn, message_id=message_id, now=clock.stamp(now)):
            raise RefusedError(
                f"message {message_id} is {message.status_state}; only an input_required delivery can "
                f"be acknowledged, and only once"
            )
        deliveries.see(conn, message_ids=[message_id], reason="acknowledged", now=now)
        return get(conn, message_id=message_id)


def get(conn: Connection, *, message_id: int) -> MessageRecord:
    """A message of any type.

    Raises:
        UnknownIdError: there is none with this id.
    """
    message = queries.get_message(conn, message_id=message_id) if is_id(message_id) else None
    if message is None:
        raise UnknownIdError(
            f"message {message_id} does not exist; `cafleet message poll <member-id>` shows a member's"
        )
    return record(message, MessageRecord)


def life_lines(conn: Connection, *, message: MessageRecord) -> list[LifeLine]:
    """What became of a delivery, or of each of a broadcast's, ids ascending."""
    ids = [message.message_id]
    if message.type is MessageType.BROADCAST_SUMMARY:
        ids = delivery_ids(conn, summary_id=message.message_id)
    return deliveries.life_lines(conn, message_ids=ids)


def inbox(conn: Connection, *, member_id: int, page: Page | None = None) -> list[TrackedMessage]:
    """All deliveries that a member owns, newest status first; or a page of them, newest first."""
    if page is None:
        return records(queries.list_inbox(conn, member_id=member_id), TrackedMessage)
    return records(
        queries.list_inbox_page(conn, member_id=member_id, before=page.before, limit=page.limit),
        TrackedMessage,
    )


def sent(conn: Connection, *, member_id: int, page: Page | None = None) -> list[TrackedMessage]:
    """All deliveries that a member has sent, or a page of them, in the order of the inbox."""
    if page is None:
        return records(queries.list_sent(conn, member_id=member_id), TrackedMessage)
    return records(
        queries.list_sent_page(conn, member_id=member_id, before=page.before, limit=page.limit),
        TrackedMessage,
    )


def timeline(conn: Connection, *, fleet_id: int, page: Page | None = None) -> list[TrackedMessage]:
    """The newest deliveries of a fleet, or a page of them, in the order of the inbox; at most 200."""
    if page is None:
        return records(
            queries.list_timeline(conn, fleet_id=fleet_id, limit=TIMELINE_LIMIT), TrackedMessage
        )
    return records(
        queries.list_timeline_page(
            conn, fleet_id=fleet_id, before=page.before, limit=min(page.limit, TIMELINE_LIMIT)
        ),
        TrackedMessage,
    )


def history(
    conn: Connection, *, fleet_id: int, member_id: int | None, page: Page
) -> list[MessageRecord]:
    """A page of the deliveries of a fleet, or of those that one of its members has sent or owns,
    ids descending. The fleet may be deleted, the member deregistered or its row gone.

    Raises:
        UnknownIdError: there is no such fleet, it never had such a member, or no message can have
            the id that the page ends before.
    """
    fleets.get(conn, fleet_id=fleet_id)
    if not is_id(page.before):
        raise UnknownIdError(
            f"message {page.before} does not exist; give the id of the last message that was printed"
        )
    if member_id is None:
        return records(
            queries.list_timeline_page(
                conn, fleet_id=fleet_id, before=page.before, limit=page.limit
            ),
            MessageRecord,
        )
    member = members.find(conn, member_id=member_id)
    found: list[MessageRecord] = []
    if is_id(member_id):
        found = records(
            queries.list_member_page(
                conn, member_id=member_id, before=page.before, limit=page.limit
            ),
            MessageRecord,
        )
    if member is None and found:
        # A member may have been removed by hand. Its messages tell the fleet.
        member = members.find(conn, member_id=found[0].owner_member_id)
    if member is None or member.fleet_id != fleet_id:
        raise UnknownIdError(
            f"member {member_id} is none of fleet {fleet_id}; `cafleet message list {fleet_id}` shows the "
            f"messages of all its members"
        )
    return found
