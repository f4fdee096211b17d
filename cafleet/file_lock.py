"""Locks on files by flock(2): they end with the process that holds them, however it ends."""

from __future__ import annotations

import fcntl


def try_lock(handle: int) -> bool:
    """Lock an open file or folder. False if another process holds the lock.

    Raises:
        OSError: the file system has no such locks.
    """
    return _try(handle, fcntl.LOCK_EX)


def is_locked(handle: int) -> bool:
    """Whether another process holds the lock. Raises as :func:`try_lock`."""
    return not _try(handle, fcntl.LOCK_SH)


def wait_for_lock(handle: int) -> None:
    """Lock an open file or folder, however long that takes. Raises as :func:`try_lock`."""
    fcntl.flock(handle, fcntl.LOCK_EX)


def _try(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
