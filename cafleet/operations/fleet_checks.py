"""The part of `doctor` on living fleets: couriers that should run, panes that nobody owns."""

from __future__ import annotations

from contextlib import suppress

from cafleet.broker import fleets, members, monitor
from cafleet.courier.liveness import is_running
from cafleet.courier.observing import by_server, look_at, target_of
from cafleet.courier.starting import is_server_listening
from cafleet.errors import CafleetError, IntegrityError
from cafleet.operations.findings import Courier, CourierState, OrphanPane
from cafleet.operations.orphans import orphans_on
from cafleet.panes import CallerPane, Multiplexer, multiplexer
from cafleet.records import Backend, ScreenState
from cafleet.store import Connection


class FleetFindings:
    """``errors`` and ``warnings`` are sentences."""

    def __init__(self) -> None:
        self.couriers: list[Courier] = []
        self.orphans: list[OrphanPane] = []
        self.errors: list[str] = []
        self.warnings: list[str] = []


def check_fleets(conn: Connection, database: str, caller: CallerPane | None) -> FleetFindings:
    """Examine all living fleets and the panes of all known servers.

    Raises:
        DatabaseError: the fleets or the members cannot be read.
    """
    found = FleetFindings()
    ids = fleets.living_ids(conn)
    for fleet_id in ids:
        found.errors += members.list_readable(conn, fleet_id=fleet_id)[1]
        try:
            state = _courier(conn, database, fleet_id)
        except IntegrityError as error:
            found.errors.append(str(error))
            continue
        found.couriers.append(Courier(fleet_id=fleet_id, state=state))
        if state is CourierState.MISSING:
            found.errors.append(
                f"no courier runs for fleet {fleet_id}; start it with "
                f"`cafleet monitor run {fleet_id} --detach`"
            )
        elif state is CourierState.UNREACHABLE:
            found.warnings.append(
                f"the multiplexer server of fleet {fleet_id} cannot be reached, so it has no courier; "
                f"bring the fleet back with `cafleet fleet resume {fleet_id}`, or end it with "
                f"`cafleet fleet delete {fleet_id}`"
            )
        elif state is not CourierState.PAUSED:
            found.warnings += _gone_panes(conn, fleet_id)
    for server in known_servers(conn, caller):
        for orphan in orphans_on(conn, server):
            found.orphans.append(orphan)
            found.warnings.append(
                f"{_told(conn, orphan)}; close it with `cafleet doctor --mend '{orphan.pane_id}'` "
                f"(server: {orphan.socket})"
            )
    return found


def _gone_panes(conn: Connection, fleet_id: int) -> list[str]:
    """A sentence about the members whose panes are gone, if there are any."""
    database_id = fleets.database_id(conn)
    active, _ = members.list_readable(conn, fleet_id=fleet_id)
    gone: list[int] = []
    targets = [target_of(member, database_id) for member in active]
    for here in by_server([target for target in targets if target is not None]):
        with suppress(CafleetError):
            seen = look_at(multiplexer(here[0].backend, here[0].socket), here)
            gone += [
                target.member_id
                for target in here
                if seen[target.pane].look.state is ScreenState.GONE
            ]
    if not gone:
        return []
    who = f"member {gone[0]}" if len(gone) == 1 else f"members {', '.join(map(str, gone))}"
    pane = "pane" if len(gone) == 1 else "panes"
    verb = "is" if len(gone) == 1 else "are"
    told = f"the {pane} of {who} of fleet {fleet_id} {verb} gone"
    return [f"{told}; bring back who is gone with `cafleet fleet resume {fleet_id}`"]


def _told(conn: Connection, orphan: OrphanPane) -> str:
    """Whose the pane was. That `fleet delete` has left it was somebody's wish, and is no fault."""
    whose = f"member {orphan.member_id} of fleet {orphan.fleet_id}"
    with suppress(CafleetError):
        if fleets.get(conn, fleet_id=orphan.fleet_id).deleted_at is not None:
            return (
                f"pane {orphan.pane_id} was left open for you when its fleet was deleted ({whose})"
            )
    return f"pane {orphan.pane_id} is tagged for {whose}, which is not active or has another pane"


def _courier(conn: Connection, database: str, fleet_id: int) -> CourierState:
    if is_running(conn, database=database, fleet_id=fleet_id):
        return CourierState.RUNNING
    if fleets.get(conn, fleet_id=fleet_id).paused_at is not None:
        return CourierState.PAUSED
    row = monitor.runtime(conn, fleet_id=fleet_id)
    if row is not None and row.stopped_at is not None:
        return CourierState.STOPPED
    if is_server_listening(conn, fleet_id=fleet_id):
        return CourierState.MISSING
    return CourierState.UNREACHABLE


def known_servers(conn: Connection, caller: CallerPane | None) -> list[Multiplexer]:
    """The caller's server, or tmux's default one, and those of the fleets' Directors."""
    places: list[tuple[Backend, str | None]] = [
        (Backend.TMUX, None) if caller is None else (caller.backend, caller.socket)
    ]
    for fleet_id in fleets.living_ids(conn):
        try:
            placement = members.active_director(conn, fleet_id=fleet_id).placement
        except CafleetError:
            continue
        if placement is not None:
            places.append((placement.backend, placement.mux_socket))
    servers = {}
    for backend, socket in places:
        try:
            server = multiplexer(backend, socket)
        except CafleetError:
            continue
        servers[server.socket] = server
    return list(servers.values())
