"""No mutant of a screen that is not at rest reads as rest; of those at rest hardly any reads otherwise.

``MUTANT_SEED`` and ``MUTANT_COUNT`` try others, and more. A failure names the recording, the
mutations and the seed, and shows the screen.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from functools import cache

import pytest

from cafleet.agents.cells import parse
from cafleet.agents.composer import find
from cafleet.agents.cues import Cues, cues_for
from cafleet.agents.judge import judge
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Look, Picture
from tests.harness.mutants import (
    HARMFUL,
    HARMLESS,
    Mutation,
    Scene,
    picture_of,
    scene_of,
    wrapped,
)
from tests.harness.screens import Recording, recordings

SEED = int(os.environ.get("MUTANT_SEED", "1"))
COUNT = int(os.environ.get("MUTANT_COUNT", "3000"))


@pytest.fixture(scope="module", autouse=True)
def _home(no_cues_of_the_user: None) -> None:
    """No cues of the user who runs the tests."""


@cache
def cues(agent: CodingAgent) -> Cues:
    return cues_for(agent)


@cache
def scene(recording: Recording) -> Scene:
    picture = recording.picture
    composer = find(parse(picture.screen), picture, cues(recording.agent))
    rows = range(0)
    if composer is not None:
        rows = range(composer.outer, max(composer.bottom + 1, composer.status))
    return scene_of(picture, rows)


def mutant(
    recording: Recording, rng: random.Random, mutations: list[Mutation]
) -> tuple[Picture, list[str]]:
    """The picture after the mutations, and the names of those that applied."""
    drawn, applied = scene(recording), []
    for mutation in mutations:
        changed = mutation(drawn, rng)
        if changed is not None:
            drawn = changed
            applied.append(mutation.__name__)
    return picture_of(drawn, recording.picture), applied


def judged(recording: Recording, picture: Picture) -> Look:
    return judge(picture, recording.agent, cues=cues(recording.agent))


def shown(recording: Recording, picture: Picture, applied: list[str], look: Look) -> str:
    rows = "\n".join(f"{at:3}|{row.text}" for at, row in enumerate(parse(picture.screen)))
    cursor = f"cursor {picture.cursor_x},{picture.cursor_y}"
    head = f"MUTANT_SEED={SEED}: {recording.name} {applied} is {look.state} ({look.cue}), {cursor}"
    return f"{head}\n{rows}"


@pytest.mark.slow
def test_nothing_that_does_not_rest_reads_as_rest() -> None:
    rng = random.Random(SEED)
    restless = [each for each in recordings() if not each.may_rest and not each.may_be_shell]
    wrong = []
    for number in range(COUNT):
        recording = restless[number % len(restless)]
        # One piece of evidence may be lost, not all.
        mutations = [*rng.sample(HARMLESS, rng.randint(0, 2)), rng.choice(HARMFUL)]
        picture, applied = mutant(recording, rng, mutations)
        look = judged(recording, picture)
        if look.state is ScreenState.REST:
            wrong.append(shown(recording, picture, applied, look))
    assert not wrong, f"{len(wrong)} of {COUNT}; the first:\n{wrong[0]}"


@pytest.mark.slow
def test_what_rests_reads_as_rest() -> None:
    rng = random.Random(SEED)
    resting = [each for each in recordings() if each.is_rest]
    wrong: Counter[str] = Counter()
    first = ""
    for number in range(COUNT):
        recording = resting[number % len(resting)]
        picture, applied = mutant(recording, rng, rng.sample(HARMLESS, rng.randint(1, 3)))
        look = judged(recording, picture)
        if look.state is not ScreenState.REST:
            wrong[recording.name] += 1
            first = first or shown(recording, picture, applied, look)
    assert wrong.total() <= COUNT / 100, f"{wrong.total()} of {COUNT}: {wrong}\n{first}"


def test_no_mutation_is_idle() -> None:
    """Each of them applies to some screen, and changes it."""
    rng = random.Random(SEED)
    for mutation in (*HARMLESS, *HARMFUL):
        changed = (
            mutant(each, rng, [mutation])[0] != mutant(each, rng, [])[0] for each in recordings()
        )
        assert any(changed), mutation.__name__


def test_a_pane_that_became_narrower_a_moment_ago() -> None:
    """tmux wraps what a program of the main screen has drawn, until it draws anew."""
    rng = random.Random(SEED)
    resting = [each for each in recordings() if each.is_rest and each.agent is CodingAgent.CLAUDE]
    made = [(each, *mutant(each, rng, [wrapped])) for each in resting]
    states = [judged(each, picture).state for each, picture, applied in made if applied]
    assert states.count(ScreenState.REST) > len(states) * 0.9
