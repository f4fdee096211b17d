"""Many processes that live long and send together, against as many that only insert."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.bench.budget import Result
from tests.bench.population import Population
from tests.bench.start_up import living_courier
from tests.bench.worker import FLEET
from tests.harness.database import Database

WORKERS = 50
_ROOT = Path(__file__).resolve().parents[2]
_RATE = 0.5


def measure(population: Population, messages: int, rounds: int) -> Iterator[Result]:
    """The rate, and what was lost, doubled or refused, over all rounds."""
    each = messages // WORKERS
    pairs, wrong = [], 0
    environment = {"CAFLEET_DATABASE_URL": f"sqlite:///{population.path}"}
    with living_courier(population, FLEET):
        for _ in range(rounds):
            bare, refused = _rate("bare", population, each, environment)
            own, failed = _rate("program", population, each, environment)
            pairs.append((own, bare))
            wrong += refused + failed + _lost_or_doubled(population, each)
    yield Result(
        what=f"{WORKERS} workers sending {messages:,} messages: rate against bare inserts",
        value=median(own / bare for own, bare in pairs),
        limit=_RATE,
        at_least=True,
        detail=f"{median(o for o, _ in pairs):.0f}/s / {median(b for _, b in pairs):.0f}/s",
    )
    yield Result(
        what=f"{WORKERS} workers sending {messages:,} messages: lost, doubled or refused",
        value=wrong,
        limit=0,
        unit="messages",
    )


def _rate(
    how: str, population: Population, each: int, environment: dict[str, str]
) -> tuple[float, int]:
    """Messages per second of wall time, and how many workers have failed."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.bench.worker", how, population.path, str(n), str(each)],
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(WORKERS)
    ]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    began = time.monotonic()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    failed = sum(worker.communicate()[0] != f"{each}\n" for worker in workers)
    return WORKERS * each / (time.monotonic() - began), failed


def _lost_or_doubled(population: Population, each: int) -> int:
    """How many messages of the last round are not there exactly once; they are renamed for the next."""
    database = Database(population.path)
    found = Counter(text for (text,) in database.rows(_SENT))
    wanted = {f"program {n} {turn}" for n in range(WORKERS) for turn in range(each)}
    database.rows("UPDATE messages SET text = 'counted' WHERE text GLOB 'program *'")
    return sum(found[text] != 1 for text in wanted) + len(found.keys() - wanted)


_SENT = "SELECT text FROM messages WHERE text GLOB 'program *'"
