"""Look up members: by id, the active ones of a fleet, its roster, their names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime

from cafleet import clock
from cafleet.broker import fleets
from cafleet.broker.cards import kind_of, read_skills
from cafleet.broker.ids import is_id
from cafleet.errors import DatabaseError, IntegrityError, RefusedError, UnknownIdError
from cafleet.records import MemberActivity, MemberKind, MemberRecord, MemberStatus, Placement
from cafleet.settings import TmuxPane
from cafleet.store import Connection, queries
from cafleet.store.rows import ActivityRow, MemberRow

# The most ids that one query binds.
NAMES_PER_QUERY = 500


def get(conn: Connection, *, member_id: int) -> MemberRecord:
    """An active member.

    Raises:
        UnknownIdError: there is none with this id.
    """
    member = find(conn, member_id=member_id)
    if member is None or member.status is not MemberStatus.ACTIVE:
        # Not needed by a command that finds its members, and commands start often.
        from cafleet.broker.handover import find_successor

        what = "is deregistered" if member else "does not exist"
        heir = None if member is None else find_successor(conn, member_id=member_id)
        if heir is not None:
            raise UnknownIdError(f"member {member_id} {what}; member {heir} has taken over from it")
        raise UnknownIdError(
            f"member {member_id} {what}; `cafleet member list <fleet-id>` shows who is active"
        )
    return member


def removal(member: MemberRecord) -> str:
    """The advice how to remove a member, as a part of a sentence.

    The root Director leaves with its fleet only.
    """
    if member.kind is MemberKind.DIRECTOR:
        return f"delete its fleet with `cafleet fleet delete {member.fleet_id} --kill-panes`"
    return f"delete the member with `cafleet member delete {member.member_id}`"


def revival(member: MemberRecord) -> str:
    """The advice how to bring back a member whose pane is gone, as a part of a sentence."""
    if member.kind is MemberKind.DIRECTOR:
        return f"bring it back with `cafleet fleet resume {member.fleet_id}`"
    return f"start it again with `cafleet member restart {member.member_id}`"


def check_together(conn: Connection, *, member_id: int, other_id: int) -> None:
    """Refuse two members that cannot exchange messages. Both have to be active and in one fleet.

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


def find(conn: Connection, *, member_id: int) -> MemberRecord | None:
    """A member of any status, or ``None``."""
    row = queries.get_member(conn, member_id=member_id) if is_id(member_id) else None
    return None if row is None else _record(row)


def by_id(conn: Connection, *, member_ids: Sequence[int]) -> dict[int, MemberRecord]:
    """The members asked for, of any status, by id; unknown ids are absent."""
    rows = queries.list_members_by_id(conn, member_ids=member_ids)
    return {row.member_id: _record(row) for row in rows}


def in_fleet(conn: Connection, *, member_id: int, fleet_id: int) -> bool:
    """Whether the member belongs, or once belonged, to the fleet."""
    member = find(conn, member_id=member_id)
    return member is not None and member.fleet_id == fleet_id


def in_pane(conn: Connection, *, pane: TmuxPane) -> int | None:
    """The active member in a pane of this very server, or ``None``.

    Later servers use pane ids and sockets again. Placements from before schema 13 know no server, so they do
    not count.

    Raises:
        IntegrityError: the status of a member that it may be is not known.
    """
    owners = [
        row.member_id
        for row in queries.list_pane_owners(conn, mux_pane_id=pane.pane)
        if row.mux_server_pid == pane.server_pid
        and row.mux_socket is not None
        and os.path.realpath(row.mux_socket) == os.path.realpath(pane.socket)
    ]
    return owners[0] if len(owners) == 1 else None


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
        rows = queries.list_member_names(conn, member_ids=asked)
        found.update((row.member_id, row.name) for row in rows)
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
        mux_server_pid=row.mux_server_pid,
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
        unacked=row.unacked,
        unsure=row.unsure,
        worktree=row.worktree,
        branch=row.branch,
        base_commit=row.base_commit,
    )


def _idle(stamps: Sequence[str | None], now: datetime) -> int | None:
    """Seconds since the greatest stamp, compared as text. Never falls back to an older stamp."""
    latest = max((stamp for stamp in stamps if stamp is not None), default=None)
    seconds = None if latest is None else clock.seconds_since(latest, now)
    return None if seconds is None else max(seconds, 0)
