"""The row of a fleet's courier: its process, its state, its requests."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from cafleet import clock
from cafleet.broker import fleets, members
from cafleet.broker.composing import record, records
from cafleet.errors import IntegrityError, RefusedError
from cafleet.records import (
    DeliveryState,
    MonitorRuntime,
    Typing,
    TypingState,
    WakeOutcome,
    WakeTarget,
)
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction


class Wake(StrEnum):
    """Why the monitor is woken."""

    SCHEDULED = "scheduled"
    FORCED = "forced"


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The proof that a row belongs to a courier.

    A process id is not enough: ids are given out again, and every namespace has its own.
    """

    fleet_id: int
    pid: int
    started_at: str

    def holds(self, row: MonitorRuntime | None) -> bool:
        """Whether the row still belongs to this claim."""
        return row is not None and (row.pid, row.started_at) == (self.pid, self.started_at)


# A courier counts as alive for so many ticks without a heartbeat, and at least for so many seconds.
TICKS_UNTIL_STALE = 3
SECONDS_UNTIL_STALE = 15
# The pause after unproven wakes doubles up to this, or to the interval if that is longer.
LONGEST_RETRY_SECONDS = 3600


def runtime(conn: Connection, *, fleet_id: int) -> MonitorRuntime | None:
    """The row, or ``None`` where the courier never ran."""
    row = queries.get_monitor_runtime(conn, fleet_id=fleet_id)
    return None if row is None else record(row, MonitorRuntime)


def is_live(row: MonitorRuntime | None, *, lock_held: bool, now: datetime) -> bool:
    """Whether a courier runs: claimed, ticking, and its file lock held by some process.

    A tick in the future, or an unreadable one, is not fresh.
    """
    if row is None or row.pid is None or row.last_tick_at is None or not lock_held:
        return False
    moment = clock.read(row.last_tick_at)
    if moment is None or moment > now:
        return False
    age = (now - moment).total_seconds()
    return age <= max(TICKS_UNTIL_STALE * row.tick_seconds, SECONDS_UNTIL_STALE)


def claim(
    conn: Connection,
    *,
    fleet_id: int,
    pid: int,
    tick_seconds: int,
    wake_interval_seconds: int,
    lock_held: bool,
    now: datetime,
    unless_stopped: bool = False,
) -> Claim:
    """Claim the fleet for a courier, unless one is live, or it was stopped and ``unless_stopped`` is set.

    ``lock_held`` says whether another process holds the courier's file lock.

    Raises:
        RefusedError: a courier is live, it was stopped, or the fleet is paused.
    """
    claimed = Claim(fleet_id=fleet_id, pid=pid, started_at=clock.stamp(now))
    with transaction(conn):
        fleets.refuse_paused(conn, fleet_id=fleet_id)
        row = runtime(conn, fleet_id=fleet_id)
        if is_live(row, lock_held=lock_held, now=now):
            raise running(fleet_id)
        if unless_stopped and row is not None and row.stopped_at is not None:
            raise RefusedError(
                f"the courier of fleet {fleet_id} was stopped; run it by hand with "
                f"`cafleet monitor run {fleet_id}`"
            )
        queries.upsert_monitor_claim(
            conn,
            fleet_id=fleet_id,
            pid=pid,
            now=claimed.started_at,
            tick_seconds=tick_seconds,
            wake_interval_seconds=wake_interval_seconds,
        )
    return claimed


def running(fleet_id: int) -> RefusedError:
    """The refusal of a second courier."""
    return RefusedError(
        f"the courier of fleet {fleet_id} is already running; stop it first with "
        f"`cafleet monitor stop {fleet_id}`"
    )


def heartbeat(conn: Connection, claim: Claim, *, now: datetime) -> bool:
    """Note that the courier is alive. Returns whether the row is still the caller's."""
    with transaction(conn):
        return bool(
            queries.set_monitor_heartbeat(
                conn,
                fleet_id=claim.fleet_id,
                pid=claim.pid,
                started_at=claim.started_at,
                now=clock.stamp(now),
            )
        )


def clear(conn: Connection, claim: Claim) -> bool:
    """Give up the claim, if it is the caller's. Returns whether it was."""
    with transaction(conn):
        return bool(
            queries.set_monitor_unclaimed(
                conn, fleet_id=claim.fleet_id, pid=claim.pid, started_at=claim.started_at
            )
        )


def stop(conn: Connection, *, fleet_id: int, now: datetime) -> None:
    """Ask the courier to end, and let nobody start one until `monitor run`."""
    with transaction(conn):
        queries.upsert_monitor_stop(conn, fleet_id=fleet_id, now=clock.stamp(now))


def wake_due(row: MonitorRuntime, *, now: datetime) -> Wake | None:
    """Whether to wake the monitor now: on request, or because its interval is over.

    After an unproven wake the interval counts from that attempt, and doubles with each further one. A time
    that is unreadable or in the future does not stop the wakes.

    Raises:
        IntegrityError: the row is claimed and has no interval.
    """
    if row.wake_requested_at is not None:
        return Wake.FORCED
    if row.wake_interval_seconds is None:
        raise IntegrityError(
            f"monitor_runtime.wake_interval_seconds is null where fleet_id is {row.fleet_id}, though a "
            f"courier has claimed it; run it again with `cafleet monitor run {row.fleet_id} --interval N`"
        )
    if row.wake_interval_seconds == 0:
        return None
    since = row.last_wake_at if row.last_wake_at is not None else row.started_at
    pause = row.wake_interval_seconds
    if row.wake_attempts:
        since = row.wake_attempted_at
        longest = max(pause, LONGEST_RETRY_SECONDS)
        # 2 to the 62nd is more than any longest pause.
        pause = min(pause << min(row.wake_attempts - 1, 62), longest)
    age = None if since is None else clock.seconds_since(since, now)
    if age is None or age < 0 or age >= pause:
        return Wake.SCHEDULED
    return None


def settle_wake(
    conn: Connection, *, typing: Typing, state: DeliveryState, evidence: str, now: datetime
) -> None:
    """Note what became of a wake that was typed, inside the caller's transaction.

    ``state`` is *submitted* or *unsure*, or another if not a byte was typed. A wake is one attempt, however
    often its text is looked for.
    """
    member_id, attempted_at = typing.member_id, typing.typed_at
    if state is DeliveryState.SUBMITTED:
        queries.set_monitor_wake_landed(
            conn, member_id=member_id, attempted_at=attempted_at, now=clock.stamp(now)
        )
    elif state is DeliveryState.UNSURE and typing.state is TypingState.TYPED:
        queries.set_monitor_wake_unproven(
            conn, member_id=member_id, attempted_at=attempted_at, reason=evidence
        )


def note_wake_waits(conn: Connection, *, fleet_id: int, reason: str) -> None:
    """Note why a due wake is not typed. Writes only if that is news."""
    row = runtime(conn, fleet_id=fleet_id)
    if row is None or (row.wake_outcome, row.wake_reason) == (WakeOutcome.WAITING, reason):
        return
    with transaction(conn):
        queries.set_monitor_wake_waiting(conn, fleet_id=fleet_id, reason=reason)


def set_interval(conn: Connection, *, fleet_id: int, seconds: int) -> bool:
    """Change the seconds between wakes. Returns whether there is a row."""
    with transaction(conn):
        return bool(
            queries.set_monitor_interval(conn, fleet_id=fleet_id, wake_interval_seconds=seconds)
        )


def request_wake(conn: Connection, *, fleet_id: int, now: datetime) -> bool:
    """Ask for a wake at the next tick. Returns whether there is a row."""
    with transaction(conn):
        return bool(queries.set_monitor_wake_request(conn, fleet_id=fleet_id, now=clock.stamp(now)))


def wake_targets(conn: Connection, *, fleet_id: int) -> list[WakeTarget]:
    """The placed ordinary members that the monitor watches, ids ascending.

    Raises:
        IntegrityError: the status of a member is not known, so it may be one of them.
    """
    fleets.check_statuses(conn, fleet_id=fleet_id)
    monitor_id = members.active_monitor_id(conn, fleet_id=fleet_id)
    rows = queries.list_wake_targets(conn, fleet_id=fleet_id, monitor_member_id=monitor_id)
    return records(rows, WakeTarget)
