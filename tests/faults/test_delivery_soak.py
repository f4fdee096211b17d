"""The soak in small: every kind of agent, in a fleet of a few kinds, with a few sends each.

`make soak` sends by the thousand.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.delivery_soak import Plan, Soak, line
from tests.faults.kinds import KINDS
from tests.faults.staging import stage

pytestmark = pytest.mark.slow

SENDS_PER_KIND = 8
_NAMES = list(KINDS)


@pytest.mark.parametrize("names", [_NAMES[0::2], _NAMES[1::2]], ids=",".join)
def test_what_agents_were_typed_is_what_the_courier_says(names: list[str], tmp_path: Path) -> None:
    plan = Plan(
        kinds=[KINDS[name] for name in names],
        sends=SENDS_PER_KIND * len(names),
        panes=len(names),
        seed=1,
        rate=4.0,
        kill_seconds=5.0,
    )
    with stage(tmp_path) as here:
        figures = Soak(here, plan).run()
    assert figures.faults == [], line(figures)
    assert figures.killed_loops > 0
    assert figures.submitted > figures.sends / 3, line(figures)
