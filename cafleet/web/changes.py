"""`GET /api/changes`: one look at the database for all who want to know whether it has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from cafleet.web.database_watch import DatabaseWatch

LOOK_SECONDS = 0.25
# A stream in which nothing happens says so, which shows a client that is gone.
KEEP_ALIVE_SECONDS = 15.0


class Changes:
    """Counts the changes of a database, and tells every stream of them, ``most`` streams at once.

    It is begun and ended in the event loop whose streams it serves.
    """

    def __init__(self, watch: DatabaseWatch, *, most: int) -> None:
        self._watch = watch
        self._most = most
        self._streams = 0
        self._count = 0
        self._changed = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._ended = False

    def begin(self) -> None:
        self._following = asyncio.create_task(self._follow())

    def end(self) -> None:
        """End every stream, and the looking."""
        if self._following is not None:
            self._following.cancel()
        self._ended = True
        self._changed.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request with a stream (WHATWG HTML, section 9.2).

        Raises:
            HTTPException: the method is not one for reading; there are too many streams.
        """
        if scope["method"] not in {"GET", "HEAD"}:
            raise HTTPException(405, "Method not allowed", headers={"Allow": "GET, HEAD"})
        headers = {"Cache-Control": "no-store"}
        media_type = "text/event-stream"
        if scope["method"] == "HEAD":
            await Response(headers=headers, media_type=media_type)(scope, receive, send)
            return
        if self._streams >= self._most:
            raise HTTPException(503, "Too many streams are open; ask again later")
        self._streams += 1
        try:
            response = StreamingResponse(self._events(), headers=headers, media_type=media_type)
            await response(scope, receive, send)
        finally:
            self._streams -= 1

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

    async def _follow(self) -> None:
        seen = await self._watch.look()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            before, seen = seen, await self._watch.look()
            if seen != before:
                self._count += 1
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()
