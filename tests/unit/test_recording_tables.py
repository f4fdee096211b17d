"""The tables of scenes say only what the recorder can do, and each screen has one origin."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from cafleet.records import ScreenState
from tests.agents.recording.actor import Actor
from tests.agents.recording.table import AGENTS, SIZES, tours


@pytest.mark.parametrize("agent", AGENTS)
def test_a_table_can_be_played(agent: str) -> None:
    for tour in tours(agent):
        assert set(tour.sizes) <= set(SIZES), tour.name
        re.compile(tour.ready)
        for scene in tour.scenes:
            assert re.fullmatch("[a-z][a-z0-9-]*", scene.name)
            assert set(scene.sizes) <= set(SIZES), scene.name
            assert set(scene.expected) <= set(ScreenState), scene.name
            re.compile(scene.sees)
            for step in (*scene.do, *scene.undo):
                assert hasattr(Actor, f"do_{step.partition(' ')[0]}"), step


@pytest.mark.parametrize("agent", AGENTS)
def test_no_two_scenes_write_one_file(agent: str) -> None:
    made = Counter(
        (scene.name, size)
        for tour in tours(agent)
        for scene in tour.scenes
        for size in {*scene.sizes} & {*tour.sizes}
    )
    assert [what for what, times in made.items() if times > 1] == []


@pytest.mark.parametrize("agent", AGENTS)
def test_a_name_does_not_contradict_what_is_expected(agent: str) -> None:
    """Other tests and people read the beginning of a name."""
    for tour in tours(agent):
        for scene in tour.scenes:
            for state in ("rest", "draft", "working", "awaiting"):
                if scene.name.startswith(f"{state}-"):
                    assert state in scene.expected, scene.name
