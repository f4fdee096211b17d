"""Wake the monitor: type one line about all members when the monitor rests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from cafleet import clock
from cafleet.broker import fleets, members, messages, monitor, placements, typings
from cafleet.courier.ledger import Ledger
from cafleet.courier.observing import (
    Observation,
    Target,
    Witness,
    by_server,
    is_at_rest,
    look_at,
    look_for_rest,
    target_of,
)
from cafleet.courier.payloads import Watched, wake_line
from cafleet.courier.reports import Reports
from cafleet.courier.session_witness import SessionWitness
from cafleet.courier.shutdown import Shutdown
from cafleet.courier.submission import Draft, Fate
from cafleet.panes import multiplexer, pane_lock
from cafleet.records import (
    PANE_LOCKED,
    TEXT_UNSHOWN,
    MemberKind,
    MemberRecord,
    ScreenState,
    TypingKind,
)
from cafleet.store import Connection


class Waker:
    """Wakes one fleet's monitor."""

    def __init__(
        self,
        *,
        fleet_id: int,
        reports: Reports,
        now: Callable[[], datetime] = clock.utc_now,
        halt: Shutdown | None = None,
        witness: Witness | None = None,
    ) -> None:
        self._fleet_id = fleet_id
        self._reports = reports
        self._now = now
        self._halt = halt or Shutdown()
        self._witness = witness or SessionWitness()

    def wake(self, conn: Connection) -> tuple[int, int] | None:
        """Wake the active monitor if it rests. Returns its id and the number of members in the wake.

        Returns ``None`` if no wake was seen to land. An unproven wake is recorded as an attempt, and so is
        the reason why one waits. A wake that was left half typed is settled first; then no other is typed
        this time.

        Raises:
            MultiplexerError: the monitor's pane could not be locked.
            DatabaseError: the database failed.
            ShutdownError: the courier ends.
        """
        active, damage = members.list_readable(conn, fleet_id=self._fleet_id)
        for text in damage:
            self._reports.trouble(text, text)
        monitor_id = members.active_monitor_id(conn, fleet_id=self._fleet_id)
        watcher = next((each for each in active if each.member_id == monitor_id), None)
        database_id = fleets.database_id(conn)
        target = None if watcher is None else target_of(watcher, database_id)
        if target is None:
            self._wait(conn, "there is no monitor with a pane")
            return None
        if not any(map(_is_watched, active)):
            self._wait(conn, "there are no members to check")
            return None
        mux = multiplexer(target.backend, target.socket)
        with pane_lock(target.socket, target.pane):
            ledger = Ledger(conn, mux, now=self._now)
            standing = ledger.settle([target], sleep=self._halt.rest)
            if target.pane in standing.held_back:
                self._wait(conn, TEXT_UNSHOWN)
            if target.pane in standing.held_back | standing.pursued:
                return None
            seen = look_for_rest(mux, [target], sleep=self._halt.rest, witness=self._witness)
            observation = seen[target.pane]
            if not is_at_rest(observation):
                self._skip(conn, target, observation)
                return None
            self._reports.mended("monitor")
            watched, director = self._watch(conn, active, database_id)
            intent = typings.Intent(
                member_id=target.member_id,
                kind=TypingKind.WAKE,
                pane=target.pane,
                program=observation.program,
                picture=observation.digest,
                text=wake_line(self._fleet_id, watched, director),
            )
            with self._halt.typing():
                if not self._type(conn, ledger, target, intent, observation):
                    return None
        return target.member_id, len(watched)

    def _type(
        self,
        conn: Connection,
        ledger: Ledger,
        target: Target,
        intent: typings.Intent,
        observation: Observation,
    ) -> bool:
        """Type a wake. Returns whether it landed."""
        typing = typings.begin(conn, intent, now=self._now())
        if typing is None:
            self._wait(conn, PANE_LOCKED)
            return False
        draft = Draft(target=target, typing=typing, processes=observation.processes)
        [outcomes] = ledger.type([draft])
        outcome = outcomes[target.pane]
        if outcome.fate is Fate.SUBMITTED:
            self._reports.mended("wake")
            return True
        if outcome.fate is Fate.REFUSED:
            self._wait(conn, outcome.evidence)
        self._reports.trouble(
            "wake", f"the wake of monitor {target.member_id} did not land: {outcome.evidence}"
        )
        return False

    def _wait(self, conn: Connection, reason: str) -> None:
        monitor.note_wake_waits(conn, fleet_id=self._fleet_id, reason=reason)

    def _skip(self, conn: Connection, target: Target, observation: Observation) -> None:
        """Record the look for the roster. Report a monitor that no wake can reach."""
        state = observation.look.state
        self._remember(conn, target, state)
        self._wait(conn, observation.reason)
        if state in {ScreenState.GONE, ScreenState.SHELL}:
            self._reports.trouble(
                "monitor",
                f"monitor {target.member_id} cannot be woken, it is {observation.reason}; delete it and "
                f"create another with `cafleet member create --role monitor`",
            )

    def _remember(self, conn: Connection, target: Target, screen: ScreenState) -> None:
        looks = {target.member_id: screen}
        placements.record_looks(conn, looks=looks, moves={}, now=self._now())

    def _watch(
        self, conn: Connection, active: Sequence[MemberRecord], database_id: str
    ) -> tuple[list[Watched], Watched | None]:
        """The ordinary members with a placement and the Director, from one picture of all their panes."""
        seen, since = self._look(conn, active, database_id)
        shown = {
            member.member_id: self._watched(
                conn, member, seen.get(member.member_id), since.get(member.member_id)
            )
            for member in active
        }
        ordinary = [shown[member.member_id] for member in active if _is_watched(member)]
        director = next((each for each in active if each.kind is MemberKind.DIRECTOR), None)
        if director is None:
            self._reports.trouble(
                "Director", f"fleet {self._fleet_id} has no active Director that can be read"
            )
            return ordinary, None
        self._reports.mended("Director")
        return ordinary, shown[director.member_id]

    def _look(
        self, conn: Connection, active: Sequence[MemberRecord], database_id: str
    ) -> tuple[dict[int, Observation], dict[int, str]]:
        """By member id, what the pane shows and since when."""
        targets = [target_of(member, database_id) for member in active]
        seen: dict[int, Observation] = {}
        for here in by_server([target for target in targets if target is not None]):
            observations = look_at(multiplexer(here[0].backend, here[0].socket), here)
            seen |= {target.member_id: observations[target.pane] for target in here}
        looks = {member_id: observation.look.state for member_id, observation in seen.items()}
        return seen, placements.record_looks(conn, looks=looks, moves={}, now=self._now())

    def _watched(
        self,
        conn: Connection,
        member: MemberRecord,
        observation: Observation | None,
        since: str | None,
    ) -> Watched:
        seconds = None if since is None else clock.seconds_since(since, self._now())
        return Watched(
            member_id=member.member_id,
            name=member.name,
            agent=None if member.placement is None else member.placement.coding_agent,
            unacked=messages.count_pending(conn, member_id=member.member_id),
            screen=None if observation is None else observation.look.state,
            seconds=max(0, seconds or 0),
        )


def _is_watched(member: MemberRecord) -> bool:
    """Whether the monitor checks the member: an ordinary member with a placement."""
    return member.kind is MemberKind.MEMBER and member.placement is not None
