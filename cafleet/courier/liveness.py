"""Whether a fleet's courier runs."""

from __future__ import annotations

from cafleet import clock
from cafleet.broker import monitor
from cafleet.courier.process_lock import courier_lock_path, is_held
from cafleet.store import Connection


def is_running(conn: Connection, *, database: str, fleet_id: int) -> bool:
    """Whether a live courier serves the fleet. Asks no process and sends no signal."""
    row = monitor.runtime(conn, fleet_id=fleet_id)
    held = is_held(courier_lock_path(database, fleet_id))
    return monitor.is_live(row, lock_held=held, now=clock.utc_now())
