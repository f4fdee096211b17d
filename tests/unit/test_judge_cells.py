"""Screens parsed into rows of styled cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.agents.cells import Style, parse


def styles(text: str) -> list[Style]:
    """The style of each cell of one row."""
    return [cell.style for cell in parse(text)[0].cells()]


@pytest.mark.parametrize(
    ("sequence", "style"),
    [
        ("\x1b[2m", Style(dim=True)),
        ("\x1b[1;7m", Style(bold=True, reverse=True)),
        ("\x1b[1;2;7m\x1b[22m", Style(reverse=True)),
        ("\x1b[7m\x1b[27m", Style()),
        ("\x1b[0;2m", Style(dim=True)),
        ("\x1b[2m\x1b[m", Style()),
        ("\x1b[38;5;246m", Style(foreground="5;246")),
        ("\x1b[38;2;2;7;1m", Style(foreground="2;2;7;1")),
        ("\x1b[38:5:246m", Style(foreground="5;246")),
        ("\x1b[38:2::1:2:3m", Style(foreground="2;1;2;3")),
        ("\x1b[38;5;246;2m", Style(foreground="5;246", dim=True)),
        ("\x1b[38;5;246m\x1b[39m", Style()),
        ("\x1b[48;5;2;7m", Style(background="5;2", reverse=True)),
        ("\x1b[58;5;2m", Style()),
        ("\x1b[4:2m", Style()),
        ("\x1b[31m", Style(foreground="5;1")),
        ("\x1b[97m", Style(foreground="5;15")),
        ("\x1b[40;104m", Style(background="5;12")),
        ("\x1b[38m", Style()),
        ("\x1b[99999999999m", Style()),
        ("\x1b[2K\x1b[?25l", Style()),
        ("\x1b]8;;http://x\x1b\\", Style()),
        ("\x1b]0;title\x07", Style()),
        ("\x1b(B", Style()),
        ("\x0f", Style()),
    ],
)
def test_sequences(sequence: str, style: Style) -> None:
    assert styles(f"{sequence}x") == [style]


def test_a_style_holds_across_rows() -> None:
    first, second = parse("\x1b[2ma\nb\x1b[0mc")
    assert [cell.style.dim for row in (first, second) for cell in row.cells()] == [
        True,
        True,
        False,
    ]


def test_columns_of_wide_and_combining_characters() -> None:
    cells = parse("a界e\u0301🎉b")[0].cells()
    assert [cell.text for cell in cells] == ["a", "界", "", "e\u0301", "🎉", "", "b"]
    assert [cell.text for cell in parse("界\u0301b")[0].cells()] == ["界\u0301", "", "b"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_is_lost_but_controls(text: str) -> None:
    rows = parse(text)
    assert len(rows) == text.count("\n") + 1
    if "\x1b" not in text:
        kept = "".join(char for char in text if char == "\n" or not _is_control(char))
        assert "\n".join("".join(run for run, _ in row.runs) for row in rows) == kept


def _is_control(char: str) -> bool:
    return ord(char) < 32 or 127 <= ord(char) < 160
