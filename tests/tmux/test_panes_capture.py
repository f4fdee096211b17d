"""A capture is the last drawn lines: no more, no fewer, and never nothing for a pane that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.errors import MultiplexerError, PaneGoneError
from cafleet.panes import Multiplexer
from cafleet.panes.capture import last_drawn
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for


def captured(mux: Multiplexer, pane: str, *, lines: int = 20, ansi: bool = False) -> str:
    content = mux.capture([pane], lines=lines, ansi=ansi)[pane]
    assert isinstance(content, str)
    return content


def drawing(server: TmuxServer, path: Path, data: bytes, *, rows: int = 24) -> str:
    """A pane that has drawn ``data``, and the mark END that is then wiped out."""
    path.write_bytes(data)
    script = f"stty -opost; cat '{path}'; printf '\\033]2;END\\007'; exec sleep 100"
    pane = server.session("main", ["sh", "-c", script], columns=80, rows=rows)
    wait_for(lambda: server.ask(pane, "#{pane_title}") == "END", "all is drawn")
    return pane


def test_the_last_lines_across_the_scrollback(
    mux: Multiplexer, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    lines = [f"line {n}" for n in range(1, 1501)]
    pane = drawing(tmux_server, tmp_path / "d", "\r\n".join(lines).encode())
    assert captured(mux, pane, lines=3) == "line 1498\nline 1499\nline 1500"
    assert captured(mux, pane, lines=1) == "line 1500"
    assert captured(mux, pane, lines=1400).split("\n") == lines[100:]
    for endless in (5000, 2**31, 2**63 - 1):
        assert captured(mux, pane, lines=endless).split("\n") == lines


def test_blank_lines_at_the_end_go_and_those_within_stay(
    mux: Multiplexer, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    data = b"one\r\n\r\n  two  \r\n" + b"   \r\n" * 40
    pane = drawing(tmux_server, tmp_path / "d", data)
    assert captured(mux, pane, lines=3) == "one\n\n  two"
    assert captured(mux, pane, lines=2) == "\n  two"


def test_an_empty_screen_is_empty(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    pane = tmux_server.session("main")
    assert captured(mux, pane) == ""
    assert captured(mux, pane, ansi=True) == ""


def test_without_ansi_there_is_no_control_character(
    mux: Multiplexer, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    data = (
        b"\x1b[1;38;2;1;2;3;4mbold\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \xff\xfe\xc2\x9b"
        b" \x1b(0qq\x1b(B \x07\x7f\x00 \x1b[4:3mwave\x1b[m end"
    )
    pane = drawing(tmux_server, tmp_path / "d", data)
    plain = captured(mux, pane)
    assert plain.startswith("bold link ")
    assert plain.endswith("wave end")
    assert plain.isprintable()
    coloured = captured(mux, pane, ansi=True)
    assert coloured.startswith("\x1b[1;4m\x1b[38;2;1;2;3mbold\x1b[0m")
    assert re.sub(r"\x1b\[[0-9;:]*m", "", coloured).rstrip() == plain


def test_ansi_lines_begin_with_what_was_set_above_and_leave_nothing_set(
    mux: Multiplexer, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    data = b"\x1b[31;44mone\r\n\x1b[32mtwo\r\nthree\r\nfour\x1b[0m"
    pane = drawing(tmux_server, tmp_path / "d", data)
    last = captured(mux, pane, lines=2, ansi=True)
    assert re.match(r"(\x1b\[(32|44)m){2}three", last)
    assert last.endswith("\x1b[0m")
    assert re.sub(r"\x1b\[\d+m", "", last) == "three\nfour"


@given(st.lists(st.sampled_from(["", " ", "x", "\x1b[31m", "\x1b[0m", "\x1b[39m"]), max_size=30))
def test_any_cut_of_coloured_lines_keeps_the_text(parts: list[str]) -> None:
    printed = "\n".join(parts)
    rows = re.sub(r"\x1b\[\d+m", "", printed).rstrip(" \n").split("\n")
    for count in (1, 2, 100):
        cut = last_drawn(printed, count)
        text = re.sub(r"\x1b\[\d+m", "", cut)
        assert [row.rstrip() for row in text.split("\n")] == [row.rstrip() for row in rows[-count:]]


def test_gone_is_an_error_and_spoils_nothing(
    mux: Multiplexer, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    pane = drawing(tmux_server, tmp_path / "d", b"here")
    tmux_server.run("set-option", "-g", "remain-on-exit", "on")
    dead = tmux_server.split(pane, ["echo", "last words"])
    wait_for(lambda: tmux_server.ask(dead, "#{pane_dead}") == "1", "the pane is dead")
    found = mux.capture([dead, pane, "%999", "nonsense"], lines=5, ansi=False)
    assert found[pane] == "here"
    assert "last words" in str(found[dead])
    for gone in ("%999", "nonsense"):
        assert isinstance(found[gone], PaneGoneError)
    tmux_server.stop()
    unreachable = mux.capture([pane], lines=5, ansi=False)[pane]
    assert isinstance(unreachable, MultiplexerError)
    assert not isinstance(unreachable, PaneGoneError)


@pytest.mark.parametrize("ansi", [False, True])
def test_the_alternate_screen_is_what_is_seen(
    ansi: bool, mux: Multiplexer, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    pane = drawing(tmux_server, tmp_path / "d", b"before\x1b[?1049h\x1b[Hwithin")
    assert captured(mux, pane, ansi=ansi) == "within"
