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
from tests.faults.crowd import gather
from tests.faults.kinds import Kind
from tests.faults.staging import Stage, new_stage
from tests.harness.loops import wait_for_owner
from tests.harness.registry import Registry

WORKERS = 50
MEMBERS = 10
_ROOT = Path(__file__).resolve().parents[2]
_RATE = 0.5


def measure(messages: int, rounds: int) -> Iterator[Result]:
    """The rate, and what was lost, doubled or refused, over all rounds.

    The fleet's courier runs and looks at every recipient: they work, so that their notices are held.
    """
    each = messages // WORKERS
    pairs, wrong = [], 0
    with new_stage() as here:
        kinds = [Kind(name="busy", switches={"work_seconds": 3600.0})]
        crowd = gather(here.cafleet, here.registry, here.server, here.recorders, kinds, MEMBERS)
        members = [agent.member_id for agent in crowd.agents]
        wait_for_owner(here.registry)
        for _ in range(rounds):
            bare, refused = _rate("bare", here, members, each)
            own, failed = _rate("program", here, members, each)
            pairs.append((own, bare))
            wrong += refused + failed + _lost_or_doubled(here.registry, each)
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


def _rate(how: str, here: Stage, members: list[int], each: int) -> tuple[float, int]:
    """Messages per second of wall time, and how many workers have failed."""
    command = [sys.executable, "-m", "tests.bench.worker", how, str(here.registry.path)]
    workers = [
        subprocess.Popen(
            [*command, str(n), str(each), str(members[n % MEMBERS]), str(members[n % MEMBERS - 1])],
            cwd=_ROOT,
            env=here.cafleet.environment,
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


def _lost_or_doubled(registry: Registry, each: int) -> int:
    """How many messages of a round are not there exactly once. The next one finds nothing owed."""
    found = Counter(text for (text,) in registry.rows(_SENT))
    wanted = {f"program {n} {turn}" for n in range(WORKERS) for turn in range(each)}
    registry.rows("UPDATE messages SET text = 'counted', delivery_state = 'none'")
    return sum(found[text] != 1 for text in wanted) + len(found.keys() - wanted)


_SENT = "SELECT text FROM messages WHERE text GLOB 'program *'"
