"""Measuring by CPU time and in turns, so that what else the machine does meets both sides alike."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

Work = Callable[[], object]


@dataclass(frozen=True)
class Run:
    """What the system says of a finished process: CPU seconds of both kinds, largest MiB."""

    cpu: float
    mib: float


def run(command: Sequence[str], environment: Mapping[str, str]) -> Run:
    """Run a command that must succeed."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} has ended with {process.returncode}")
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def in_turn(rounds: int, works: Sequence[Work], repeat: int = 1) -> list[list[float]]:
    """CPU seconds of this thread for each work, ``repeat`` calls of it a round, after a warm-up."""
    for work in works:
        work()
    samples: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for found, work in zip(samples, works, strict=True):
            before = time.thread_time()
            for _ in range(repeat):
                work()
            found.append((time.thread_time() - before) / repeat)
    return samples


def ratio(samples: Sequence[float], others: Sequence[float]) -> float:
    """The median of the ratios within each round."""
    return median(one / other for one, other in zip(samples, others, strict=True))


def milliseconds(samples: Sequence[float]) -> str:
    return f"{median(samples) * 1000:.3g} ms"
