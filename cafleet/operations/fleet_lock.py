"""The lock of one fleet: commands that start or end its members run one at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cafleet import settings
from cafleet.courier.process_lock import ProcessLock
from cafleet.errors import RefusedError

_PAUSE_SECONDS = 0.05


@contextmanager
def fleet_lock(fleet_id: int, command: str, *, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock of a fleet for ``command``, such as ``fleet resume 1``. Another process that holds it
    gets so many seconds of ``patience``.

    Raises:
        RefusedError: another process holds it; says which.
        CafleetError: the lock's file cannot be made.
    """
    lock = ProcessLock(f"{settings.database_path()}.fleet-{fleet_id}.lock")
    ends = time.monotonic() + patience
    while not (held := lock.acquire()) and time.monotonic() < ends:
        time.sleep(_PAUSE_SECONDS)
    if not held:
        raise RefusedError(
            f"{lock.note() or 'another command'} works on fleet {fleet_id} now; wait until it has ended"
        )
    try:
        lock.write_note(f"`cafleet {command}` (process {os.getpid()})")
        yield
    finally:
        lock.remove()
