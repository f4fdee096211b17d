"""Values as they stand in a table or in a line of text."""

from __future__ import annotations

from datetime import datetime

from cafleet import clock
from cafleet.present.visible import visible
from cafleet.records import Placement
from cafleet.widths import cut_name

ABSENT = "-"
PENDING = "(pending)"


def cell(value: str | int | None) -> str:
    """One value in printable text; null is ``-``."""
    return ABSENT if value is None else visible(str(value))


def name_cell(name: str | None) -> str:
    """The name of a member or fleet in printable text, a long one cut; null is ``-``."""
    return ABSENT if name is None else cut_name(visible(name))


def pane_cell(placement: Placement | None) -> str:
    """The pane of a member: its id, ``(pending)`` before it has one, ``-`` without a placement."""
    if placement is None:
        return ABSENT
    return PENDING if placement.mux_pane_id is None else visible(placement.mux_pane_id)


def agent_cell(placement: Placement | None) -> str:
    """The coding agent of a member, ``-`` without a placement."""
    return ABSENT if placement is None else placement.coding_agent.value


def age_cell(stamp: str | None, now: datetime) -> str:
    """How long before ``now`` a stored time was, 0s for one to come; ``-`` if none can be read."""
    seconds = None if stamp is None else clock.seconds_since(stamp, now)
    return idle_cell(None if seconds is None else max(0, seconds))


def idle_cell(seconds: int | None) -> str:
    """An age in whole seconds, minutes or hours, rounded down."""
    if seconds is None:
        return ABSENT
    return clock.short_age(seconds)
