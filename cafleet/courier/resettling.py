"""Move panes that have become too small, for instance because a small terminal attached."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from cafleet.broker import fleets, members
from cafleet.courier.observing import Target, by_server, target_of
from cafleet.panes import Multiplexer, multiplexer
from cafleet.records import MemberKind
from cafleet.store import Connection

# How long a person may use a small terminal before anything is moved.
SMALL_SECONDS = 30.0
# How often the sizes are checked while anything waits for a pane.
_LOOK_SECONDS = 5.0


class Resettler:
    """Moves the members' panes of one fleet, never the Director's or a person's."""

    def __init__(self, fleet_id: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._fleet_id = fleet_id
        self._clock = clock
        self._small_since: dict[tuple[str, str], float] = {}
        self._next_at = 0.0

    def is_due(self) -> bool:
        return self._clock() >= self._next_at

    def look(self, conn: Connection) -> None:
        """Look at the sizes of the members' panes. Move those that have been too small for long.

        Raises:
            MultiplexerError: a server cannot be reached, or refuses to move a pane.
            DatabaseError: the database failed.
        """
        # A server that does not answer is not asked again soon.
        self._next_at = self._clock() + SMALL_SECONDS
        before, self._small_since = self._small_since, {}
        database_id = fleets.database_id(conn)
        active, _ = members.list_readable(conn, fleet_id=self._fleet_id)
        others = [each for each in active if each.kind is not MemberKind.DIRECTOR]
        targets = [target_of(each, database_id) for each in others]
        for here in by_server([target for target in targets if target is not None]):
            self._look_at(multiplexer(here[0].backend, here[0].socket), here, before)
        self._next_at = self._clock() + _LOOK_SECONDS

    def _look_at(
        self, mux: Multiplexer, targets: list[Target], before: Mapping[tuple[str, str], float]
    ) -> None:
        tags = {target.pane: target.tag for target in targets}
        spots = mux.survey()
        ours = {
            spot.pane for spot in spots if spot.pane in tags and spot.tag == tags[spot.pane].text()
        }
        now = self._clock()
        long = []
        for spot in spots:
            if spot.pane in ours and spot.is_small:
                place = (mux.socket, spot.pane)
                since = self._small_since[place] = before.get(place, now)
                if now - since >= SMALL_SECONDS:
                    long.append(spot.pane)
        if long:
            tag = tags[long[0]]
            mux.resettle(ours, long, fleet=tag.fleet(), name=f"cafleet-{tag.fleet_id}")
