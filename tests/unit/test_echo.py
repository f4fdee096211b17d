"""What is known again of a text that was typed, in the composer and above it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.agents.echo import begins_with_end, holds_cut, holds_only
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


bodies = st.lists(st.text(st.characters(exclude_categories=["C"]), max_size=30), min_size=1)


def cut(body: str, length: int) -> str:
    return f"{body[:length]}…" if len(body) > length else body


@given(bodies, st.integers(1, 40))
def test_notices_are_known_again_wherever_their_bodies_were_cut(
    texts: list[str], length: int
) -> None:
    parts = [
        (f"[cafleet msg {at} to 3 (bob) from 1 (a) {AT}]", text) for at, text in enumerate(texts)
    ]
    lines = [f"{head}\n{cut(body, length)}" for head, body in parts]
    assert holds_cut(draft(*lines), parts)
    assert not holds_cut(draft("I think:", *lines), parts)
    assert not holds_cut(draft(*lines, "and do it"), parts)
    assert not holds_cut(draft(*lines[:-1]), parts)


def test_a_body_that_was_cut_shows_it() -> None:
    parts = [(f"[cafleet msg 7 to 3 (bob) from 1 (a) {AT}]", "look at all of this")]
    assert holds_cut(draft(parts[0][0], "look at…"), parts)
    assert not holds_cut(draft(parts[0][0], "look at"), parts)
    assert not holds_cut(draft(parts[0][0], "look there…"), parts)
    assert not holds_cut(draft(""), parts)


def draft(*lines: str) -> Look:
    return Look(state=ScreenState.DRAFT, cue="", composer="\n".join(lines))
