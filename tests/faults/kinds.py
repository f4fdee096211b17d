"""The kinds of agents that a soak sends to: how each misbehaves, and what that makes unknowable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Kind:
    """``switches`` are those of the simulated agent for good; ``trouble`` is what happens to it now
    and then, a name in :data:`tests.faults.troubles.TROUBLES`.

    Bodies end in ``ending``; the share ``urgent`` of them is sent as urgent.
    """

    name: str
    switches: dict[str, Any] = field(default_factory=dict)
    trouble: str | None = None
    ending: str = ""
    urgent: float = 0.0


_ALL = (
    Kind(name="plain"),
    Kind(name="swallow", switches={"swallow_enter": 3}),
    Kind(name="queue", switches={"work_seconds": 2.5, "merge_queue": False}, urgent=0.5),
    Kind(name="merge", switches={"work_seconds": 2.5, "merge_queue": True}, urgent=0.5),
    Kind(name="question", trouble="question"),
    Kind(name="draft", trouble="draft"),
    Kind(name="menu", switches={"menu_after_at": True}, ending=" see @README"),
    Kind(name="collapse", switches={"collapse_lines": 1}),
    Kind(name="slow", switches={"draw_delay": 0.7}),
    Kind(name="resize", trouble="resize"),
    Kind(name="crash", trouble="crash"),
    Kind(name="copymode", trouble="copymode"),
)
KINDS = {kind.name: kind for kind in _ALL}
