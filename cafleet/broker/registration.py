"""Members that join and leave: who may, and the rows that this writes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from cafleet import clock
from cafleet.broker import deliveries, fleets, launches, members, naming, placements
from cafleet.broker.cards import write_card
from cafleet.broker.handover import hand_over
from cafleet.broker.placements import PendingPlacement
from cafleet.errors import RefusedError
from cafleet.records import Launch, MemberKind, MemberRecord, MemberStatus
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction
from cafleet.store.failures import UniqueIndexError

ONE_MONITOR_INDEX = "idx_members_one_active_monitor_per_fleet"


def register(
    conn: Connection,
    *,
    fleet_id: int,
    name: str,
    description: str,
    monitor: bool,
    placement: PendingPlacement,
    now: datetime,
    allow_same_name: bool = False,
    launch: Callable[[int], Launch] | None = None,
) -> int:
    """Register a member whose pane is pending; its id. ``launch`` says for that id how it is started.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
        UsageError: the name cannot be seen whole.
        RefusedError: it is paused, its Director is not active, the monitor's place is taken, an
            ordinary member is to join a fleet that has no monitor, or the name is taken for another's.
    """
    try:
        with transaction(conn):
            members.active_director(conn, fleet_id=fleet_id)
            fleets.refuse_paused(conn, fleet_id=fleet_id)
            check_role(conn, fleet_id=fleet_id, monitor=monitor)
            naming.check(
                conn,
                fleet_id=fleet_id,
                name=name,
                monitor=monitor,
                allow_same=allow_same_name,
            )
            member_id = insert(
                conn,
                fleet_id=fleet_id,
                name=name,
                description=description,
                monitor=monitor,
                placement=placement,
                pane=None,
                now=now,
            )
            if launch is not None:
                launches.write(conn, launch(member_id))
            return member_id
    except UniqueIndexError as refused:
        if refused.index != ONE_MONITOR_INDEX:
            raise
        check_role(conn, fleet_id=fleet_id, monitor=True)
        raise


def check_role(conn: Connection, *, fleet_id: int, monitor: bool) -> None:
    """Refuse a second monitor, and an ordinary member before the first one.

    Raises:
        RefusedError: says who holds the place, or how to fill it.
        IntegrityError: a member's status is none that is known, so it may hold the place.
    """
    fleets.check_statuses(conn, fleet_id=fleet_id)
    holder = members.active_monitor_id(conn, fleet_id=fleet_id)
    if monitor and holder is not None:
        raise RefusedError(
            f"fleet {fleet_id} has an active monitor, member {holder}; delete it first with "
            f"`cafleet member delete {holder}`"
        )
    if not monitor and holder is None:
        raise RefusedError(
            f"fleet {fleet_id} has no active monitor; start one first with "
            f"`cafleet member create --fleet-id {fleet_id} --role monitor …`"
        )


def insert(
    conn: Connection,
    *,
    fleet_id: int,
    name: str,
    description: str,
    monitor: bool,
    placement: PendingPlacement | None,
    pane: str | None,
    now: datetime,
    member_id: int | None = None,
) -> int:
    """Insert a member and its placement, inside the caller's transaction; the member's id, which
    may have been reserved before."""
    card = write_card(name, description, monitor=monitor)
    if member_id is None:
        member_id = queries.insert_member(
            conn,
            fleet_id=fleet_id,
            name=name,
            description=description,
            now=clock.stamp(now),
            member_card_json=card,
        )
    else:
        queries.insert_member_as(
            conn,
            member_id=member_id,
            fleet_id=fleet_id,
            name=name,
            description=description,
            now=clock.stamp(now),
            member_card_json=card,
        )
    if placement is not None:
        placements.place(conn, member_id=member_id, placement=placement, pane=pane, now=now)
    return member_id


def deregister(
    conn: Connection, *, member_id: int, now: datetime, successor_id: int | None = None
) -> int | None:
    """Take a member off the active ones, with its placement. A successor gets its open deliveries.

    Returns how many those were, and ``None`` where the member has left already.

    Raises:
        RefusedError: it is the root Director of its fleet, or cannot hand over to this successor.
        UnknownIdError: the successor is not an active member.
    """
    handed = 0
    with transaction(conn):
        member = members.find(conn, member_id=member_id)
        if member is not None:
            refuse_director(member)
        if member is None or member.status is not MemberStatus.ACTIVE:
            return None
        if successor_id is not None:
            check_successor(conn, member_id=member_id, successor_id=successor_id)
            handed = hand_over(conn, member_id=member_id, successor_id=successor_id, now=now)
        deliveries.void(conn, member_ids=[member_id], now=now)
        queries.delete_placement(conn, member_id=member_id)
        queries.mark_member_deregistered(conn, member_id=member_id, now=clock.stamp(now))
    return handed


def check_successor(conn: Connection, *, member_id: int, successor_id: int) -> None:
    """Refuse a successor that is not another active member of the same fleet.

    Raises:
        UnknownIdError: it is not an active member.
        RefusedError: it is the member itself, or in another fleet.
    """
    if successor_id == member_id:
        raise RefusedError(f"member {member_id} cannot hand over to itself; name another member")
    members.check_together(conn, member_id=member_id, other_id=successor_id)


def refuse_director(member: MemberRecord) -> None:
    """Raise RefusedError if the member is the root Director: it leaves with its fleet only."""
    if member.kind is MemberKind.DIRECTOR:
        raise RefusedError(
            f"member {member.member_id} is the root Director of fleet {member.fleet_id}; delete the "
            f"fleet instead with `cafleet fleet delete {member.fleet_id}`"
        )
