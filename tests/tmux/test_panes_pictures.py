"""Pictures show what is there, whatever it is called, and change nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cafleet.errors import PaneGoneError
from cafleet.panes import Multiplexer, multiplexer
from cafleet.records import Backend
from cafleet.screens import Picture
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.panes_fixtures import tag


def picture(mux: Multiplexer, pane: str) -> Picture:
    taken = mux.pictures([pane])[pane]
    assert isinstance(taken, Picture)
    return taken


def test_a_picture_is_the_screen_as_it_is_drawn(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    drawn = r"printf '\033[31mred\033[0m 界é\n\n  x'; exec sleep 100"
    pane = tmux_server.session("main", ["sh", "-c", drawn], columns=70, rows=14)
    wait_for(lambda: picture(mux, pane).cursor_y == 2, "all is drawn")
    taken = picture(mux, pane)
    rows = taken.screen.split("\n")
    assert rows[0] == "\x1b[31mred\x1b[39m 界é"
    assert rows[1:] == ["", "  x", *[""] * 11]
    assert (taken.columns, taken.rows) == (70, 14)
    assert (taken.cursor_x, taken.cursor_y) == (3, 2)
    assert (taken.command, taken.session, taken.tag) == ("sleep", "main", "")
    assert taken.window == tmux_server.ask(pane, "#{window_id}")
    assert (taken.dead, taken.in_mode, taken.input_off) == (False, False, False)


def test_what_a_hook_prints_is_on_no_screen(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    pane = tmux_server.session("main", ["sh", "-c", "printf 'a\nb'; exec sleep 100"])
    wait_for(lambda: picture(mux, pane).cursor_y == 1, "all is drawn")
    before, captured = picture(mux, pane), mux.capture([pane], lines=5, ansi=False)
    tmux_server.run("set-hook", "-g", "after-capture-pane", "display-message -p 'Proceed? [y/n]'")
    assert picture(mux, pane).screen == before.screen
    assert mux.capture([pane], lines=5, ansi=False) == captured == {pane: "a\nb"}


def test_many_panes_are_taken_at_once_and_absent_ones_named(
    mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    first = tmux_server.session("main", ["cat"])
    panes = [first, *(tmux_server.split(first, ["cat"]) for _ in range(3))]
    tmux_server.run("kill-pane", "-t", panes[1])
    wanted = ["%999", panes[0], "x'y", *panes[1:], panes[3]]
    taken = mux.pictures(wanted)
    assert list(taken) == ["%999", panes[0], "x'y", *panes[1:]]
    gone = [pane for pane in taken if isinstance(taken[pane], PaneGoneError)]
    assert gone == ["%999", "x'y", panes[1]]
    assert mux.pictures([]) == {}


def test_a_dead_pane_says_so(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    pane = tmux_server.session("main", ["cat"])
    tmux_server.run("set-option", "-g", "remain-on-exit", "on")
    dead = tmux_server.split(pane, ["true"])
    wait_for(lambda: picture(mux, dead).dead, "the pane is dead")
    assert not picture(mux, pane).dead


def test_a_killed_server_is_one_clear_error(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    tmux_server.session("main")
    tmux_server.stop()
    taken = mux.pictures(["%0", "%1"])
    assert taken["%0"] is taken["%1"]
    assert not isinstance(taken["%0"], Picture | PaneGoneError)


@pytest.mark.parametrize("name", ["a b", "$0", "%1", "@0", "=x", "ä'\"", "{last}", "-n", "!", "#"])
def test_sessions_may_be_called_anything(
    name: str, mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    pane = tmux_server.session("main")
    tmux_server.run("rename-session", "-t", pane, "--", name)
    assert picture(mux, pane).session == tmux_server.ask(pane, "#{session_name}") == name


def test_hostile_tags_come_back_as_they_are(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    pane = tmux_server.session("main", ["cat"])
    other = tmux_server.split(pane, ["sh", "-c", "printf screen; exec cat"])
    wait_for(lambda: "screen" in tmux_server.screen(other), "the screen is drawn")
    mux.set_tag(other, tag(3))

    @settings(max_examples=40)
    @given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).filter(bool))
    def comes_back(text: str) -> None:
        escaped = text[:-1] + "\\;" if text.endswith(";") else text
        tmux_server.run("set-option", "-p", "-t", pane, "--", "@cafleet", escaped)
        taken = mux.pictures([pane, other])
        mine, theirs = taken[pane], taken[other]
        assert isinstance(mine, Picture)
        assert isinstance(theirs, Picture)
        assert mine.tag == text
        assert mine.screen.strip() == ""
        assert theirs.screen.strip() == "screen"
        assert theirs.tag == tag(3).text()
        assert mux.tagged_panes() == {pane: mine.tag, other: theirs.tag}

    comes_back()


def test_tags_are_set_and_taken_off(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    pane = tmux_server.session("main")
    assert mux.tagged_panes() == {}
    mux.set_tag(pane, tag(2))
    assert mux.tagged_panes() == {pane: tag(2).text()}
    mux.set_tag(pane, tag(4))
    assert picture(mux, pane).tag == tag(4).text()
    mux.set_tag(pane, None)
    mux.set_tag(pane, None)
    assert picture(mux, pane).tag == ""
    for absent in ("%999", "main", ""):
        with pytest.raises(PaneGoneError):
            mux.set_tag(absent, tag(2))


def test_a_tag_survives_moving_and_renaming(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    first = tmux_server.session("main")
    pane = tmux_server.split(first)
    mux.set_tag(pane, tag(2))
    tmux_server.run("break-pane", "-d", "-s", pane)
    tmux_server.run("rename-session", "-t", pane, "other")
    taken = picture(mux, pane)
    assert (taken.tag, taken.session) == (tag(2).text(), "other")
    assert taken.window != picture(mux, first).window


def test_looking_changes_nothing(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    first = tmux_server.session("main", ["cat"])
    second = tmux_server.split(first, ["cat"])
    tmux_server.run("new-window", "-d", "-t", "main:", "cat")
    tmux_server.run("copy-mode", "-t", second)
    form = (
        "#{pane_id} #{pane_active} #{window_active} #{pane_mode} #{window_layout} #{history_size}"
    )
    before = tmux_server.run("list-panes", "-a", "-F", form)
    mux.pictures([first, second])
    mux.capture([first, second], lines=5, ansi=True)
    mux.tagged_panes()
    assert tmux_server.run("list-panes", "-a", "-F", form) == before
    assert tmux_server.run("list-buffers") == ""


def test_a_socket_with_spaces_and_a_plain_locale(environment: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="c f;", dir="/tmp") as folder:
        socket = str(Path(folder) / "a socket;")
        tmux = ["tmux", "-u", "-f", "/dev/null", "-S", socket]
        draw = "printf 'grün 界'; exec sleep 100"
        start = [*tmux, "new-session", "-d", "-s", "gänse", "-x", "90", "sh", "-c", draw]
        subprocess.run(start, env={**environment, "LC_ALL": "C"}, check=True)
        program = (
            "import sys, time; from cafleet.panes import multiplexer\n"
            "from cafleet.records import Backend\n"
            "time.sleep(0.3)\n"
            "picture = multiplexer(Backend.TMUX, sys.argv[1]).pictures(['%0'])['%0']\n"
            "sys.stdout.buffer.write((picture.session + picture.screen.strip()).encode())\n"
        )
        try:
            done = subprocess.run(
                [sys.executable, "-c", program, socket],
                env={**environment, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
                capture_output=True,
                check=True,
            )
        finally:
            subprocess.run([*tmux, "kill-server"], check=True)
    assert done.stdout.decode() == "gänsegrün 界"


def test_none_is_the_server_that_tmux_would_choose(
    tmux_server: TmuxServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMUX", f"{tmux_server.socket},123,0")
    assert multiplexer(Backend.TMUX, None).socket == tmux_server.socket
    monkeypatch.delenv("TMUX")
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    monkeypatch.setenv("TMUX_TMPDIR", str(link))
    ours = multiplexer(Backend.TMUX, None).socket
    folder = Path(ours).parent
    folder.mkdir(mode=0o700)
    told = subprocess.run(["tmux", "list-sessions"], capture_output=True, text=True)
    assert ours in told.stderr
    assert ours == str(tmp_path / f"tmux-{os.getuid()}" / "default")
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path / "missing"))
    assert multiplexer(Backend.TMUX, None).socket == f"/tmp/tmux-{os.getuid()}/default"
