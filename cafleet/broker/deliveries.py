"""The states of deliveries. Every change names the state that it starts from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from cafleet import clock
from cafleet.broker.composing import records
from cafleet.records import (
    RECIPIENT_LEFT,
    Delivery,
    DeliveryEvent,
    DeliveryState,
    DeliveryStatus,
    LifeLine,
    OwedNotice,
    OwingPane,
)
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction
from cafleet.store.rows import MessageIdRow

_POLLED = "polled"
_TYPED_UNREAD = Delivery(state=DeliveryState.TYPED, reason=None)
_POLLED_WHILE_TYPED = Delivery(state=DeliveryState.TYPED, reason=_POLLED)


def states(conn: Connection, *, message_ids: Sequence[int]) -> dict[int, Delivery]:
    """The state of each delivery, with the reason of its last change, by message id."""
    return by_message_id(standing(conn, message_ids=message_ids))


def by_message_id(rows: Iterable[DeliveryStatus]) -> dict[int, Delivery]:
    """State and reason of the deliveries, by message id."""
    return {row.message_id: Delivery(state=row.delivery_state, reason=row.reason) for row in rows}


def standing(conn: Connection, *, message_ids: Sequence[int]) -> list[DeliveryStatus]:
    """The deliveries with all that a wait for them depends on, ids ascending."""
    return records(queries.list_deliveries(conn, message_ids=message_ids), DeliveryStatus)


def recipients(conn: Connection, *, message_ids: Sequence[int]) -> list[int]:
    """The members that own some deliveries, ids ascending."""
    rows = queries.list_deliveries(conn, message_ids=message_ids)
    return sorted({row.owner_member_id for row in rows})


def life_lines(conn: Connection, *, message_ids: Sequence[int]) -> list[LifeLine]:
    """What became of some deliveries, ids ascending."""
    events: dict[int, list[DeliveryEvent]] = {}
    for row in queries.list_delivery_events(conn, message_ids=message_ids):
        events.setdefault(row.message_id, []).append(
            DeliveryEvent(at=row.at, state=row.state, reason=row.reason, evidence=row.evidence)
        )
    return [
        LifeLine(
            message_id=row.message_id,
            state=row.delivery_state,
            reason=row.reason,
            since=events[row.message_id][-1].at if row.message_id in events else row.created_at,
            events=events.get(row.message_id, []),
            to_member_id=row.owner_member_id,
        )
        for row in queries.list_deliveries(conn, message_ids=message_ids)
    ]


def owed(conn: Connection, *, member_ids: Sequence[int]) -> list[OwedNotice]:
    """The notices owed to some active members, by member and oldest first."""
    return records(queries.list_owed(conn, member_ids=member_ids), OwedNotice)


def owing(conn: Connection, *, fleet_id: int) -> list[OwingPane]:
    """The panes of members that are owed notices, or that may hold an unsettled text; ids ascending."""
    return records(queries.list_owing(conn, fleet_id=fleet_id), OwingPane)


def owed_in_fleet(conn: Connection, *, fleet_id: int) -> list[LifeLine]:
    """All deliveries of a fleet whose notice is owed, ids ascending."""
    rows = queries.list_fleet_owed_ids(conn, fleet_id=fleet_id)
    return life_lines(conn, message_ids=[row.message_id for row in rows])


def unsure_in_fleet(conn: Connection, *, fleet_id: int) -> list[LifeLine]:
    """All unsure deliveries to active members of a fleet, ids ascending."""
    rows = queries.list_fleet_unsure_ids(conn, fleet_id=fleet_id)
    return life_lines(conn, message_ids=[row.message_id for row in rows])


def mark_typed(conn: Connection, *, message_ids: Sequence[int], now: datetime) -> list[int]:
    """Note, inside the caller's transaction, that notices are about to be pasted.

    Returns those that may be pasted, in the order given. A notice that is no longer owed is left out.
    """
    marked = _ids(queries.mark_deliveries_typed(conn, message_ids=message_ids))
    _record(conn, marked, DeliveryState.TYPED, None, None, now)
    return [message_id for message_id in message_ids if message_id in marked]


def settle(
    conn: Connection,
    *,
    message_ids: Sequence[int],
    state: DeliveryState,
    reason: str | None,
    evidence: str | None,
    now: datetime,
    late: bool = False,
) -> None:
    """Note, inside the caller's transaction, what became of notices that were typed.

    A delivery that was polled or acknowledged meanwhile becomes seen. ``late`` evidence also makes an unsure
    notice submitted, unless its recipient has left.
    """
    before = states(conn, message_ids=message_ids)
    changed = queries.settle_typed_deliveries(conn, message_ids=message_ids, delivery_state=state)
    if late and state is DeliveryState.SUBMITTED:
        changed += queries.settle_unsure_deliveries(conn, message_ids=message_ids)
    settled = _ids(changed)
    if not settled:
        return
    _record(conn, settled, state, reason, evidence, now)
    acknowledged = queries.list_acknowledged(conn, message_ids=settled)
    acknowledged_ids = [row.message_id for row in acknowledged]
    see(conn, message_ids=acknowledged_ids, reason="acknowledged", now=now)
    polled = [each for each in settled if before[each] == _POLLED_WHILE_TYPED]
    see(conn, message_ids=polled, reason=_POLLED, now=now)


def postpone(
    conn: Connection,
    *,
    member_ids: Sequence[int],
    state: DeliveryState,
    reason: str,
    now: datetime,
) -> None:
    """Note that what waits for some members stays owed, as held or unreachable.

    Only a new state or reason is an event. A reason that differs in its numbers alone is not new, since it
    may quote a line of the screen that counts. Changes are looked for before the transaction, since few of
    very many deliveries may have changed.
    """
    rows = queries.list_judged_otherwise(
        conn, member_ids=member_ids, delivery_state=state, reason=reason
    )
    if not rows:
        return
    known = states(conn, message_ids=[row.message_id for row in rows])
    said = (state, _without_numbers(reason))
    if all((each.state, _without_numbers(each.reason)) == said for each in known.values()):
        return
    with transaction(conn):
        changed = _ids(
            queries.mark_deliveries_waiting(conn, message_ids=list(known), delivery_state=state)
        )
        _record(conn, changed, state, reason, None, now)


def _without_numbers(reason: str | None) -> str | None:
    return reason and re.sub(r"\d+", "#", reason)


def mark_seen(conn: Connection, *, message_ids: Sequence[int], now: datetime) -> None:
    """Note that the recipient has polled some deliveries. Writes only if that is news.

    A delivery that is being typed becomes seen when its pass settles it.
    """
    if any(map(_is_unread, states(conn, message_ids=message_ids).values())):
        with transaction(conn):
            see(conn, message_ids=message_ids, reason=_POLLED, now=now)
            current = states(conn, message_ids=message_ids)
            typed = [each for each, found in current.items() if found == _TYPED_UNREAD]
            _record(conn, typed, DeliveryState.TYPED, _POLLED, None, now)


def _is_unread(found: Delivery) -> bool:
    return found == _TYPED_UNREAD or found.state not in {DeliveryState.TYPED, DeliveryState.SEEN}


def see(conn: Connection, *, message_ids: Sequence[int], reason: str, now: datetime) -> None:
    """Mark deliveries seen, inside the caller's transaction, except those that are being typed."""
    seen = _ids(queries.mark_deliveries_seen(conn, message_ids=message_ids))
    _record(conn, seen, DeliveryState.SEEN, reason, None, now)


def void(conn: Connection, *, member_ids: Sequence[int], now: datetime) -> None:
    """Drop what is owed to members that leave, inside the caller's transaction.

    A notice that is being typed becomes unsure: its pass may be dead, and its pane is about to close.
    """
    leaving = owed(conn, member_ids=member_ids)
    typed = [row.message_id for row in leaving if row.delivery_state is DeliveryState.TYPED]
    settle(
        conn,
        message_ids=typed,
        state=DeliveryState.UNSURE,
        reason=RECIPIENT_LEFT,
        evidence=None,
        now=now,
    )
    queries.delete_typings(conn, member_ids=member_ids)
    left = [row.message_id for row in leaving]
    dropped = _ids(queries.mark_deliveries_void(conn, message_ids=left))
    _record(conn, dropped, DeliveryState.NONE, RECIPIENT_LEFT, None, now)


def _ids(rows: Sequence[MessageIdRow]) -> list[int]:
    """The ids of rows that a statement has changed, ascending."""
    return sorted(row.message_id for row in rows)


def _record(
    conn: Connection,
    message_ids: Sequence[int],
    state: DeliveryState,
    reason: str | None,
    evidence: str | None,
    now: datetime,
) -> None:
    if not message_ids:
        return
    queries.insert_delivery_events(
        conn,
        message_ids=message_ids,
        now=clock.stamp(now),
        state=state,
        reason=reason,
        evidence=evidence,
    )
