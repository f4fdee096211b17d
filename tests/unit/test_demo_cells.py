"""Rows that the simulated agents draw: measured in cells, nothing lost, nothing obeyed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from demo.cells import clip, visible, width, wrap

TEXTS = st.text(st.sampled_from("ab é界😀\u0301\n")) | st.text(
    st.characters(exclude_categories=["Cs", "Cc"])
)


@given(TEXTS, st.integers(2, 20))
def test_wrapped_rows_fit_and_join_to_the_text_again(text: str, columns: int) -> None:
    for line in text.split("\n"):
        rows = wrap(line, columns)
        assert "".join(rows) == line
        assert all(width(row) <= columns for row in rows)


def test_rows_break_behind_a_blank_if_there_is_one() -> None:
    assert wrap("one two three", 8) == ["one two ", "three"]
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrap("a\n\nb", 4) == ["a", "", "b"]


@given(TEXTS, st.integers(0, 20))
def test_a_clipped_text_is_a_beginning_that_fits(text: str, columns: int) -> None:
    cut = clip(text, columns)
    assert text.startswith(cut)
    assert width(cut) <= columns


@given(st.text())
def test_nothing_visible_is_a_control_character(text: str) -> None:
    shown = visible(text)
    assert all(
        character == "\n" or character.isprintable() or ord(character) > 0x9F for character in shown
    )
