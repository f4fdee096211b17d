"""Responses that are kept for as long as the database stays as it is.

A change makes every open page ask the same few things at once: each is found and encoded once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from hashlib import sha256

import msgspec
from starlette.concurrency import run_in_threadpool

from cafleet.web.database_watch import DatabaseState, DatabaseWatch

MOST_BYTES = 16 * 1024 * 1024
# About what an answer takes beside its body and its key.
_OVERHEAD_BYTES = 4096


class CacheKey(msgspec.Struct, frozen=True, kw_only=True):
    """All that an answer depends on but the database; ``beside`` is what no request says."""

    path: str
    query: bytes
    fleet_id: int
    beside: tuple[int, ...] = ()


class CachedBody(msgspec.Struct, frozen=True, kw_only=True):
    """An encoded body; ``etag`` is its quoted validator (RFC 9110, section 8.8.3)."""

    body: bytes
    etag: str


def encoded(body: bytes) -> CachedBody:
    return CachedBody(body=body, etag=f'"{sha256(body).hexdigest()[:32]}"')


class ResponseCache:
    """The answers of one event loop. None is older than the request that it is given to."""

    def __init__(self, watch: DatabaseWatch) -> None:
        self._watch = watch
        self._entries = _Entries(None)

    async def get(self, ask: Callable[[], CacheKey], find: Callable[[], bytes]) -> CachedBody:
        """The answer to what ``ask`` returns; what ``find`` raises is raised, and not kept.

        ``find`` is called in a thread. ``ask`` is not, and only once the database was seen.
        """
        state = await self._watch.look()
        if not state.is_readable:
            return await run_in_threadpool(lambda: encoded(find()))
        if state != self._entries.state:
            self._entries = _Entries(state)
        return await self._entries.get(ask(), find)


class _Entries:
    """The answers that were looked for while the database was as ``state`` tells."""

    def __init__(self, state: DatabaseState | None) -> None:
        self.state = state
        self._tasks: dict[CacheKey, asyncio.Task[CachedBody]] = {}
        self._bytes = 0

    async def get(self, key: CacheKey, find: Callable[[], bytes]) -> CachedBody:
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.create_task(run_in_threadpool(lambda: encoded(find())))
            self._tasks[key] = task
            task.add_done_callback(partial(self._settle, key))
        return await asyncio.shield(task)

    def _settle(self, key: CacheKey, task: asyncio.Task[CachedBody]) -> None:
        """Count a kept answer, and drop one that has failed or that there is no room for."""
        if not task.cancelled() and task.exception() is None:
            size = len(task.result().body) + len(key.path) + len(key.query)
            if self._bytes + size + _OVERHEAD_BYTES <= MOST_BYTES:
                self._bytes += size + _OVERHEAD_BYTES
                return
        del self._tasks[key]
