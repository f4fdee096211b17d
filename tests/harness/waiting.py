"""Waiting for something to become so, with a deadline instead of a guess."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Many probes start a process, and many tests wait at the same time.
_LONGEST_PAUSE = 0.08


def wait_for(probe: Callable[[], T], what: str, *, seconds: float = 10.0) -> T:
    """The first truthy result of ``probe``.

    Raises:
        AssertionError: ``what`` has not become so within ``seconds``; the last result is shown.
    """
    deadline = time.monotonic() + seconds
    pause = 0.01
    while True:
        result = probe()
        if result:
            return result
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}; last seen: {result!r}"
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
