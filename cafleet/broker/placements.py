"""The placements of members: their panes, pending at first, and the last look at each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from cafleet import clock
from cafleet.broker import launches
from cafleet.errors import RefusedError
from cafleet.records import Backend, CodingAgent, Launch, MemberStatus, ScreenState
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction


class PendingPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """Where a member will live once its pane is open; ``server_pid`` is null until then."""

    backend: Backend
    socket: str | None
    server_pid: int | None
    session: str
    window: str
    coding_agent: CodingAgent


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
        mux_server_pid=placement.server_pid,
        mux_session=placement.session,
        mux_window_id=placement.window,
        mux_pane_id=pane,
        coding_agent=placement.coding_agent,
        now=clock.stamp(now),
    )


def set_pane(
    conn: Connection, *, member_id: int, server_pid: int, session: str, window: str, pane: str
) -> None:
    """Record the pane of a pending placement, and the process id of the server that holds it.

    Raises:
        RefusedError: the placement is gone, for instance because its fleet was deleted.
    """
    with transaction(conn):
        placed = queries.set_placement_pane(
            conn,
            member_id=member_id,
            mux_server_pid=server_pid,
            mux_session=session,
            mux_window_id=window,
            mux_pane_id=pane,
        )
    if not placed:
        raise RefusedError(
            f"member {member_id} was deregistered while its pane opened; nothing is left of it"
        )


def start_again(
    conn: Connection,
    *,
    member_id: int,
    placement: PendingPlacement,
    launch: Launch,
    now: datetime,
) -> None:
    """Make the placement of an active member pending and keep how it is started now.

    Raises:
        RefusedError: the member has left, or another process has started it again meanwhile.
    """
    with transaction(conn):
        member = queries.get_member(conn, member_id=member_id)
        before = queries.find_launch(conn, member_id=member_id)
        number = 1 if before is None else before.launch_number
        if (
            member is None
            or member.status is not MemberStatus.ACTIVE
            or launch.launch_number <= number
        ):
            raise RefusedError(
                f"member {member_id} has left or was started again meanwhile; look with "
                f"`cafleet member list {'' if member is None else member.fleet_id}`"
            )
        queries.delete_placement(conn, member_id=member_id)
        place(conn, member_id=member_id, placement=placement, pane=None, now=now)
        launches.write(conn, launch)


def refuse_owned_pane(conn: Connection, *, placement: PendingPlacement, pane: str) -> None:
    """Raise RefusedError if a placement from before schema 9 names the untagged pane.

    Such a placement knows no server. It owns the pane if session and window match. Later placements are known
    by the pane's tag alone, since a restarted server gives their pane id to another pane.
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
) -> dict[int, str]:
    """Record the last look at some members' panes. Returns by member id since when looks have found the same.

    ``moves`` holds pane, session and window of the panes that were moved. A placement that names another pane
    by now stays as it is.
    """
    since: dict[int, str] = {}
    if not looks and not moves:
        return since
    with transaction(conn):
        for member_id, screen in looks.items():
            at = queries.set_placement_look(
                conn, member_id=member_id, screen=screen, now=clock.stamp(now)
            )
            if at is not None:
                since[member_id] = at
        for member_id, (pane, session, window) in moves.items():
            queries.set_placement_window(
                conn,
                member_id=member_id,
                mux_pane_id=pane,
                mux_session=session,
                mux_window_id=window,
            )
    return since
