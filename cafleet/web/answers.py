"""Answers that are kept for as long as the database stays as it is.

A change makes every open page ask the same few things at once: each is found and encoded once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from hashlib import sha256

import msgspec
from starlette.concurrency import run_in_threadpool

from cafleet.web.watch import Sight, Watch

MOST_BYTES = 16 * 1024 * 1024
# About what an answer takes beside its body and its question.
_OVERHEAD_BYTES = 4096


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """All that an answer depends on but the database; ``beside`` is what no request says."""

    path: str
    query: bytes
    fleet_id: int
    beside: tuple[int, ...] = ()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An encoded body; ``etag`` is its quoted validator (RFC 9110, section 8.8.3)."""

    body: bytes
    etag: str


def answer_of(body: bytes) -> Answer:
    return Answer(body=body, etag=f'"{sha256(body).hexdigest()[:32]}"')


class Answers:
    """The answers of one event loop. None is older than the request that it is given to."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._shelf = _Shelf(None)

    async def get(self, ask: Callable[[], Question], find: Callable[[], bytes]) -> Answer:
        """The answer to what ``ask`` returns; what ``find`` raises is raised, and not kept.

        ``find`` is called in a thread. ``ask`` is not, and only once the database was seen.
        """
        sight = await self._watch.look()
        if not sight.is_readable:
            return await run_in_threadpool(lambda: answer_of(find()))
        if sight != self._shelf.sight:
            self._shelf = _Shelf(sight)
        return await self._shelf.get(ask(), find)


class _Shelf:
    """The answers that were looked for while the database was as ``sight`` tells."""

    def __init__(self, sight: Sight | None) -> None:
        self.sight = sight
        self._answers: dict[Question, asyncio.Task[Answer]] = {}
        self._bytes = 0

    async def get(self, question: Question, find: Callable[[], bytes]) -> Answer:
        task = self._answers.get(question)
        if task is None:
            task = asyncio.create_task(run_in_threadpool(lambda: answer_of(find())))
            self._answers[question] = task
            task.add_done_callback(partial(self._settle, question))
        return await asyncio.shield(task)

    def _settle(self, question: Question, task: asyncio.Task[Answer]) -> None:
        """Count a kept answer, and drop one that has failed or that there is no room for."""
        if not task.cancelled() and task.exception() is None:
            size = len(task.result().body) + len(question.path) + len(question.query)
            if self._bytes + size + _OVERHEAD_BYTES <= MOST_BYTES:
                self._bytes += size + _OVERHEAD_BYTES
                return
        del self._answers[question]
