"""Whether the database has changed: one connection that looks for everybody."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import msgspec

from cafleet.errors import DatabaseError
from cafleet.store import Connection
from cafleet.store.connection import data_version
from cafleet.store.guard import open_database


class DatabaseState(msgspec.Struct, frozen=True, kw_only=True):
    """What a look has seen. It equals a later one's unless the database has changed in between, or
    another file has taken its place, or it can be read no more or again."""

    is_readable: bool
    file: tuple[int, ...] | None
    state: tuple[int, int] | str


class DatabaseWatch:
    """Looks at a database for all tasks of one event loop, in a thread of its own."""

    def __init__(self, database: str) -> None:
        self._eye = _Eye(database)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="watch")
        self._looking = asyncio.Lock()
        self._next: asyncio.Task[DatabaseState] | None = None

    async def look(self) -> DatabaseState:
        """What is there now: the look begins after the call, and is shared with other callers."""
        if self._next is None:
            self._next = asyncio.create_task(self._look())
        return await asyncio.shield(self._next)

    async def _look(self) -> DatabaseState:
        async with self._looking:
            # Whoever comes once it has begun could miss a commit, and waits for the one after it.
            self._next = None
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._eye.look)

    def end(self) -> None:
        self._thread.submit(self._eye.close)
        self._thread.shutdown(wait=False)


class _Eye:
    """The connection. It never writes: SQLite's counter leaves out the commits of its own
    connection. It lives in one thread."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._file: tuple[int, ...] | None = None
        self._conn: Connection | None = None
        # The counter begins anew with each connection.
        self._opened = 0

    def look(self) -> DatabaseState:
        file = _file_state(self._database)
        if _identity(file) != _identity(self._file):
            self.close()
        self._file = file
        try:
            return DatabaseState(is_readable=True, file=file, state=self._state())
        except DatabaseError as error:
            return DatabaseState(is_readable=False, file=file, state=str(error))

    def _state(self) -> tuple[int, int]:
        if self._conn is not None:
            with suppress(DatabaseError):
                return self._opened, data_version(self._conn)
        # One that fails stays open until another works: to close the last is to write to the file.
        conn = open_database(self._database)
        self.close()
        self._conn = conn
        self._opened += 1
        return self._opened, data_version(conn)

    def close(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None


def _file_state(path: str) -> tuple[int, ...] | None:
    """Tells the file from another in its place, and from what it was before something that is not
    SQLite wrote to it; ``None`` where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _identity(file: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return file and file[:2]
