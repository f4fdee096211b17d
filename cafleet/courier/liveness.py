"""Whether a fleet's loop runs."""

from __future__ import annotations

from cafleet import clock
from cafleet.broker import monitor
from cafleet.courier.process_lock import is_held, loop_lock_path
from cafleet.store import Connection


def is_running(conn: Connection, *, database: str, fleet_id: int) -> bool:
    """Whether a live loop serves the fleet; no process is asked, no signal sent."""
    row = monitor.runtime(conn, fleet_id=fleet_id)
    held = is_held(loop_lock_path(database, fleet_id))
    return monitor.is_live(row, lock_held=held, now=clock.utc_now())
