"""`monitor status` and `monitor stop`: how a fleet's loop does, and its end."""

from __future__ import annotations

import time

import msgspec

from cafleet import clock, settings
from cafleet.broker import deliveries, fleets, monitor
from cafleet.courier.liveness import is_running
from cafleet.courier.process_lock import is_held, loop_lock_path
from cafleet.records import LifeLine, MonitorRuntime
from cafleet.store import Connection

# A loop looks for a stop twice a second, and may be in the middle of typing.
_STOP_SECONDS = 8.0


class LoopStatus(msgspec.Struct, frozen=True, kw_only=True):
    """``runtime`` is the row as it is stored, ``None`` if the loop never ran."""

    fleet_id: int
    running: bool
    runtime: MonitorRuntime | None
    owed: list[LifeLine]


def loop_status(conn: Connection, *, fleet_id: int) -> LoopStatus:
    """How the loop does, and what is owed.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
    """
    fleets.get_living(conn, fleet_id=fleet_id)
    return LoopStatus(
        fleet_id=fleet_id,
        running=is_running(conn, database=settings.database_path(), fleet_id=fleet_id),
        runtime=monitor.runtime(conn, fleet_id=fleet_id),
        owed=deliveries.owed_in_fleet(conn, fleet_id=fleet_id),
    )


def stop_loop(conn: Connection, *, fleet_id: int) -> bool:
    """Stop the loop, keep it from being started by others, and wait for its end; whether it ran.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
    """
    fleets.get_living(conn, fleet_id=fleet_id)
    database = settings.database_path()
    running = is_running(conn, database=database, fleet_id=fleet_id)
    monitor.stop(conn, fleet_id=fleet_id, now=clock.utc_now())
    ends = time.monotonic() + _STOP_SECONDS
    while running and is_held(loop_lock_path(database, fleet_id)) and time.monotonic() < ends:
        time.sleep(0.05)
    return running
