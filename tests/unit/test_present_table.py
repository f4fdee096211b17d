"""Tables line up on a terminal, whatever stands in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from cafleet.present.cells import agent_cell, cell, idle_cell, pane_cell
from cafleet.present.table import table
from cafleet.records import Backend, CodingAgent, Placement
from cafleet.widths import display_width

names = st.text(st.characters(exclude_categories=()), max_size=20).map(cell)


def placed(pane: str | None) -> Placement:
    return Placement(
        backend=Backend.TMUX,
        mux_socket="/run/tmux",
        mux_server_pid=123,
        mux_session="main",
        mux_window_id="@1",
        mux_pane_id=pane,
        coding_agent=CodingAgent.CODEX,
        created_at="2026-05-05T05:42:11.123456+00:00",
    )


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table(("id", "name", "pane"), [["1", "界界", "%1"], ["22", "ab", "-"]]) == (
        "id  name  pane\n1   界界  %1\n22  ab    -"
    )


def test_long_values_are_not_cut() -> None:
    long = "x" * 5000
    assert long in table(("name", "id"), [[long, "1"]])


@given(st.lists(st.tuples(names, names), min_size=1))
def test_second_column_starts_at_one_place(rows: list[tuple[str, str]]) -> None:
    lines = table(("first", "second"), [[first, "|" + second] for first, second in rows]).split(
        "\n"
    )
    assert len(lines) == len(rows) + 1
    start = max(display_width("first"), *(display_width(first) for first, _ in rows)) + 2
    for line, (first, _) in zip(lines[1:], rows, strict=True):
        before = line[: line.index("|", len(first))]
        assert wcswidth(before) == start


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"),
        (0, "0s"),
        (12, "12s"),
        (59, "59s"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h"),
        (10 * 86400, "240h"),
    ],
)
def test_idle_is_rounded_down(seconds: int | None, shown: str) -> None:
    assert idle_cell(seconds) == shown


def test_absent_values_have_one_glyph() -> None:
    assert cell(None) == "-"
    assert cell(0) == "0"
    assert (pane_cell(None), agent_cell(None)) == ("-", "-")


def test_a_pending_pane_is_not_an_absent_one() -> None:
    assert pane_cell(placed(None)) == "(pending)"
    assert pane_cell(placed("%7")) == "%7"
    assert agent_cell(placed(None)) == "codex"
