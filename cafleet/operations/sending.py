"""`message send` and `message broadcast`: store the messages, then make sure that a courier runs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cafleet import clock, settings
from cafleet.broker import deliveries, messages
from cafleet.errors import CafleetError
from cafleet.records import OWED, Delivery, DeliveryStatus, MessageRecord, MessageType, WaitState
from cafleet.store import Connection

_STORED = "what was sent is stored and waits to be polled, do not send it again"


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """What a sender waits for, and for how many seconds."""

    wanted: WaitState
    seconds: int


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """``message`` is a message, or the summary of a broadcast.

    ``deliveries`` are by message id, as known now.
    """

    message: MessageRecord
    deliveries: dict[int, Delivery]
    warnings: list[str]


def send(
    conn: Connection,
    *,
    sender_id: int,
    recipient_id: int,
    text: str,
    urgent: bool,
    wait: Wait | None,
) -> Sent:
    """Store a message to one member, and make sure that a courier runs.

    Raises:
        UnknownIdError, RefusedError: as :func:`cafleet.broker.messages.send`; nothing is stored.
        WaitError: the message is stored, and what was waited for has not come.
    """
    message = messages.send(
        conn,
        sender_id=sender_id,
        recipient_id=recipient_id,
        text=text,
        now=clock.utc_now(),
        urgent=urgent,
    )
    return _follow(conn, message, [message.message_id], wait)


def broadcast(
    conn: Connection, *, sender_id: int, text: str, urgent: bool, wait: Wait | None
) -> Sent:
    """Send to all other active members of the sender's fleet, as :func:`send` does."""
    made = messages.broadcast(
        conn, sender_id=sender_id, text=text, now=clock.utc_now(), urgent=urgent
    )
    return _follow(conn, made.summary, made.delivery_ids, wait)


def _follow(
    conn: Connection, message: MessageRecord, message_ids: Sequence[int], wait: Wait | None
) -> Sent:
    try:
        rows = deliveries.standing(conn, message_ids=message_ids)
        warnings = _see_to_it(conn, [row for row in rows if row.delivery_state in OWED])
    except CafleetError as error:
        _tell_stored(error, message)
        raise
    if wait is not None and message_ids:
        message, rows = _wait(conn, message, message_ids, wait, warnings)
    return Sent(
        message=message,
        deliveries=deliveries.by_message_id(rows),
        warnings=[f"{warning}; {_STORED}" for warning in warnings],
    )


def _tell_stored(error: CafleetError, message: MessageRecord) -> None:
    error.add_remains(f"message {message.message_id} is stored, do not send it again")


def _wait(
    conn: Connection,
    message: MessageRecord,
    message_ids: Sequence[int],
    wait: Wait,
    warnings: Sequence[str],
) -> tuple[MessageRecord, list[DeliveryStatus]]:
    """Wait as asked. Returns the message and its deliveries after that."""
    from cafleet.courier.waiting import WaitError, wait_for_state

    try:
        wait_for_state(
            conn,
            database=settings.database_path(),
            waiter_id=message.from_member_id,
            message_ids=message_ids,
            wanted=wait.wanted,
            seconds=wait.seconds,
        )
        # Its recipient may have acknowledged it meanwhile.
        message = messages.get(conn, message_id=message.message_id)
        return message, deliveries.standing(conn, message_ids=message_ids)
    except WaitError as error:
        # What is known of the courier may be the whole reason.
        for warning in warnings:
            error.add_remains(warning)
        if message.type is MessageType.BROADCAST_SUMMARY:
            every = message.message_id
            error.add_remains(f"`cafleet message why {every}` tells of all of broadcast {every}")
        raise
    except CafleetError as error:
        _tell_stored(error, message)
        raise


def _see_to_it(conn: Connection, owed: Sequence[DeliveryStatus]) -> list[str]:
    """Make sure that a courier runs. Returns warnings for the sender.

    A failure here is a warning: the messages are stored, and a sender that saw its command fail would send
    them again.
    """
    if not owed:
        return []
    fleet_id = owed[0].fleet_id
    try:
        lacking = None if _is_served(conn, fleet_id) else _what_lacks(conn, fleet_id)
    except Exception as error:  # noqa: BLE001 - even a fault of ours must not look like "not stored"
        # The text of an error that is not ours may quote what was sent.
        cause = str(error) if isinstance(error, CafleetError) else type(error).__name__
        return [f"whether a courier runs is not known ({cause})"]
    warnings = [] if lacking is None else [lacking]
    gone = [str(row.owner_member_id) for row in owed if row.owner_gone]
    if gone:
        who = f"member {gone[0]} was" if len(gone) == 1 else f"members {', '.join(gone)} were"
        warnings.append(f"{who} last seen gone")
    return warnings


def _is_served(conn: Connection, fleet_id: int) -> bool:
    from cafleet.courier.liveness import is_running

    database = settings.database_path()
    if is_running(conn, database=database, fleet_id=fleet_id):
        return True
    from cafleet.courier.starting import ensure_running

    return ensure_running(conn, database=database, fleet_id=fleet_id)


def _what_lacks(conn: Connection, fleet_id: int) -> str:
    from cafleet.broker import fleets

    if fleets.get(conn, fleet_id=fleet_id).paused_at is not None:
        return f"fleet {fleet_id} is paused, and `cafleet fleet resume {fleet_id}` lets its notices be typed"
    return (
        f"no courier runs for fleet {fleet_id}, start it with "
        f"`cafleet monitor run {fleet_id} --detach`"
    )
