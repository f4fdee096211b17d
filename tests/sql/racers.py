"""Many processes that run the program's `main` at the same moment, again and again.

Run as ``python racers.py PROCESSES ROUNDS COMMAND…``. Each round takes a path from its own line of
stdin, and answers with one line: the exit codes. The processes are forked from one that has
imported everything, and wait for a pipe to close, so that they truly meet.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from typing import NoReturn

import cafleet
from cafleet.cli.main import main


def race(processes: int, command: list[str]) -> list[int]:
    """The exit codes of ``processes`` runs of ``cafleet COMMAND…`` released together."""
    gate, release = os.pipe()
    runners = []
    for _ in range(processes):
        runner = os.fork()
        if runner == 0:
            os.close(release)
            os.read(gate, 1)
            run(command)
        runners.append(runner)
    os.close(gate)
    os.close(release)
    return [os.waitstatus_to_exitcode(os.waitpid(runner, 0)[1]) for runner in runners]


def run(command: list[str]) -> NoReturn:
    sys.argv = ["cafleet", *command]
    os.dup2(2, 1)
    code = 99
    try:
        code = main()
    finally:
        # Not the end of the parent's program: no buffer of it may be written twice.
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    for module in pkgutil.walk_packages(cafleet.__path__, "cafleet."):
        importlib.import_module(module.name)
    for line in sys.stdin:
        os.environ["CAFLEET_DATABASE_URL"] = f"sqlite:///{line.strip()}"
        print(*race(int(sys.argv[1]), sys.argv[2:]), flush=True)
