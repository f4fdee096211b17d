"""Nothing that is stored can steer a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.present.visible import visible, visible_body

anything = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("bob\rexit", r"bob\x0dexit"),
        ("a\tb\nc", r"a\x09b\x0ac"),
        ("\x00\x7f\x9b31m", r"\x00\x7f\x9b31m"),
        ("line\u2028para\u2029", r"line\u2028para\u2029"),
        ("evil\u202etxt.exe\u2066", r"evil\u202etxt.exe\u2066"),
        ("bad\udcff", r"bad\udcff"),
        ("[red]x[/nope] {0} %s", "[red]x[/nope] {0} %s"),
        ("naïve 界 👩‍👩‍👧", "naïve 界 👩‍👩‍👧"),
    ],
)
def test_steering_characters_are_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_body_keeps_its_lines_and_tabs() -> None:
    assert visible_body("a\tb\r\nc\x1b[0m") == "a\tb\\x0d\nc\\x1b[0m"


@given(anything)
def test_a_line_holds_no_control_and_is_always_encodable(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in shown)
    assert not any(unicodedata.bidirectional(c) in _BIDI_CONTROLS for c in shown)
    assert len(shown.splitlines()) <= 1
    shown.encode()


@given(anything)
def test_a_body_is_its_lines_made_visible(text: str) -> None:
    shown = visible_body(text)
    assert shown.split("\n") == [
        "\t".join(visible(part) for part in line.split("\t")) for line in text.split("\n")
    ]


@given(anything)
def test_what_is_visible_stays_as_it_is(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert visible_body(visible_body(text)) == visible_body(text)


_BIDI_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
