"""What is known again of a text that was typed, in the composer and above it."""

from __future__ import annotations

import pytest

from cafleet.agents.own_text import begins_with_end, holds_only
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Look

AT = "2026-05-05T05:42:11.123456+00:00"
TEXT = f"[cafleet msg 7 to 3 (bob) from 1 (Director) {AT}]\nplease look at this "


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


@pytest.mark.parametrize(
    ("composer", "typed", "expected"),
    [
        ("hi 👨‍👩‍👧‍", "hi 👨‍👩‍👧‍👦", True),
        ("hi 👨", "hi 👨‍👩‍👧‍👦", True),
        ("hi 👨👩👧👦", "hi 👨👩👧👦", True),
        ("hi ❤", "hi ❤\ufe0f", True),
        ("hi a\u0301", "hi a" + "\u0301" * 30, True),
        ("hi \ud55c", "hi \u1112\u1161\u11ab", True),
        ("hi \ufffd", "hi 🫩", True),
        ("hi", "hi 🫩", True),
        ("hi 日\n本", "hi 日本", True),
        ("hi 🎉", "hi", False),
        ("hi 🎉🎉", "hi 🎉", False),
        ("hi 👩👨", "hi 👨👩", False),
        ("hi 日", "hi 日本", False),
        ("🎉", "🎉", True),
        ("", "🎉", False),
        ("👨", "🎉", False),
    ],
)
def test_a_text_is_known_again_though_a_terminal_has_cut_its_clusters(
    composer: str, typed: str, expected: bool
) -> None:
    seen = Look(state=ScreenState.DRAFT, cue="", composer=composer)
    assert holds_only(seen, typed, CodingAgent.CLAUDE, folded=False) is expected
