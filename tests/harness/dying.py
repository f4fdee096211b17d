"""Work that is killed at its n-th step, in a process of its own.

A step is a call that opens, makes, renames or removes something below a folder, a statement for a
database file, or the start of another program.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Mapping
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

_FILES = frozenset(["open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"])
_PROGRAMS = frozenset(["subprocess.Popen", "os.posix_spawn"])
_FORKSERVER = get_context("forkserver")
# Each try would import them anew.
_FORKSERVER.set_forkserver_preload(
    ["__main__", "cafleet.cli.main", "cafleet.operations.bootstrap", "cafleet.operations.setup"]
)


def kill_at_each_step(
    work: Callable[[], object],
    folder: Path,
    *,
    environment: Mapping[str, str],
    before: Callable[[], None],
    after: Callable[[], None],
) -> int:
    """Do ``work`` again and again, each time killed one step later, until it gets through.

    ``before`` prepares each try, ``after`` looks at what it left. Returns the number of steps.
    """
    for step in count(1):
        before()
        code = attempt(work, folder, environment=environment, last_step=step)
        assert code in (0, -signal.SIGKILL), code
        after()
        if code == 0:
            return step - 1
    raise AssertionError


def attempt(
    work: Callable[[], object],
    folder: Path,
    *,
    environment: Mapping[str, str],
    last_step: int | None = None,
) -> int | None:
    """Do ``work``, killed before its ``last_step`` if that is given; the exit code."""
    process = _FORKSERVER.Process(
        target=_work, args=(work, str(folder), dict(environment), last_step)
    )
    process.start()
    process.join()
    code = process.exitcode
    process.close()
    return code


def run_program(*arguments: str) -> None:
    """Work for the above: the program itself, with these arguments."""
    from cafleet.cli.main import main

    sys.argv = ["cafleet", *arguments]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    code = main()
    sys.stderr.flush()
    os._exit(code)


def _work(
    work: Callable[[], object], folder: str, environment: Mapping[str, str], last_step: int | None
) -> None:
    os.environ.update(environment)
    steps = count(1)
    connect = sqlite3.connect

    def step(*_: object) -> None:
        if next(steps) == last_step:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _PROGRAMS or (event in _FILES and str(arguments[0]).startswith(folder)):
            step()

    def traced(database: str, **options: Any) -> sqlite3.Connection:
        connection = connect(database, **options)
        if database != ":memory:":
            connection.set_trace_callback(step)
        return connection

    sys.addaudithook(watch)
    sqlite3.connect = traced
    work()
