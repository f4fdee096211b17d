"""`fleet pause`: the courier stops, and the members' panes are closed when their agents rest."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from cafleet import clock, settings
from cafleet.broker import fleets, launches, members
from cafleet.courier.observing import (
    Observation,
    Target,
    by_server,
    is_at_rest,
    look_for_rest,
    target_of,
)
from cafleet.courier.process_lock import courier_lock_path, is_held
from cafleet.courier.session_notes import sessions_shown
from cafleet.courier.session_witness import SessionWitness
from cafleet.errors import MultiplexerError
from cafleet.operations.fleet_lock import fleet_lock
from cafleet.operations.leftovers import family_in, told_of
from cafleet.panes import Multiplexer, multiplexer, pane_lock
from cafleet.records import MemberKind, MemberRecord, ScreenState
from cafleet.screens import Process
from cafleet.store import Connection

CLOSED = "closed"
GONE = "already gone"
PENDING = "pending"
LEFT = "left running"
# A courier that types may take this long to end.
_COURIER_SECONDS = 10.0
_PAUSE_SECONDS = 1.0


class PausedMember(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a member's pane: ``outcome`` is one of the constants of this module."""

    member_id: int
    outcome: str
    reason: str | None


class PausedFleet(msgspec.Struct, frozen=True, kw_only=True):
    fleet_id: int
    paused_at: str
    members: list[PausedMember]
    warnings: Sequence[str] = ()

    @property
    def is_complete(self) -> bool:
        return all(each.outcome != LEFT for each in self.members)


def pause_fleet(conn: Connection, *, fleet_id: int, seconds: int, at_once: bool) -> PausedFleet:
    """Pause a fleet, and close the panes of all its members but the Director's.

    Each is closed when its agent rests; after ``seconds`` those that do not are left running. With
    ``at_once`` nobody waits. A fleet that is paused already is gone through again.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
        RefusedError: another command works on the fleet.
    """
    fleets.get_living(conn, fleet_id=fleet_id)
    with fleet_lock(fleet_id, f"fleet pause {fleet_id}"):
        paused = fleets.pause(conn, fleet_id=fleet_id, now=clock.utc_now())
        _await_courier(fleet_id)
        others = [
            member
            for member in members.list_active(conn, fleet_id=fleet_id)
            if member.kind is not MemberKind.DIRECTOR
        ]
        closing = _Closing(conn, others)
        ends = time.monotonic() + (0 if at_once else seconds)
        while closing.look(at_once=at_once) and time.monotonic() < ends:
            time.sleep(_PAUSE_SECONDS)
        return PausedFleet(
            fleet_id=fleet_id,
            paused_at=paused.paused_at or "",
            members=closing.outcomes(),
            warnings=told_of(conn, closing.families),
        )


def _await_courier(fleet_id: int) -> None:
    """Wait until the courier has ended. It looks four times a second whether its fleet is paused."""
    ends = time.monotonic() + _COURIER_SECONDS
    path = courier_lock_path(settings.database_path(), fleet_id)
    while is_held(path) and time.monotonic() < ends:
        time.sleep(0.05)


class _Closing:
    """The panes that are still to be closed, and what became of the others."""

    def __init__(self, conn: Connection, others: Sequence[MemberRecord]) -> None:
        self._conn = conn
        self._witness = SessionWitness()
        self._done: dict[int, PausedMember] = {}
        self._reasons: dict[int, str] = {}
        self._members = {member.member_id: member for member in others}
        self.families: dict[int, tuple[Process, ...]] = {}
        database_id = fleets.database_id(conn)
        found = {member.member_id: target_of(member, database_id) for member in others}
        self._left = [target for target in found.values() if target is not None]
        for member_id, target in found.items():
            if target is None:
                self._finish(member_id, PENDING, "it has no pane")

    def look(self, *, at_once: bool) -> bool:
        """Close what can be closed now. Returns whether any pane is left."""
        waiting = []
        for here in by_server(self._left):
            try:
                mux = multiplexer(here[0].backend, here[0].socket)
            except MultiplexerError as error:
                self._reasons |= {target.member_id: str(error) for target in here}
                waiting += here
                continue
            if not mux.is_listening():
                for target in here:
                    self._finish(target.member_id, GONE, "its server is gone")
                continue
            seen = look_for_rest(mux, here, witness=self._witness)
            waiting += [
                target
                for target in here
                if not self._close(mux, target, seen[target.pane], at_once=at_once)
            ]
        self._left = waiting
        return bool(waiting)

    def outcomes(self) -> list[PausedMember]:
        """What became of each member, ids ascending."""
        left = {
            target.member_id: PausedMember(
                member_id=target.member_id,
                outcome=LEFT,
                reason=self._reasons.get(target.member_id),
            )
            for target in self._left
        }
        return [each for _, each in sorted((self._done | left).items())]

    def _close(self, mux: Multiplexer, target: Target, seen: Observation, *, at_once: bool) -> bool:
        """Close a pane if that may be. Returns whether nothing is left to do with it."""
        if seen.look.state is ScreenState.GONE:
            self._finish(target.member_id, GONE, seen.look.cue)
            return True
        ended = seen.picture is not None and seen.picture.dead
        if seen.unreachable or not (at_once or ended or is_at_rest(seen)):
            self._reasons[target.member_id] = seen.reason
            return False
        try:
            with pane_lock(target.socket, target.pane):
                self._keep_session(target)
                self.families[target.member_id] = family_in(seen)
                mux.kill(target.pane, missing_ok=True)
        except MultiplexerError as error:
            self._reasons[target.member_id] = str(error)
            return False
        self._finish(target.member_id, CLOSED, None if is_at_rest(seen) else seen.reason)
        return True

    def _keep_session(self, target: Target) -> None:
        shown = sessions_shown(self._conn, [self._members[target.member_id]])
        for member_id, session_id in shown.items():
            launches.note_session(self._conn, member_id=member_id, session_id=session_id)

    def _finish(self, member_id: int, outcome: str, reason: str | None) -> None:
        self._done[member_id] = PausedMember(member_id=member_id, outcome=outcome, reason=reason)
