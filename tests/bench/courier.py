"""The budgets of what happens in panes."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from tests.bench.budget import Result
from tests.bench.courier_idle import idle
from tests.bench.courier_panes import Compared, resting_panes


def panes(count: int, rounds: int) -> Iterator[Result]:
    """First byte, broadcast and scan, with so many resting agents and a live courier."""
    with resting_panes(count) as there:
        first = there.first_bytes(rounds)
        yield Result(
            what="commit of a send to the first byte at a resting pane",
            value=median(first),
            limit=1.0,
            unit="s",
            detail=f"slowest {max(first):.2f} s",
        )
        what = f"broadcast to {count} resting panes, until all are submitted: against one notice"
        yield _compared(what, there.broadcasts(rounds), 1.5)
        yield _compared(f"scan of {count} panes: against one capture", there.scans(rounds), 5.0)


def _compared(what: str, found: Compared, limit: float) -> Result:
    return Result(
        what=what,
        value=found.ratio,
        limit=limit,
        detail=f"{median(found.all):.2f} s / {median(found.one):.2f} s",
    )


def idle_loop(seconds: float) -> Iterator[Result]:
    """What a loop costs that has nothing to do."""
    found = idle(seconds)
    what = "a loop with nothing to do"
    yield Result(what=f"{what}: of one CPU", value=found.cpu * 100, limit=0.2, unit="%")
    yield Result(what=f"{what}: memory", value=found.mib, limit=45.0, unit="MiB")
    yield Result(what=f"{what}: tmux", value=found.tmux_calls, limit=0, unit="calls")
