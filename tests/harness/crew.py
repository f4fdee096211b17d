"""A fleet put together by hand around real panes, which takes a fraction of `fleet create`."""

from __future__ import annotations

from contextlib import closing

from cafleet.broker import fleets
from cafleet.panes import PaneTag, multiplexer
from cafleet.records import Backend
from cafleet.store.connection import connect
from tests.harness.fleet import Fleet, Seat, wait_until_resting
from tests.harness.journals import Recorders
from tests.harness.registry import Registry
from tests.harness.tmux import TmuxServer


class CrewMaker:
    """Makes fleets in one registry and one tmux server."""

    def __init__(self, registry: Registry, server: TmuxServer, recorders: Recorders) -> None:
        self.registry = registry
        self.server = server
        self.recorders = recorders
        with closing(connect(str(registry.path))) as conn:
            self._database_id = fleets.database_id(conn)

    def make(self, *names: str, monitor: bool = False) -> Fleet:
        """A fleet of members by these names, each with a recorder at rest in its pane.

        The Director's pane holds no agent. The monitor has a recorder if it is asked for, else it
        is pending.
        """
        director, watcher, *others = self.registry.crew(*names)
        fleet_id = self.registry.value("SELECT max(fleet_id) FROM fleets")
        pane = self.server.session(f"fleet-{fleet_id}", columns=240, rows=80)
        self._place(fleet_id, director, pane)
        if monitor:
            seat = self.seat(fleet_id, watcher, pane)
        else:
            self._place(fleet_id, watcher, None)
            seat = Seat(watcher, "", self.recorders.of(""))
        fleet = Fleet(
            fleet_id=fleet_id,
            director=Seat(director, pane, self.recorders.of(pane)),
            monitor=seat,
            members=tuple(self.seat(fleet_id, each, pane) for each in others),
        )
        for each in fleet.seats[1:]:
            if each.pane:
                wait_until_resting(self.server, each.pane)
        return fleet

    def seat(
        self, fleet_id: int, member_id: int, beside: str, *, program: str | None = None
    ) -> Seat:
        """A recorder in a pane of its own, or ``program``, and the placement of a member there."""
        program = program or str(self.recorders.programs / "claude")
        pane = self.server.split(beside, [program, "--", f"You are member {member_id}."])
        self.server.run("select-layout", "-t", beside, "tiled")
        self._place(fleet_id, member_id, pane)
        return Seat(member_id, pane, self.recorders.of(pane))

    def _place(self, fleet_id: int, member_id: int, pane: str | None) -> None:
        where = {"mux_socket": self.server.socket}
        if pane is not None:
            tag = PaneTag(database_id=self._database_id, fleet_id=fleet_id, member_id=member_id)
            multiplexer(Backend.TMUX, self.server.socket).set_tag(pane, tag)
            session, window = self.server.ask(pane, "#{session_name},#{window_id}").split(",")
            where |= {"mux_session": session, "mux_window_id": window}
        self.registry.place(member_id, pane, **where)
