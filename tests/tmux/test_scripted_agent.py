"""The simulated agent itself, on a bare tmux: what other tests build on."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import pytest

from demo.keys import BURST_SECONDS
from demo.screens import AGENTS
from tests.harness.fleet import wait_until_resting
from tests.harness.journals import Recorders, Recording
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

WORKING_CUES = {
    "claude": "esc to interrupt",
    "codex": "esc to interrupt",
    "opencode": "esc interrupt",
}
PROMPTS = {"claude": "❯\u00a0", "codex": "› ", "opencode": "┃  "}

Start = Callable[..., tuple[str, Recording]]


@pytest.fixture
def start(tmux_server: TmuxServer, recorders: Recorders) -> Start:
    """Start a recorder as an agent in a session of its own and wait until it rests."""

    def begin(
        agent: str, *argv: str, columns: int = 100, rows: int = 30, **switches: object
    ) -> tuple[str, Recording]:
        recorders.start_with(**switches)
        command = [str(recorders.programs / agent), *argv]
        pane = tmux_server.session(f"s-{agent}", command, columns=columns, rows=rows)
        wait_until_resting(tmux_server, pane)
        return pane, recorders.of(pane)

    return begin


def shows(server: TmuxServer, pane: str, text: str) -> None:
    wait_for(lambda: text in server.screen(pane), f"{pane} shows {text!r}")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_paste_stays_in_the_composer_until_enter(
    agent: str, start: Start, tmux_server: TmuxServer
) -> None:
    pane, recording = start(agent)
    tmux_server.paste(pane, "first line\nsecond line ")
    shows(tmux_server, pane, PROMPTS[agent] + "first line")
    shows(tmux_server, pane, "second line")
    assert recording.submits() == []
    assert recording.received() == b"\x1b[200~first line\nsecond line \x1b[201~"

    tmux_server.enter(pane)
    shows(tmux_server, pane, "Understood.")
    assert recording.submits() == ["first line\nsecond line "]
    assert recording.typed() == b"first line\nsecond line \r"
    wait_until_resting(tmux_server, pane)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_at_work_says_so_and_queues(
    agent: str, start: Start, tmux_server: TmuxServer
) -> None:
    pane, recording = start(agent)
    recording.command(work=1.5)
    shows(tmux_server, pane, WORKING_CUES[agent])
    tmux_server.paste(pane, "meanwhile ")
    tmux_server.enter(pane)
    wait_for(lambda: recording.submits() == ["meanwhile "], "the text was submitted")
    assert "Understood." not in tmux_server.screen(pane)
    wait_for(lambda: tmux_server.screen(pane).count("Understood.") == 2, "both turns are done")
    assert tmux_server.screen(pane).count("meanwhile") == 1
    assert WORKING_CUES[agent] not in tmux_server.screen(pane)


def test_claude_makes_one_turn_of_what_was_queued(start: Start, tmux_server: TmuxServer) -> None:
    pane, recording = start("claude", work_seconds=0.3)
    recording.command(work=1.0)
    for text in ("one", "two"):
        tmux_server.paste(pane, text)
        tmux_server.enter(pane)
    wait_for(lambda: tmux_server.screen(pane).count("Understood.") == 2, "both turns are done")
    shows(tmux_server, pane, "❯ one\n  two")


@pytest.mark.parametrize("agent", AGENTS)
def test_it_fits_itself_into_another_size(
    agent: str, start: Start, tmux_server: TmuxServer
) -> None:
    pane, _ = start(agent)
    tmux_server.paste(pane, "word " * 30)
    shows(tmux_server, pane, "word")
    for columns, rows in ((60, 12), (160, 45)):
        tmux_server.run("resize-window", "-t", pane, "-x", str(columns), "-y", str(rows))
        wait_for(partial(is_drawn, tmux_server, pane, columns), f"it is drawn {columns} wide")
        assert tmux_server.screen(pane).count("word") == 30


def is_drawn(server: TmuxServer, pane: str, columns: int) -> bool:
    """Whether the widest row, a rule or a full row of the draft, goes to the right margin."""
    widest = max(len(row) for row in server.screen(pane).splitlines())
    return columns - 9 <= widest <= columns


@pytest.mark.parametrize("agent", AGENTS)
def test_the_cursor_stands_behind_the_text(
    agent: str, start: Start, tmux_server: TmuxServer
) -> None:
    pane, recording = start(agent)
    x, y = map(int, tmux_server.ask(pane, "#{cursor_x},#{cursor_y}").split(","))
    recording.command(type="abc")
    cursor = f"{x + 3},{y}"
    wait_for(
        lambda: tmux_server.ask(pane, "#{cursor_x},#{cursor_y}") == cursor, f"it is at {cursor}"
    )
    assert tmux_server.screen(pane).splitlines()[y].rstrip().endswith("abc")


def test_backspace_takes_back_one_character(start: Start, tmux_server: TmuxServer) -> None:
    pane, recording = start("claude")
    tmux_server.run("send-keys", "-t", pane, "-l", "né界")
    tmux_server.run("send-keys", "-t", pane, "BSpace")
    tmux_server.enter(pane)
    wait_for(lambda: recording.submits() == ["né"], "the rest was submitted")


def test_control_characters_are_drawn_not_obeyed(start: Start, tmux_server: TmuxServer) -> None:
    pane, _ = start("claude")
    tmux_server.paste(pane, "a\x1b[2Jb\x07c")
    shows(tmux_server, pane, "a␛[2Jb␇c")


def test_every_third_enter_is_swallowed(start: Start, tmux_server: TmuxServer) -> None:
    pane, recording = start("codex", swallow_enter=3)
    for number in range(1, 4):
        tmux_server.paste(pane, f"t{number}")
        tmux_server.enter(pane)
    wait_for(lambda: recording.events("swallowed"), "an Enter was swallowed")
    assert recording.submits() == ["t1", "t2"]
    shows(tmux_server, pane, PROMPTS["codex"] + "t3")


def test_a_menu_after_an_at_word_eats_one_enter(start: Start, tmux_server: TmuxServer) -> None:
    pane, recording = start("claude", menu_after_at=True)
    tmux_server.paste(pane, "ask @alice")
    shows(tmux_server, pane, "README.md")
    tmux_server.enter(pane)
    wait_for(lambda: recording.events("completed"), "the menu took the Enter")
    assert recording.submits() == []
    tmux_server.enter(pane)
    wait_for(lambda: recording.submits() == ["ask @alice "], "the second Enter submits")


@pytest.mark.parametrize(
    ("agent", "placeholder"),
    [
        ("claude", "[Pasted text #1 +2 lines]"),
        ("codex", "[Pasted Content 5 chars]"),
        ("opencode", "[Pasted ~3 lines]"),
    ],
)
def test_a_long_paste_is_shown_collapsed_and_submitted_whole(
    agent: str, placeholder: str, start: Start, tmux_server: TmuxServer
) -> None:
    pane, recording = start(agent, collapse_lines=2)
    tmux_server.paste(pane, "a\nb\nc")
    shows(tmux_server, pane, placeholder)
    tmux_server.enter(pane)
    wait_for(lambda: recording.submits() == ["a\nb\nc"], "the text was submitted")


@pytest.mark.parametrize("agent", AGENTS)
def test_an_open_question_takes_the_composers_place_and_a_digit_answers_it(
    agent: str, start: Start, tmux_server: TmuxServer
) -> None:
    question = "Permission required" if agent == "opencode" else "1. Yes"
    pane, recording = start(agent, question_after_paste=0.0)
    tmux_server.paste(pane, "hello")
    shows(tmux_server, pane, question)
    tmux_server.run("send-keys", "-t", pane, "2")
    wait_for(lambda: recording.events("approved"), "it was approved")
    shows(tmux_server, pane, PROMPTS[agent] + "hello")
    recording.command(question=True)
    tmux_server.run("send-keys", "-t", pane, "Escape")
    wait_for(lambda: recording.events("dismissed"), "it was dismissed")
    assert len(recording.events("approved")) == 1


def test_a_person_takes_up_a_draft_behind_the_paste(start: Start, tmux_server: TmuxServer) -> None:
    pane, recording = start("opencode", draft_after_paste=0.1, draft="and I say")
    tmux_server.paste(pane, "notice ")
    shows(tmux_server, pane, "notice and I say")
    recording.command(clear=True)
    wait_for(lambda: "and I say" not in tmux_server.screen(pane), "the draft is gone")


def test_slow_drawing_shows_a_paste_late(start: Start, tmux_server: TmuxServer) -> None:
    pane, recording = start("claude", draw_delay=0.8)
    tmux_server.paste(pane, "late")
    wait_for(lambda: recording.typed() == b"late", "the bytes are there")
    assert "late" not in tmux_server.screen(pane)
    shows(tmux_server, pane, "late")


def test_a_crash_leaves_a_shell_and_a_restart_an_agent(
    start: Start, tmux_server: TmuxServer
) -> None:
    pane, recording = start("claude", "--name", "alice", "--", "- hello")
    assert "sh" not in tmux_server.ask(pane, "#{pane_current_command}")
    first = recording.started()
    assert first["argv"][1:] == ["--name", "alice", "--", "- hello"]
    assert recording.submits() == ["- hello"]
    recording.command(restart=True)
    wait_for(lambda: len(recording.events("start")) == 2, "it has started again")
    wait_until_resting(tmux_server, pane)
    assert recording.started()["argv"] == first["argv"]
    assert recording.started()["environment"]["TMUX_PANE"] == pane
    recording.command(crash=True)
    wait_for(
        lambda: tmux_server.ask(pane, "#{pane_current_command}") == "sh", "a shell is in the pane"
    )


def test_a_burst_makes_a_line_break_of_an_enter_that_comes_too_soon(
    start: Start, tmux_server: TmuxServer
) -> None:
    pane, recording = start("codex", paste_burst=True)
    tmux_server.run("send-keys", "-t", pane, "-l", "one\rtwo")
    shows(tmux_server, pane, "two")
    assert recording.submits() == []
    assert recording.received() == b"one\rtwo"
    wait_for(lambda: "one\n  two" in tmux_server.screen(pane), "two rows are in the composer")
    last_byte_at = recording.events("bytes")[-1]["at"]
    wait_for(lambda: time.time() > last_byte_at + BURST_SECONDS, "the burst is over")
    tmux_server.enter(pane)
    wait_for(lambda: recording.submits() == ["one\ntwo"], "a later Enter submits")


def test_an_agent_may_end_at_once(tmux_server: TmuxServer, recorders: Recorders) -> None:
    keeper = tmux_server.session("main")
    recorders.start_with(exit_status=1)
    pane = tmux_server.split(keeper, [str(recorders.programs / "claude")])
    recorders.of(pane).started()
    wait_for(lambda: tmux_server.panes() == [keeper], "the pane is gone")
