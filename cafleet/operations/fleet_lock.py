"""The lock of one fleet: commands that restart its members run one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cafleet import settings
from cafleet.courier.process_lock import ProcessLock
from cafleet.errors import RefusedError


@contextmanager
def fleet_lock(fleet_id: int) -> Iterator[None]:
    """Hold the lock of a fleet.

    Raises:
        RefusedError: another process holds it.
    """
    lock = ProcessLock(f"{settings.database_path()}.fleet-{fleet_id}.lock")
    if not lock.acquire():
        raise RefusedError(
            f"another command restarts members of fleet {fleet_id} now "
            f"(it holds {lock.path}); wait until it has ended"
        )
    try:
        yield
    finally:
        lock.release()
