"""A lock file that one process holds for as long as it lives."""

from __future__ import annotations

import os
from contextlib import suppress

from cafleet.errors import CafleetError
from cafleet.file_lock import is_locked, try_lock

_NOTE_CHARACTERS = 200


class ProcessLock:
    """An exclusive lock on a file beside the database. It ends with the process, however that ends. A process
    id would mean nothing to a process in another namespace."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Take the lock if it is free. Returns whether this process holds it now.

        Raises:
            CafleetError: the file cannot be made.
        """
        if self._handle is not None:
            return True
        while (handle := self._locked()) is not None:
            if _is_at(handle, self.path):
                self._handle = handle
                return True
            # Its holder has removed the file meanwhile, and others lock the next one.
            os.close(handle)
        return False

    def _locked(self) -> int | None:
        """The file, opened and locked, or ``None`` if another process has locked it."""
        try:
            handle = os.open(
                self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise CafleetError(
                f"the lock {self.path} cannot be opened ({error.strerror}); mend that"
            ) from error
        if try_lock(handle):
            return handle
        os.close(handle)
        return None

    def write_note(self, note: str) -> None:
        """Write into the file what this process does with the lock that it holds, if the disk has room."""
        if self._handle is not None:
            with suppress(OSError):
                os.ftruncate(self._handle, 0)
                os.pwrite(self._handle, note.encode(), 0)

    def note(self) -> str:
        """What the holder of the lock wrote last; empty if that cannot be read."""
        try:
            with open(self.path, encoding="ascii", errors="replace") as file:
                return "".join(filter(str.isprintable, file.read(_NOTE_CHARACTERS)))
        except OSError:
            return ""

    def release(self) -> None:
        """Release the lock. The file stays, so that everybody locks the same one."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def remove(self) -> None:
        """Release the lock and remove its file, if this process holds it."""
        if self._handle is not None:
            with suppress(OSError):
                os.unlink(self.path)
            self.release()


def _is_at(handle: int, path: str) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def is_held(path: str) -> bool:
    """Whether a living process holds the lock. A file that cannot be read counts as held."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return is_locked(handle)
    finally:
        os.close(handle)


def courier_lock_path(database: str, fleet_id: int) -> str:
    """The lock file of a fleet's courier."""
    return f"{database}.loop-{fleet_id}.lock"


def creation_lock_path(database: str, fleet_id: int) -> str:
    """The lock file of the process that creates a fleet, until that is committed."""
    return f"{database}.creation-{fleet_id}.lock"
