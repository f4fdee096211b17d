"""Loops of one fleet that are started at the same moment: exactly one is to run.

python -m tests.faults.loop_race --rounds 50
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from subprocess import Popen

from tests.faults.staging import new_stage
from tests.harness.crew import CrewMaker
from tests.harness.database import Database
from tests.harness.loops import owner
from tests.harness.program import Program
from tests.harness.waiting import wait_for

_SECONDS = 60.0
# So long the one that is left has to go on, with the claim.
_STEADY_SECONDS = 0.5


def let_race(cafleet: Program, database: Database, count: int, fleet_id: int = 1) -> None:
    """Start so many loops at once; all are gone afterwards.

    Raises:
        AssertionError: not exactly one has run, or another did not say why it would not.
    """
    started = [cafleet.start("monitor", "run", str(fleet_id)) for _ in range(count)]
    try:
        _check(started, database, fleet_id)
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _check(started: Sequence[Popen[bytes]], database: Database, fleet_id: int) -> None:
    def running() -> list[Popen[bytes]]:
        return [process for process in started if process.poll() is None]

    wait_for(lambda: len(running()) <= 1, "one is left", seconds=_SECONDS)
    [survivor] = running()
    wait_for(
        lambda: owner(database, fleet_id) == survivor.pid, "it has the claim", seconds=_SECONDS
    )
    time.sleep(_STEADY_SECONDS)
    assert running() == [survivor]
    assert owner(database, fleet_id) == survivor.pid
    for process in started:
        if process is not survivor:
            stderr = process.communicate()[1].decode()
            assert process.returncode == 1, stderr
            assert "already running" in stderr or "another courier" in stderr, stderr


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.loop_race")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--loops", type=int, default=2, help="that are started at once")
    wanted = parser.parse_args()
    faults = 0
    with new_stage() as here:
        fleet = CrewMaker(here.registry, here.server, here.recorders).make()
        for number in range(wanted.rounds):
            try:
                let_race(here.cafleet, here.registry, wanted.loops, fleet.fleet_id)
            except AssertionError as fault:
                faults += 1
                print(f"  FAULT in round {number}: {fault}", flush=True)
    of = f"{wanted.rounds} × {wanted.loops} loops at once"
    print(f"{of}: exactly one has run in {wanted.rounds - faults}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
