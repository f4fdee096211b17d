"""Waking the monitor: one line about every member, typed when the monitor rests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from cafleet import clock
from cafleet.broker import fleets, members, messages, monitor, placements
from cafleet.courier.halting import Halt
from cafleet.courier.looking import (
    Sight,
    Target,
    by_server,
    is_at_rest,
    look_at,
    look_for_rest,
    target_of,
)
from cafleet.courier.payloads import Watched, wake_line
from cafleet.courier.reports import Reports
from cafleet.courier.submission import Draft, Fate, type_and_submit
from cafleet.panes import multiplexer, pane_lock
from cafleet.records import MemberKind, MemberRecord, ScreenState
from cafleet.store import Connection


class Waker:
    """Wakes one fleet's monitor."""

    def __init__(
        self,
        *,
        fleet_id: int,
        reports: Reports,
        now: Callable[[], datetime] = clock.utc_now,
        halt: Halt | None = None,
    ) -> None:
        self._fleet_id = fleet_id
        self._reports = reports
        self._now = now
        self._halt = halt or Halt()
        self._unrecorded: datetime | None = None

    def wake(self, conn: Connection) -> tuple[int, int] | None:
        """Wake the active monitor if it rests: its id, and of how many members it was told.

        ``None`` if no wake went out. A wake is on record only once it was seen to be submitted.

        Raises:
            MultiplexerError: the monitor's pane could not be locked.
            DatabaseError: the database failed.
            HaltedError: the loop ends.
        """
        self._record(conn)
        active, damage = members.list_readable(conn, fleet_id=self._fleet_id)
        for text in damage:
            self._reports.trouble(text, text)
        monitor_id = members.active_monitor_id(conn, fleet_id=self._fleet_id)
        watcher = next((each for each in active if each.member_id == monitor_id), None)
        database_id = fleets.database_id(conn)
        target = None if watcher is None else target_of(watcher, database_id)
        if target is None:
            return None
        mux = multiplexer(target.backend, target.socket)
        with pane_lock(target.socket, target.pane):
            sight = look_for_rest(mux, [target], sleep=self._halt.rest)[target.pane]
            if not is_at_rest(sight):
                self._skip(conn, target, sight)
                return None
            self._reports.mended("monitor")
            watched, director = self._watch(conn, active, database_id)
            line = wake_line(self._fleet_id, watched, director)
            draft = Draft(
                target=target, text=line, program=sight.program, processes=sight.processes
            )
            with self._halt.typing():
                [outcomes] = type_and_submit(mux, {target.pane: draft})
                outcome = outcomes[target.pane]
                self._remember(conn, target, outcome.screen)
                if outcome.fate is not Fate.SUBMITTED:
                    self._reports.trouble(
                        "wake",
                        f"the wake of monitor {target.member_id} did not land: {outcome.evidence}",
                    )
                    return None
                self._reports.mended("wake")
                self._unrecorded = self._now()
                self._record(conn)
        return target.member_id, len(watched)

    def _skip(self, conn: Connection, target: Target, sight: Sight) -> None:
        """Keep the look for the roster; one that no wake will ever reach is told of."""
        state = sight.look.state
        self._remember(conn, target, state)
        if state in {ScreenState.GONE, ScreenState.SHELL}:
            self._reports.trouble(
                "monitor",
                f"monitor {target.member_id} cannot be woken, it is {sight.reason}; delete it and "
                f"create another with `cafleet member create --role monitor`",
            )

    def _remember(self, conn: Connection, target: Target, screen: ScreenState | None) -> None:
        if screen is not None:
            looks = {target.member_id: screen}
            placements.record_looks(conn, looks=looks, moves={}, now=self._now())

    def _record(self, conn: Connection) -> None:
        """Note a wake that went out; one that the database refused to note is not sent again."""
        if self._unrecorded is not None:
            monitor.record_wake(conn, fleet_id=self._fleet_id, now=self._unrecorded)
            self._unrecorded = None

    def _watch(
        self, conn: Connection, active: Sequence[MemberRecord], database_id: str
    ) -> tuple[list[Watched], Watched | None]:
        """The placed ordinary members and the Director, as one picture of all panes shows them."""
        seen, since = self._look(conn, active, database_id)
        shown = {
            member.member_id: self._watched(
                conn, member, seen.get(member.member_id), since.get(member.member_id)
            )
            for member in active
        }
        ordinary = [
            shown[member.member_id]
            for member in active
            if member.kind is MemberKind.MEMBER and member.placement is not None
        ]
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
    ) -> tuple[dict[int, Sight], dict[int, str]]:
        """What the members' panes show, and since when; by member id."""
        targets = [target_of(member, database_id) for member in active]
        seen: dict[int, Sight] = {}
        for here in by_server([target for target in targets if target is not None]):
            sights = look_at(multiplexer(here[0].backend, here[0].socket), here)
            seen |= {target.member_id: sights[target.pane] for target in here}
        looks = {member_id: sight.look.state for member_id, sight in seen.items()}
        return seen, placements.record_looks(conn, looks=looks, moves={}, now=self._now())

    def _watched(
        self, conn: Connection, member: MemberRecord, sight: Sight | None, since: str | None
    ) -> Watched:
        seconds = None if since is None else clock.seconds_since(since, self._now())
        return Watched(
            member_id=member.member_id,
            name=member.name,
            agent=None if member.placement is None else member.placement.coding_agent,
            unacked=messages.count_pending(conn, member_id=member.member_id),
            screen=None if sight is None else sight.look.state,
            seconds=max(0, seconds or 0),
        )
