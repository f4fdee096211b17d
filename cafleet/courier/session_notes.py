"""Keep which session each agent shows, so that a restart can take it up after the agent was killed."""

from __future__ import annotations

import time
from collections.abc import Callable

from cafleet.broker import fleets, launches, members
from cafleet.courier.observing import by_server, look_at, target_of
from cafleet.courier.session_witness import find_session
from cafleet.panes import multiplexer
from cafleet.records import MemberRecord
from cafleet.store import Connection

# A session is swapped when a person clears it, which is rare.
_LOOK_SECONDS = 30.0


class SessionNotes:
    """Looks at all panes of one fleet from time to time, also at the Director's.

    opencode's processes do not tell their session. Its record is searched when a restart needs it.
    """

    def __init__(self, fleet_id: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._fleet_id = fleet_id
        self._clock = clock
        self._noted: dict[int, str] = {}
        self._next_at = 0.0

    def is_due(self) -> bool:
        return self._clock() >= self._next_at

    def look(self, conn: Connection) -> None:
        """Look at the panes and keep the sessions that have changed.

        Raises:
            MultiplexerError: a server cannot be reached.
            DatabaseError: the database failed.
        """
        self._next_at = self._clock() + _LOOK_SECONDS
        active, _ = members.list_readable(conn, fleet_id=self._fleet_id)
        for member_id, session_id in sessions_shown(conn, active).items():
            if self._noted.get(member_id) != session_id:
                launches.note_session(conn, member_id=member_id, session_id=session_id)
                self._noted[member_id] = session_id


def sessions_shown(conn: Connection, active: list[MemberRecord]) -> dict[int, str]:
    """By member id, the session that its agent's process shows now; absent where that is not known."""
    database_id = fleets.database_id(conn)
    targets = [target_of(member, database_id) for member in active]
    found: dict[int, str] = {}
    for here in by_server([target for target in targets if target is not None]):
        seen = look_at(multiplexer(here[0].backend, here[0].socket), here)
        for target in here:
            shown = find_session(target.agent, seen[target.pane].processes)
            if shown is not None:
                found[target.member_id] = shown.session.session_id
    return found
