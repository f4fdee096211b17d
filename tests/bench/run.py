"""`make bench`: every budget, measured and judged.

python -m tests.bench.run [--only PART ...] [--quick]
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from cafleet.cli.main import OBJECTS_BETWEEN_SEARCHES
from tests.bench import in_process, report, start_up
from tests.bench.budget import Result
from tests.bench.cache import copy_of

_PAGE = Path(__file__).resolve().parents[2] / "docs/performance.md"
FEW = 10_000
MANY, MANY_IF_QUICK = 1_000_000, 100_000


def _parts(folder: Path, many: int, quick: bool) -> dict[str, Callable[[], Iterator[Result]]]:
    rounds = 5 if quick else 25
    return {
        "start": lambda: start_up.measure(copy_of(FEW, folder), folder / "home", rounds),
        "hot": lambda: in_process.measure(copy_of(FEW, folder), copy_of(many, folder), rounds),
        "workers": lambda: _with_panes("workers").measure(10_000, 1 if quick else 3),
        "panes": lambda: _with_panes("courier").panes(10 if quick else 50, 3 if quick else 7),
        "idle": lambda: _with_panes("courier").idle_loop(10.0 if quick else 60.0),
        "pages": lambda: _with_panes("open_pages").measure(15.0 if quick else 60.0),
    }


def _with_panes(name: str) -> ModuleType:
    # These bring the harness of tmux and of the agents, which would enlarge whatever is started.
    return import_module(f"tests.bench.{name}")


def main() -> int:
    """Exit 1 when a budget is missed. The page is written by a full run only."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.run", description=__doc__)
    names = ["start", "hot", "workers", "panes", "idle", "pages"]
    parser.add_argument("--only", nargs="+", choices=names, help="these parts; writes no page")
    parser.add_argument("--quick", action="store_true", help="fewer of everything; writes no page")
    wanted = parser.parse_args()
    # As in the program itself.
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES)
    many = MANY_IF_QUICK if wanted.quick else MANY
    results = []
    for name in wanted.only or names:
        with tempfile.TemporaryDirectory(prefix="cafleet-bench-") as folder:
            for result in _parts(Path(folder), many, wanted.quick)[name]():
                print(report.line(result), flush=True)
                results.append(result)
    if not wanted.only and not wanted.quick:
        _PAGE.write_text(report.page(results, FEW, many), "utf-8")
    missed = sum(not result.is_met for result in results)
    print(f"{len(results) - missed} budgets met, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
