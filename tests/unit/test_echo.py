"""What a low pane leaves in sight of a text that has just been submitted."""

from __future__ import annotations

import pytest

from cafleet.agents.echo import begins_with_end
from cafleet.records import ScreenState
from cafleet.screens import Look

TEXT = "[cafleet msg 7 from 1 (Director) 2026-05-05T05:42:11.123456+00:00]\nplease look at this "


def look(transcript: str) -> Look:
    return Look(state=ScreenState.REST, cue="", transcript=transcript)


@pytest.mark.parametrize(
    ("transcript", "before", "expected"),
    [
        ("  please look at\n  this\n\nUnderstood.\n", "\nUnderstood.\n", True),
        ("  at this\n\nUnderstood.\n", "", True),
        ("  look at\n  this", "", True),
        ("  this", "", True),
        ("  is\n\nUnderstood.\n", "", False),
        ("  please look\n\nUnderstood.\n", "", False),
        ("Understood.\n please look at this\n", "", False),
        ("", "", False),
        ("  at this\n\nUnderstood.\n", "look at this\n\nUnderstood.\n", False),
    ],
)
def test_the_end_of_a_text_at_the_top_tells_that_it_was_submitted(
    transcript: str, before: str, expected: bool
) -> None:
    assert begins_with_end(look(transcript), TEXT, look(before)) is expected
