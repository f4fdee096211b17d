"""Work that is watched or killed at its n-th step on the file system, in a process of its own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

_STEPS = frozenset(["open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"])


def kill_at_each_step(
    work: Callable[[], object],
    folder: Path,
    *,
    environment: Mapping[str, str],
    before: Callable[[], None],
    after: Callable[[], None],
) -> int:
    """Do ``work`` again and again, each time killed one step later, until it gets through.

    A step is a call that opens, makes, renames or removes something below ``folder``. ``before``
    prepares each try, ``after`` looks at what it left. Returns the number of steps.
    """
    for step in count(1):
        before()
        process = get_context("forkserver").Process(
            target=_work, args=(work, str(folder), dict(environment), step)
        )
        process.start()
        process.join()
        code = process.exitcode
        process.close()
        assert code in (0, -signal.SIGKILL), code
        after()
        if code == 0:
            return step - 1
    raise AssertionError


def _work(
    work: Callable[[], object], folder: str, environment: Mapping[str, str], step: int
) -> None:
    os.environ.update(environment)
    seen = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event in _STEPS and str(arguments[0]).startswith(folder):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    work()
