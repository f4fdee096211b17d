"""What a fleet's loop costs while there is nothing to do.

python -m tests.bench.courier_idle --seconds 60
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

from tests.faults.crowd import gather
from tests.faults.kinds import KINDS
from tests.faults.staging import new_stage
from tests.harness.loops import wait_for_owner
from tests.tmux.faults import FaultyTmux

# What the start has left to do is over by then.
_SETTLING_SECONDS = 8.0


@dataclass(frozen=True)
class Idle:
    """``cpu`` is the share of one CPU, ``mib`` the largest resident size so far."""

    cpu: float
    mib: float
    tmux_calls: int


def idle(seconds: float = 60.0) -> Idle:
    """Watch the loop of a fleet of four, as `fleet create` has started it, for so long."""
    with new_stage() as here:
        faulty = FaultyTmux.installed(here.root / "counting", here.server)
        here.cafleet.environment.update(faulty.variables("loop", "none"))
        kinds = [KINDS["plain"]]
        gather(here.cafleet, here.registry, here.server, here.recorders, kinds, 2)
        pid = wait_for_owner(here.registry)
        time.sleep(_SETTLING_SECONDS)
        calls, before, began = faulty.calls("loop"), _cpu_seconds(pid), time.monotonic()
        time.sleep(seconds)
        used, passed = _cpu_seconds(pid) - before, time.monotonic() - began
        return Idle(used / passed, _peak_mib(pid), faulty.calls("loop") - calls)


def _cpu_seconds(pid: int) -> float:
    """What all threads have used; the first number of schedstat is nanoseconds on a CPU."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in threads) / 1e9


def _peak_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peak) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.courier_idle")
    parser.add_argument("--seconds", type=float, default=60.0)
    found = idle(parser.parse_args().seconds)
    print(f"{found.cpu:.3%} of one CPU, {found.mib:.1f} MiB, {found.tmux_calls} tmux calls")


if __name__ == "__main__":
    main()
