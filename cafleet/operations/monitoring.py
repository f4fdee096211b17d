"""The state of a fleet's courier, requests to it, its start and its stop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

import msgspec

from cafleet import clock, settings
from cafleet.broker import deliveries, fleets, monitor
from cafleet.courier import starting
from cafleet.courier.liveness import is_running
from cafleet.courier.process_lock import courier_lock_path, is_held
from cafleet.errors import CafleetError, MultiplexerError
from cafleet.records import LifeLine, MonitorRuntime, WakeTarget
from cafleet.store import Connection

# A courier looks for a stop four times a second, and may be in the middle of typing.
_STOP_SECONDS = 5.0


class LoopStatus(msgspec.Struct, frozen=True, kw_only=True):
    """``runtime`` is the row as it is stored, ``None`` if the courier never ran."""

    fleet_id: int
    running: bool
    runtime: MonitorRuntime | None
    owed: list[LifeLine]
    unsure: list[LifeLine]


def loop_status(conn: Connection, *, fleet_id: int) -> LoopStatus:
    """The state of the courier, what is owed, and what is unsure.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
    """
    fleets.get_living(conn, fleet_id=fleet_id)
    return LoopStatus(
        fleet_id=fleet_id,
        running=is_running(conn, database=settings.database_path(), fleet_id=fleet_id),
        runtime=monitor.runtime(conn, fleet_id=fleet_id),
        owed=deliveries.owed_in_fleet(conn, fleet_id=fleet_id),
        unsure=deliveries.unsure_in_fleet(conn, fleet_id=fleet_id),
    )


class CourierView(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet's courier and the members that its monitor checks, at one instant.

    ``runtime`` is that of :class:`LoopStatus`.
    """

    now: datetime
    running: bool
    runtime: MonitorRuntime | None
    targets: Sequence[WakeTarget]


def view_courier(conn: Connection, *, fleet_id: int) -> CourierView:
    """The courier of a living fleet, and the members that its monitor checks."""
    now = clock.utc_now()
    runtime = monitor.runtime(conn, fleet_id=fleet_id)
    return CourierView(
        now=now,
        running=_is_live(runtime, fleet_id, now),
        runtime=runtime,
        targets=monitor.wake_targets(conn, fleet_id=fleet_id),
    )


def request_wake(conn: Connection, *, fleet_id: int) -> str | None:
    """Ask the courier to wake its monitor. Returns the time of that, ``None`` if no courier is live."""
    now = clock.utc_now()
    if not _is_live(monitor.runtime(conn, fleet_id=fleet_id), fleet_id, now):
        return None
    monitor.request_wake(conn, fleet_id=fleet_id, now=now)
    return clock.stamp(now)


def has_process(*, fleet_id: int) -> bool:
    """Whether a process runs the fleet's courier, or is about to. This is the only thing that
    :func:`view_courier` sees outside the database."""
    return is_held(courier_lock_path(settings.database_path(), fleet_id))


def _is_live(runtime: MonitorRuntime | None, fleet_id: int, now: datetime) -> bool:
    return monitor.is_live(runtime, lock_held=has_process(fleet_id=fleet_id), now=now)


def start_loop(
    conn: Connection, *, fleet_id: int, tick: int | None, interval: int | None
) -> MonitorRuntime:
    """Start the courier in the background, even if it was stopped.

    Returns its row once it has claimed the fleet. ``tick`` and ``interval`` are those of `monitor run`.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
        RefusedError: a courier runs already, or the fleet is paused.
        MultiplexerError: the fleet's server cannot be reached, or the courier would end with the sandbox
            that this process is in.
        CafleetError: the courier did not start.
    """
    fleets.get_living(conn, fleet_id=fleet_id)
    fleets.refuse_paused(conn, fleet_id=fleet_id)
    database = settings.database_path()
    if is_running(conn, database=database, fleet_id=fleet_id):
        raise monitor.running(fleet_id)
    if not starting.require_server(conn, fleet_id=fleet_id).is_in_sight():
        raise MultiplexerError(
            f"a courier that is started here would end with this sandbox; run `cafleet monitor run "
            f"{fleet_id} --detach` outside of it"
        )
    options = [] if tick is None else ["--tick", str(tick)]
    options += [] if interval is None else ["--interval", str(interval)]
    pid = starting.start(conn, database=database, fleet_id=fleet_id, options=options)
    row = monitor.runtime(conn, fleet_id=fleet_id)
    if pid is None or row is None:
        raise CafleetError(
            f"the courier of fleet {fleet_id} did not start; see "
            f"{starting.log_path(database, fleet_id)}"
        )
    return row


def stop_loop(conn: Connection, *, fleet_id: int) -> bool:
    """Stop the courier, let nobody start one, and wait for its end. Returns whether it ran.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
        CafleetError: it has not ended in 5 s; it will as soon as it looks.
    """
    fleets.get_living(conn, fleet_id=fleet_id)
    database = settings.database_path()
    running = is_running(conn, database=database, fleet_id=fleet_id)
    monitor.stop(conn, fleet_id=fleet_id, now=clock.utc_now())
    ends = time.monotonic() + _STOP_SECONDS
    while running and is_held(courier_lock_path(database, fleet_id)):
        if time.monotonic() >= ends:
            raise CafleetError(
                f"the courier of fleet {fleet_id} was told to stop, and has not ended in "
                f"{_STOP_SECONDS:.0f} s; it will when its process goes on, see `cafleet monitor status "
                f"{fleet_id}`"
            )
        time.sleep(0.05)
    return running
