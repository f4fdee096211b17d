"""The beginning and the end of a fleet, one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from cafleet import clock
from cafleet.broker import deliveries, fleets, launches, members, placements, registration
from cafleet.records import Launch, MemberRecord
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction


class NewFleet(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of a fleet that is being made."""

    fleet_id: int
    director_member_id: int
    monitor_member_id: int


class OpenedPane(msgspec.Struct, frozen=True, kw_only=True):
    """Where the spawn callback has opened the monitor's pane."""

    server_pid: int
    session: str
    window: str
    pane: str


def reserve(conn: Connection, *, now: datetime) -> NewFleet:
    """Mint the ids of a fleet that is about to be made. No other ever gets them, whatever becomes
    of this one: its monitor's pane is told them before the fleet is committed."""
    stamp = clock.stamp(now)
    with transaction(conn):
        fleet_id = queries.insert_fleet(conn, name="", now=stamp)
        director_id, monitor_id = (
            registration.insert(
                conn,
                fleet_id=fleet_id,
                name="",
                description="",
                monitor=False,
                placement=None,
                pane=None,
                now=now,
            )
            for _ in range(2)
        )
        # SQLite keeps the number that it gave out last (AUTOINCREMENT).
        queries.delete_fleet_members(conn, fleet_id=fleet_id)
        queries.delete_fleet(conn, fleet_id=fleet_id)
        for member_id in (director_id, monitor_id):
            queries.insert_reservation(
                conn,
                member_id=member_id,
                fleet_id=fleet_id,
                is_director=member_id == director_id,
                now=stamp,
            )
    return NewFleet(fleet_id=fleet_id, director_member_id=director_id, monitor_member_id=monitor_id)


def reserved_for_director(conn: Connection, *, fleet_id: int, member_id: int) -> bool | None:
    """Whether an id was reserved for a Director; ``None`` if it was not reserved, or if the member has
    been registered since."""
    row = queries.find_reservation(conn, fleet_id=fleet_id, member_id=member_id)
    return None if row is None else bool(row.is_director)


def create(
    conn: Connection,
    *,
    reserved: NewFleet,
    name: str,
    director: placements.PendingPlacement,
    director_pane: str,
    spawn_monitor: Callable[[], OpenedPane],
    started: Sequence[Launch],
    now: datetime,
) -> None:
    """Make a fleet under its ``reserved`` ids, with its Director, in the given pane, and its monitor,
    in a pane that ``spawn_monitor`` opens inside the transaction; what it raises undoes every row.
    ``started`` is how the two were started.

    Raises:
        RefusedError: a living fleet owns the Director's pane.
    """
    with transaction(conn):
        placements.refuse_owned_pane(conn, placement=director, pane=director_pane)
        fleet_id = reserved.fleet_id
        queries.insert_fleet_as(conn, fleet_id=fleet_id, name=name, now=clock.stamp(now))
        registration.insert(
            conn,
            member_id=reserved.director_member_id,
            fleet_id=fleet_id,
            name="Director",
            description="Root Director for this fleet",
            monitor=False,
            placement=director,
            pane=director_pane,
            now=now,
        )
        registration.insert(
            conn,
            member_id=reserved.monitor_member_id,
            fleet_id=fleet_id,
            name="monitor",
            description="Monitor member for this fleet",
            monitor=True,
            placement=None,
            pane=None,
            now=now,
        )
        queries.set_fleet_director(
            conn, fleet_id=fleet_id, director_member_id=reserved.director_member_id
        )
        queries.delete_reservations(conn, fleet_id=fleet_id)
        for launch in started:
            launches.write(conn, launch)
        opened = spawn_monitor()
        placements.place(
            conn,
            member_id=reserved.monitor_member_id,
            placement=msgspec.structs.replace(
                director, session=opened.session, window=opened.window
            ),
            pane=opened.pane,
            now=now,
        )


def delete(conn: Connection, *, fleet_id: int, now: datetime) -> tuple[int, list[MemberRecord]]:
    """Soft-delete a fleet; how many members that deregistered, and who they were.

    A second call deregisters none. Messages stay; panes are not touched.

    Raises:
        UnknownIdError: there is no such fleet.
    """
    with transaction(conn):
        fleets.get(conn, fleet_id=fleet_id)
        leaving = members.list_active(conn, fleet_id=fleet_id)
        deliveries.void(conn, member_ids=[member.member_id for member in leaving], now=now)
        queries.mark_fleet_deleted(conn, fleet_id=fleet_id, now=clock.stamp(now))
        count = queries.mark_fleet_members_deregistered(
            conn, fleet_id=fleet_id, now=clock.stamp(now)
        )
        queries.delete_fleet_placements(conn, fleet_id=fleet_id)
        queries.delete_monitor_runtime(conn, fleet_id=fleet_id)
    return count, leaving
