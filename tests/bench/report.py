"""The table of a run, for the terminal and for the page."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from importlib.metadata import version

from cafleet.clock import utc_now
from tests.bench.budget import Result

_PACKAGES = ("aiosql", "msgspec", "typer", "libtmux")
_PAGE = """\
# Performance

Written by `make bench`; the numbers are those of one run.

- {date}, {cores} cores, {system}
- Python {python}, SQLite {sqlite}, {tmux}
- {packages}

| what | measured | budget | figures | |
|---|---|---|---|---|
{rows}

## How to read it

A budget is a ratio wherever it can be one: both sides run in turn in the same run, and the value is
the median of the ratios of all rounds, so that a slow or busy machine meets both alike. `figures`
are the medians of the two sides. Operations and whole processes are measured in CPU time, what
panes and workers do in wall time.

- *Whole process*: the installed program against
  `python -c "import sqlite3, msgspec, aiosql, typer"`. It can be below 1: the program does not
  search for garbage at its end, which the bare imports do.
- *Many against few*: {many:,} messages against {few:,}, with 100 members in 10 fleets and answers of
  the same size; the names are among those of an eleventh fleet, of 1,001 members.
- *Bare execution*: the very statements of the operation, with its parameters, on the same
  connection, fetched into tuples.
- *Workers*: processes with a connection each, while a courier finds ten recipients at work and holds
  their notices; the bare ones insert one row in a transaction of its own with the same pragmas, but
  wait for the lock as long as it takes.
- *Open pages*: clients that ask again at every event, as the page does, while the fleet's loop notes
  its heartbeats; their timeline holds 200 messages.

The clock is no test: what CI holds is the number of steps that SQLite's virtual machine takes for
each operation, which must not grow with the number of messages (`tests/bench/test_steps.py`).
"""


def line(result: Result) -> str:
    """One line of the terminal."""
    verdict = "pass" if result.is_met else "FAIL"
    detail = f"  ({result.detail})" if result.detail else ""
    return f"{verdict}  {result.shown:>12}  {result.budget:>14}  {result.what}{detail}"


def page(results: Sequence[Result], few: int, many: int) -> str:
    """The whole of docs/performance.md."""
    return _PAGE.format(
        date=f"{utc_now():%Y-%m-%d}",
        cores=os.cpu_count(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        tmux=_tmux_version(),
        packages=", ".join(f"{name} {version(name)}" for name in _PACKAGES),
        rows="\n".join(_row(result) for result in results),
        few=few,
        many=many,
    )


def _row(result: Result) -> str:
    verdict = "pass" if result.is_met else "**fail**"
    return f"| {result.what} | {result.shown} | {result.budget} | {result.detail} | {verdict} |"


def _tmux_version() -> str:
    program = shutil.which("tmux")
    if program is None:
        return "no tmux"
    return subprocess.run(
        [program, "-V"], capture_output=True, text=True, check=True
    ).stdout.strip()
