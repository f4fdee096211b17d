"""The same work in several processes at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from typing import Any, TypeVar

T = TypeVar("T")


def race(work: Callable[..., T], entrants: Sequence[tuple[Any, ...]]) -> list[T]:
    """What ``work`` returns for each of the ``entrants``, arguments that can be pickled.

    ``work`` is a function at the top of a module. All processes are released at the same moment,
    once each has imported what it needs.
    """
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(len(entrants)), context.SimpleQueue()
    processes = [
        context.Process(target=_run, args=(work, place, arguments, start, results))
        for place, arguments in enumerate(entrants)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * len(processes)
    found = dict(results.get() for _ in processes)
    return [found[place] for place in range(len(processes))]


def _run(
    work: Callable[..., T],
    place: int,
    arguments: tuple[Any, ...],
    start: Barrier,
    results: SimpleQueue[tuple[int, T]],
) -> None:
    start.wait(60)
    results.put((place, work(*arguments)))
