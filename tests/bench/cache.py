"""The populations of the benchmark, built once and kept outside the checkout."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cafleet.store import queries
from tests.bench.population import EDITION, Population, populate


def copy_of(messages: int, folder: Path) -> Population:
    """A copy in ``folder`` of the population of so many messages, which is built if need be."""
    kept = _kept(messages)
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        building = kept.with_suffix(f".{os.getpid()}")
        populate(building, messages)
        building.replace(kept)
    copy = folder / f"{messages}.db"
    shutil.copyfile(kept, copy)
    return Population(copy, messages)


def _kept(messages: int) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    name = f"{messages}-schema{queries.SCHEMA_VERSION}-edition{EDITION}.db"
    return Path(base, "cafleet-bench", name)
