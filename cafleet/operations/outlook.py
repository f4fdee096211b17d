"""The outlook of a delivery: everything beside its life line that decides what happens next."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cafleet import settings
from cafleet.broker import deliveries, fleets, handover, members
from cafleet.courier.liveness import is_running
from cafleet.errors import MultiplexerError
from cafleet.panes import pane_lock_path
from cafleet.records import (
    OWED,
    PANE_LOCKED,
    DeliveryState,
    DeliveryStatus,
    Forwarded,
    LifeLine,
    MemberRecord,
    MemberStatus,
    ScreenState,
)
from cafleet.store import Connection


class DeliveryOutlook(msgspec.Struct, frozen=True, kw_only=True):
    """``lacks_courier``: the notice is owed, and no courier runs that would type it.

    ``is_paused``: none will run until the fleet is resumed. ``is_gone``: the recipient's pane was gone
    at the last look. ``lock_file`` is the pane's lock if another process keeps the courier from
    typing. ``revival`` is the advice how to bring the recipient back. ``forwarded`` is the delivery that went
    on to the successor of a recipient that has left.
    """

    line: LifeLine
    fleet_id: int
    urgent: bool
    has_left: bool
    is_gone: bool
    lacks_courier: bool
    is_paused: bool
    lock_file: str | None
    revival: str
    forwarded: Forwarded | None = None


def outlooks(conn: Connection, *, lines: Sequence[LifeLine]) -> list[DeliveryOutlook]:
    """The outlooks of some deliveries of one fleet, ids ascending."""
    rows = deliveries.standing(conn, message_ids=[line.message_id for line in lines])
    unserved = any(line.state in OWED for line in lines) and not is_running(
        conn, database=settings.database_path(), fleet_id=rows[0].fleet_id
    )
    paused = unserved and fleets.get(conn, fleet_id=rows[0].fleet_id).paused_at is not None
    recipients = members.by_id(conn, member_ids=[line.to_member_id for line in lines])
    return [
        _outlook(
            line,
            row,
            recipients.get(line.to_member_id),
            unserved=unserved,
            paused=paused,
            forwarded=_forwarded(conn, row),
        )
        for line, row in zip(lines, rows, strict=True)
    ]


def _forwarded(conn: Connection, row: DeliveryStatus) -> Forwarded | None:
    if row.owner_status is MemberStatus.ACTIVE:
        return None
    return handover.find_forwarded(conn, message_id=row.message_id)


def _outlook(
    line: LifeLine,
    row: DeliveryStatus,
    recipient: MemberRecord | None,
    *,
    unserved: bool,
    paused: bool,
    forwarded: Forwarded | None,
) -> DeliveryOutlook:
    ended_gone = (line.reason or "").partition(":")[0] == ScreenState.GONE
    return DeliveryOutlook(
        line=line,
        fleet_id=row.fleet_id,
        urgent=bool(row.urgent),
        has_left=row.owner_status is not MemberStatus.ACTIVE,
        is_gone=ended_gone or bool(row.owner_gone),
        lacks_courier=unserved and line.state in OWED,
        is_paused=paused,
        forwarded=forwarded,
        lock_file=_lock_file(line, recipient),
        revival="" if recipient is None else members.revival(recipient),
    )


def _lock_file(line: LifeLine, recipient: MemberRecord | None) -> str | None:
    if line.state is not DeliveryState.HELD or line.reason != PANE_LOCKED:
        return None
    placement = None if recipient is None else recipient.placement
    if placement is None or placement.mux_pane_id is None:
        return None
    try:
        return pane_lock_path(placement.mux_socket, placement.mux_pane_id)
    except MultiplexerError:
        return None
