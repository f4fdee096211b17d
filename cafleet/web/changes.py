"""`GET /api/changes`: one look at the database for all who want to know whether it has changed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from cafleet.errors import DatabaseError
from cafleet.store import Connection
from cafleet.store.connection import data_version, file_identity
from cafleet.store.guard import open_database

LOOK_SECONDS = 0.25
# A stream in which nothing happens says so, which shows a client that is gone.
KEEP_ALIVE_SECONDS = 15.0


class Changes:
    """Counts the changes of a database, and tells every stream of them.

    It is begun and ended in the event loop whose streams it serves.
    """

    def __init__(self, database: str) -> None:
        self._eye = _Eye(database)
        self._count = 0
        self._changed = asyncio.Event()
        self._ended = False
        self._stopping = threading.Event()

    def begin(self) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._watch, args=(loop,), name="changes", daemon=True).start()

    def end(self) -> None:
        """End every stream, and the looking."""
        self._stopping.set()
        self._ended = True
        self._changed.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request with a stream (WHATWG HTML, section 9.2)."""
        if scope["method"] not in {"GET", "HEAD"}:
            raise HTTPException(405, "Method not allowed", headers={"Allow": "GET, HEAD"})
        headers = {"Cache-Control": "no-store"}
        media_type = "text/event-stream"
        response: Response
        if scope["method"] == "HEAD":
            response = Response(headers=headers, media_type=media_type)
        else:
            response = StreamingResponse(self._events(), headers=headers, media_type=media_type)
        await response(scope, receive, send)

    async def _events(self) -> AsyncIterator[bytes]:
        told: int | None = None
        while not self._ended:
            changed = self._changed
            if told != self._count:
                told = self._count
                yield b"data: %d\n\n" % told
                continue
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    await changed.wait()
            except TimeoutError:
                yield b":\n\n"

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        seen = self._eye.look()
        while not self._stopping.wait(LOOK_SECONDS):
            before, seen = seen, self._eye.look()
            if seen != before:
                # The loop may have been closed since.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(self._note)
        self._eye.close()

    def _note(self) -> None:
        if not self._ended:
            self._count += 1
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()


class _Eye:
    """Looks at the database file with one connection, which never writes: SQLite's counter leaves
    out the commits of its own connection. It lives in one thread."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._file: tuple[int, int] | None = None
        self._conn: Connection | None = None

    def look(self) -> tuple[object, object]:
        """What is equal to the last look's unless the database has changed, or another file has
        taken its place, or it can be read no more or again."""
        file = file_identity(self._database)
        if file != self._file:
            self.close()
            self._file = file
        try:
            if self._conn is None:
                self._conn = open_database(self._database)
            return file, data_version(self._conn)
        except DatabaseError as error:
            self.close()
            return file, str(error)

    def close(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None
