"""Members: registered, placed, listed, deregistered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from cafleet import clock
from cafleet.broker import deliveries, fleets
from cafleet.broker.cards import kind_of, read_skills, write_card
from cafleet.broker.ids import is_id
from cafleet.errors import DatabaseError, IntegrityError, RefusedError, UnknownIdError
from cafleet.records import (
    Backend,
    CodingAgent,
    MemberActivity,
    MemberKind,
    MemberRecord,
    MemberStatus,
    Placement,
    ScreenState,
)
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction
from cafleet.store.failures import UniqueIndexError
from cafleet.store.rows import ActivityRow, MemberRow

ONE_MONITOR_INDEX = "idx_members_one_active_monitor_per_fleet"
# One query binds at most so many ids, whatever SQLite's own limit is.
NAMES_PER_QUERY = 500


class PendingPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """Where a member will live once its pane is open."""

    backend: Backend
    socket: str | None
    session: str
    window: str
    coding_agent: CodingAgent


def get(conn: Connection, *, member_id: int) -> MemberRecord:
    """An active member.

    Raises:
        UnknownIdError: there is none with this id.
    """
    member = find(conn, member_id=member_id)
    if member is None or member.status is not MemberStatus.ACTIVE:
        what = "is deregistered" if member else "does not exist"
        raise UnknownIdError(
            f"member {member_id} {what}; `cafleet member list <fleet-id>` shows who is active"
        )
    return member


def get_together(
    conn: Connection, *, member_id: int, other_id: int
) -> tuple[MemberRecord, MemberRecord]:
    """Two active members of one fleet, between whom messages can pass.

    Raises:
        UnknownIdError: one of them is not an active member.
        RefusedError: they are in different fleets.
    """
    member, other = get(conn, member_id=member_id), get(conn, member_id=other_id)
    if member.fleet_id != other.fleet_id:
        raise RefusedError(
            f"member {member_id} is in fleet {member.fleet_id} and member {other_id} in fleet "
            f"{other.fleet_id}; messages stay within a fleet"
        )
    return member, other


def find(conn: Connection, *, member_id: int) -> MemberRecord | None:
    """A member of any status, or ``None``."""
    row = queries.get_member(conn, member_id=member_id) if is_id(member_id) else None
    return None if row is None else _record(row)


def in_fleet(conn: Connection, *, member_id: int, fleet_id: int) -> bool:
    """Whether the member belongs, or once belonged, to the fleet."""
    member = find(conn, member_id=member_id)
    return member is not None and member.fleet_id == fleet_id


def list_active(conn: Connection, *, fleet_id: int) -> list[MemberRecord]:
    """The active members of a fleet, ids ascending."""
    return [_record(row) for row in queries.list_active_members(conn, fleet_id=fleet_id)]


def list_readable(conn: Connection, *, fleet_id: int) -> tuple[list[MemberRecord], list[str]]:
    """The active members of a fleet that can be read, and what is wrong with each of the others."""
    found, damage = [], []
    for row in queries.list_active_member_ids(conn, fleet_id=fleet_id):
        try:
            member = find(conn, member_id=row.member_id)
        except IntegrityError as error:
            damage.append(error.message)
        else:
            if member is not None:
                found.append(member)
    return found, damage


def roster(conn: Connection, *, fleet_id: int) -> list[MemberRecord]:
    """The active members, and those deregistered ones that own a message, ids ascending."""
    return [_record(row) for row in queries.list_roster(conn, fleet_id=fleet_id)]


def list_activity(conn: Connection, *, fleet_id: int, now: datetime) -> list[MemberActivity]:
    """The active members of a fleet with their signs of life, ids ascending.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
    """
    fleets.get_living(conn, fleet_id=fleet_id)
    return [_activity(row, now) for row in queries.list_activity(conn, fleet_id=fleet_id)]


def names(conn: Connection, *, member_ids: Iterable[int]) -> dict[int, str]:
    """The names of the members asked for, whatever their status, ids ascending; unknown ids are absent."""
    wanted = sorted({member_id for member_id in member_ids if is_id(member_id)})
    found: dict[int, str] = {}
    for start in range(0, len(wanted), NAMES_PER_QUERY):
        asked = wanted[start : start + NAMES_PER_QUERY]
        for row in queries.list_member_names(conn, member_ids=asked):
            found[row.member_id] = row.name
    return found


def active_monitor_id(conn: Connection, *, fleet_id: int) -> int | None:
    """The active monitor of a fleet, or ``None``."""
    return queries.get_active_monitor_id(conn, fleet_id=fleet_id)


def active_director(conn: Connection, *, fleet_id: int) -> MemberRecord:
    """The Director of a living fleet.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
        DatabaseError: the fleet has no Director, which only a damaged database can hold.
        RefusedError: the Director is not active.
    """
    fleet = fleets.get_living(conn, fleet_id=fleet_id)
    director = None
    if fleet.director_member_id is not None:
        director = find(conn, member_id=fleet.director_member_id)
    if director is None:
        raise DatabaseError(
            f"fleet {fleet_id} is corrupt, it has no Director; delete it with "
            f"`cafleet fleet delete {fleet_id}`"
        )
    if director.status is not MemberStatus.ACTIVE:
        raise RefusedError(
            f"the Director of fleet {fleet_id}, member {director.member_id}, is not active; delete the "
            f"fleet with `cafleet fleet delete {fleet_id}` and create another"
        )
    return director


def register(
    conn: Connection,
    *,
    fleet_id: int,
    name: str,
    description: str,
    monitor: bool,
    placement: PendingPlacement,
    now: datetime,
) -> int:
    """Register a member whose pane is pending; its id.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
        RefusedError: its Director is not active, the monitor's place is taken, or an ordinary
            member is to join a fleet that has no monitor.
    """
    try:
        with transaction(conn):
            active_director(conn, fleet_id=fleet_id)
            check_role(conn, fleet_id=fleet_id, monitor=monitor)
            return insert(
                conn,
                fleet_id=fleet_id,
                name=name,
                description=description,
                monitor=monitor,
                placement=placement,
                pane=None,
                now=now,
            )
    except UniqueIndexError as refused:
        if refused.index != ONE_MONITOR_INDEX:
            raise
        check_role(conn, fleet_id=fleet_id, monitor=True)
        raise


def check_role(conn: Connection, *, fleet_id: int, monitor: bool) -> None:
    """Refuse a second monitor, and an ordinary member before the first one.

    Raises:
        RefusedError: says who holds the place, or how to fill it.
    """
    holder = active_monitor_id(conn, fleet_id=fleet_id)
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
) -> int:
    """Insert a member and its placement, inside the caller's transaction; the member's id."""
    member_id = queries.insert_member(
        conn,
        fleet_id=fleet_id,
        name=name,
        description=description,
        now=clock.stamp(now),
        member_card_json=write_card(name, description, monitor=monitor),
    )
    if placement is not None:
        place(conn, member_id=member_id, placement=placement, pane=pane, now=now)
    return member_id


def place(
    conn: Connection,
    *,
    member_id: int,
    placement: PendingPlacement,
    pane: str | None,
    now: datetime,
) -> None:
    """Insert a member's placement, inside the caller's transaction."""
    queries.insert_placement(
        conn,
        member_id=member_id,
        backend=placement.backend,
        mux_socket=placement.socket,
        mux_session=placement.session,
        mux_window_id=placement.window,
        mux_pane_id=pane,
        coding_agent=placement.coding_agent,
        now=clock.stamp(now),
    )


def set_pane(conn: Connection, *, member_id: int, session: str, window: str, pane: str) -> None:
    """Record the pane of a pending placement.

    Raises:
        RefusedError: the placement has vanished meanwhile, for instance with its fleet.
    """
    with transaction(conn):
        placed = queries.set_placement_pane(
            conn, member_id=member_id, mux_session=session, mux_window_id=window, mux_pane_id=pane
        )
    if not placed:
        raise RefusedError(
            f"member {member_id} was deregistered while its pane opened; nothing is left of it"
        )


def refuse_owned_pane(conn: Connection, *, placement: PendingPlacement, pane: str) -> None:
    """Raise RefusedError if a placement from before schema 9 names the untagged pane.

    Such a placement knows no server: it owns the pane if session and window match. Later ones are
    known by the pane's tag alone; their pane id may be another pane's on a server that was restarted.
    """
    for owner in queries.list_pane_owners(conn, mux_pane_id=pane):
        there = (owner.mux_session, owner.mux_window_id) == (placement.session, placement.window)
        if owner.mux_socket is None and there:
            raise RefusedError(
                f"this pane is that of member {owner.member_id} of fleet {owner.fleet_id}; use another "
                f"pane, or delete that fleet first with `cafleet fleet delete {owner.fleet_id}`"
            )


def record_looks(
    conn: Connection,
    *,
    looks: Mapping[int, ScreenState],
    moves: Mapping[int, tuple[str, str, str]],
    now: datetime,
) -> None:
    """Keep what the last look at some members' panes has found.

    ``moves`` holds the pane, session and window of those that were moved; a placement that names
    another pane by now is left alone.
    """
    if not looks and not moves:
        return
    with transaction(conn):
        for member_id, screen in looks.items():
            queries.set_placement_look(
                conn, member_id=member_id, screen=screen, now=clock.stamp(now)
            )
        for member_id, (pane, session, window) in moves.items():
            queries.set_placement_window(
                conn,
                member_id=member_id,
                mux_pane_id=pane,
                mux_session=session,
                mux_window_id=window,
            )


def deregister(conn: Connection, *, member_id: int, now: datetime) -> bool:
    """Take a member off the active ones, with its placement; whether that changed anything.

    Raises:
        RefusedError: it is the root Director of its fleet.
    """
    with transaction(conn):
        member = find(conn, member_id=member_id)
        if member is not None:
            refuse_director(member)
        if member is None or member.status is not MemberStatus.ACTIVE:
            return False
        deliveries.void(conn, member_ids=[member_id], now=now)
        queries.delete_placement(conn, member_id=member_id)
        return bool(
            queries.mark_member_deregistered(conn, member_id=member_id, now=clock.stamp(now))
        )


def refuse_director(member: MemberRecord) -> None:
    """Raise RefusedError if the member is the root Director: it leaves with its fleet only."""
    if member.kind is MemberKind.DIRECTOR:
        raise RefusedError(
            f"member {member.member_id} is the root Director of fleet {member.fleet_id}; delete the "
            f"fleet instead with `cafleet fleet delete {member.fleet_id}`"
        )


def _record(row: MemberRow) -> MemberRecord:
    return MemberRecord(
        member_id=row.member_id,
        fleet_id=row.fleet_id,
        name=row.name,
        description=row.description,
        status=row.status,
        registered_at=row.registered_at,
        kind=kind_of(row.member_card_json, row.member_id, row.director_member_id),
        skills=read_skills(row.member_card_json),
        placement=_placement(row),
    )


def _placement(row: MemberRow | ActivityRow) -> Placement | None:
    if (
        row.backend is None
        or row.coding_agent is None
        or row.mux_session is None
        or row.mux_window_id is None
        or row.placed_at is None
    ):
        return None
    return Placement(
        backend=row.backend,
        mux_socket=row.mux_socket,
        mux_session=row.mux_session,
        mux_window_id=row.mux_window_id,
        mux_pane_id=row.mux_pane_id,
        coding_agent=row.coding_agent,
        created_at=row.placed_at,
    )


def _activity(row: ActivityRow, now: datetime) -> MemberActivity:
    return MemberActivity(
        member_id=row.member_id,
        name=row.name,
        kind=kind_of(row.member_card_json, row.member_id, row.director_member_id),
        placement=_placement(row),
        last_sent=row.last_sent,
        last_recv=row.last_recv,
        last_ack=row.last_ack,
        idle=_idle([row.last_sent, row.last_recv, row.last_ack], now),
        screen=row.screen,
        screen_at=row.screen_at,
        owed=row.owed,
    )


def _idle(stamps: Sequence[str | None], now: datetime) -> int | None:
    """Seconds since the greatest stamp as text; it never falls back to an older one."""
    latest = max((stamp for stamp in stamps if stamp is not None), default=None)
    seconds = None if latest is None else clock.seconds_since(latest, now)
    return None if seconds is None else max(seconds, 0)
