"""`fleet resume`: a fleet comes back after a pause, a crash of tmux, or a restart of the machine."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cafleet import settings
from cafleet.broker import fleets, members
from cafleet.courier.liveness import is_running
from cafleet.errors import CafleetError
from cafleet.operations import director_return
from cafleet.operations.director_return import DirectorPlan
from cafleet.operations.fleet_lock import fleet_lock
from cafleet.operations.last_start import seen_alive
from cafleet.operations.monitoring import start_loop
from cafleet.operations.restart import RestartPlan, Wishes, carry_out, plan_restart, say_first_words
from cafleet.records import MemberKind, MemberRecord
from cafleet.store import Connection

# What is done with a member: nothing, its pane is used up for a new one, a pane opens in place of one that
# is gone, or the caller's pane becomes the Director's.
LEAVE = "leave"
RESTART = "restart"
OPEN = "open"
TAKE = "take"

PLANNED = "planned"
LEFT = "left"
BACK = "back"
FAILED = "failed"


class ResumedMember(msgspec.Struct, frozen=True, kw_only=True):
    """``action``, ``outcome``: constants of this module. ``session`` is ``resumed``, ``fresh``, or null for a
    member that was left. ``action`` is null where nobody knows what to do."""

    member_id: int
    action: str | None
    session: str | None
    outcome: str
    reason: str | None


class ResumedFleet(msgspec.Struct, frozen=True, kw_only=True):
    fleet_id: int
    members: list[ResumedMember]
    warnings: Sequence[str] = ()

    @property
    def is_complete(self) -> bool:
        return all(each.outcome != FAILED for each in self.members)


def resume_fleet(conn: Connection, *, fleet_id: int, dry_run: bool, force: bool) -> ResumedFleet:
    """Bring back the members of a fleet that are gone, and start its courier.

    A member that fails does not keep the others. ``dry_run`` says what would be done. ``force`` uses
    stored starts that were changed, and ends agents that run outside of their pane.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
        RefusedError: another command works on the fleet.
    """
    fleets.get_living(conn, fleet_id=fleet_id)
    resuming = _Resuming(conn, fleet_id=fleet_id, force=force)
    if dry_run:
        return resuming.plan()
    with fleet_lock(fleet_id, f"fleet resume {fleet_id}"):
        return resuming.run()


class _Resuming:
    def __init__(self, conn: Connection, *, fleet_id: int, force: bool) -> None:
        self._conn = conn
        self._fleet_id = fleet_id
        self._force = force
        self._database_id = fleets.database_id(conn)
        self._warnings: list[str] = []

    def plan(self) -> ResumedFleet:
        director, others = self._members()
        return self._told([self._planned(member) for member in (director, *others)])

    def run(self) -> ResumedFleet:
        director, others = self._members()
        returned: list[DirectorPlan] = []
        restarted: list[RestartPlan] = []
        done = [self._brought_back(director, returned)]
        # The others open beside the Director, so it is first; and nobody waits for the words of another.
        done += [self._restarted(member, restarted) for member in others]
        for plan in returned:
            warning = director_return.say_to_director(self._conn, plan)
            self._warnings += [] if warning is None else [warning]
        for each in restarted:
            self._warnings += say_first_words(self._conn, each)
        fleets.resume(self._conn, fleet_id=self._fleet_id)
        self._start_courier()
        return self._told(done)

    def _members(self) -> tuple[MemberRecord, list[MemberRecord]]:
        director = members.active_director(self._conn, fleet_id=self._fleet_id)
        active = members.list_active(self._conn, fleet_id=self._fleet_id)
        return director, [each for each in active if each.kind is not MemberKind.DIRECTOR]

    def _told(self, done: list[ResumedMember]) -> ResumedFleet:
        return ResumedFleet(fleet_id=self._fleet_id, members=done, warnings=self._warnings)

    def _planned(self, member: MemberRecord) -> ResumedMember:
        try:
            if member.kind is MemberKind.DIRECTOR:
                plan = director_return.plan_return(self._conn, member, force=self._force)
                return _left(member, plan) if isinstance(plan, str) else _of_director(plan, PLANNED)
            alive = seen_alive(member, self._database_id)
            return _of(self._plan(member), PLANNED) if alive is None else _left(member, alive)
        except CafleetError as error:
            return _failed(member, error)

    def _plan(self, member: MemberRecord) -> RestartPlan:
        return plan_restart(
            self._conn, member_id=member.member_id, wishes=Wishes(force=self._force)
        )

    def _brought_back(self, director: MemberRecord, plans: list[DirectorPlan]) -> ResumedMember:
        try:
            plan = director_return.plan_return(self._conn, director, force=self._force)
            if isinstance(plan, str):
                return _left(director, plan)
            director_return.bring_back(self._conn, plan)
            plans.append(plan)
            return _of_director(plan, BACK)
        except CafleetError as error:
            return _failed(director, error)

    def _restarted(self, member: MemberRecord, plans: list[RestartPlan]) -> ResumedMember:
        try:
            alive = seen_alive(member, self._database_id)
            if alive is not None:
                return _left(member, alive)
            plan = self._plan(member)
            carry_out(self._conn, plan)
            plans.append(plan)
            return _of(plan, BACK)
        except CafleetError as error:
            return _failed(member, error)

    def _start_courier(self) -> None:
        if is_running(self._conn, database=settings.database_path(), fleet_id=self._fleet_id):
            return
        try:
            start_loop(self._conn, fleet_id=self._fleet_id, tick=None, interval=None)
        except CafleetError as error:
            self._warnings.append(f"the courier of fleet {self._fleet_id} did not start: {error}")


def _of(plan: RestartPlan, outcome: str) -> ResumedMember:
    return ResumedMember(
        member_id=plan.member.member_id,
        action=RESTART if plan.last.close else OPEN,
        session=plan.session,
        outcome=outcome,
        reason=plan.found.reason,
    )


def _of_director(plan: DirectorPlan, outcome: str) -> ResumedMember:
    return ResumedMember(
        member_id=plan.member.member_id,
        action=OPEN if plan.taken is None else TAKE,
        session=plan.session,
        outcome=outcome,
        reason=plan.found.reason,
    )


def _left(member: MemberRecord, seen: str) -> ResumedMember:
    return ResumedMember(
        member_id=member.member_id, action=LEAVE, session=None, outcome=LEFT, reason=seen
    )


def _failed(member: MemberRecord, error: CafleetError) -> ResumedMember:
    return ResumedMember(
        member_id=member.member_id, action=None, session=None, outcome=FAILED, reason=str(error)
    )
