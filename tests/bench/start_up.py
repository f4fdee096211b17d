"""The commands of every turn, as whole processes, against the bare imports of their packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

from cafleet import clock
from cafleet.broker import monitor
from cafleet.courier.process_lock import ProcessLock, courier_lock_path
from tests.bench.budget import Result
from tests.bench.population import Population
from tests.bench.timing import Run, ratio, run
from tests.harness.database import Database
from tests.harness.program import CAFLEET

_BARE = [sys.executable, "-c", "import sqlite3, msgspec, aiosql, typer"]
_RATIO, _MIB = 1.25, 45.0
_FLEET, _READER, _SENDER = 4, 35, 33


def measure(population: Population, home: Path, rounds: int) -> Iterator[Result]:
    """Two lines for each command. It sends and acknowledges in the population."""
    # The first run of each writes the byte code of the program, as pip has done for the packages.
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "CAFLEET_DATABASE_URL": f"sqlite:///{population.path}",
    }
    Database(population.path).record_assets(home)
    waiting = iter(population.pending())
    people = ["--from-member-id", str(_SENDER), "--to-member-id", str(_READER)]
    commands: dict[str, Callable[[], list[str]]] = {
        "message poll": lambda: [str(_READER)],
        "message ack": lambda: [str(next(waiting))],
        "message send": lambda: [*people, "please look again"],
        "member list": lambda: [str(_FLEET)],
    }
    with living_courier(population, _FLEET):
        for name, arguments in commands.items():
            words = [str(CAFLEET), *name.split()]
            pairs = [
                (run([*words, *arguments()], environment), run(_BARE, environment))
                for _ in range(rounds + 1)
            ]
            yield from _results(name, pairs[1:])


def _results(name: str, pairs: list[tuple[Run, Run]]) -> Iterator[Result]:
    own, bare = [pair[0].cpu for pair in pairs], [pair[1].cpu for pair in pairs]
    yield Result(
        what=f"`{name}`, whole process: CPU against the bare imports",
        value=ratio(own, bare),
        limit=_RATIO,
        detail=f"{median(own) * 1000:.0f} ms / {median(bare) * 1000:.0f} ms",
    )
    yield Result(
        what=f"`{name}`, whole process: memory",
        value=max(pair[0].mib for pair in pairs),
        limit=_MIB,
        unit="MiB",
    )


@contextmanager
def living_courier(population: Population, fleet_id: int) -> Iterator[None]:
    """What a sender sees of a live courier: its row and its lock. It types nothing."""
    lock = ProcessLock(courier_lock_path(str(population.path), fleet_id))
    lock.acquire()
    try:
        with closing(population.open()) as conn:
            monitor.claim(
                conn,
                fleet_id=fleet_id,
                pid=os.getpid(),
                tick_seconds=3_600,
                wake_interval_seconds=0,
                lock_held=False,
                now=clock.utc_now(),
            )
        yield
    finally:
        lock.release()
