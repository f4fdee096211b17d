"""Who is in the pane: wrappers around an agent, frozen agents, and programs that look like one."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from cafleet.panes import multiplexer
from cafleet.records import Backend
from tests.harness.crew import CrewMaker
from tests.harness.fleet import Seat, wait_until_resting
from tests.harness.journals import Recorders
from tests.harness.loops import wait_for_states
from tests.harness.program import Program, assert_refused
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.sending import database_of, send

SCREENS = Path(__file__).parents[1] / "screens"

WRAPPERS = {
    "a script": 'export X=1\n"$REAL" "$@"\n',
    "a script that goes on afterwards": '"$REAL" "$@"\ntrue\n',
    "a shell's command": 'exec sh -c \'cd / && "$0" "$@"; true\' "$REAL" "$@"\n',
    "a script with exec": 'exec "$REAL" "$@"\n',
    "two scripts": 'exec sh -c \'sh -c "\\"\\$0\\" \\"\\$@\\"; true" "$0" "$@"; true\' "$REAL" "$@"\n',
}


def wrapped(recorders: Recorders, body: str) -> None:
    """Put a shell script in claude's place that runs it."""
    real = recorders.programs / "real"
    real.mkdir()
    program = recorders.programs / "claude"
    program.rename(real / "claude")
    program.write_text(f"#!/bin/sh\nREAL={shlex.quote(str(real / 'claude'))}\n{body}")
    program.chmod(0o755)


@pytest.mark.parametrize("body", WRAPPERS.values(), ids=list(WRAPPERS))
def test_a_wrapped_agent_is_an_agent(
    body: str, crew: CrewMaker, recorders: Recorders, cafleet: Program
) -> None:
    wrapped(recorders, body)
    fleet = crew.make("one")
    [seat] = fleet.members
    assert send(cafleet, seat, "hi")["state"] == "submitted"
    seat.recording.command(exit=0)


PROMPT = """\
import sys
print("$ ssh somewhere", flush=True)
while True:
    line = input({glyph!r})
    print("ran", line, flush=True)
"""
PLAYED = """\
import sys, time
sys.stdout.write("\\033[2J\\033[H" + {screen!r} + "\\033[{y};{x}H")
sys.stdout.flush()
time.sleep(1000)
"""


def take_over(server: TmuxServer, seat: Seat, argv: list[str]) -> None:
    """End the agent in a pane, and have another program come into its place."""
    server.run("respawn-pane", "-k", "-t", seat.pane, *argv)


@pytest.mark.parametrize("glyph", ["❯ ", "› ", "┃  ", "❯\N{NO-BREAK SPACE}"])
def test_a_prompt_is_no_composer(
    glyph: str, crew: CrewMaker, cafleet: Program, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    [seat] = crew.make("one").members
    code = PROMPT.format(glyph=glyph)
    take_over(tmux_server, seat, [sys.executable, "-c", code])
    wait_for(lambda: glyph.strip() in tmux_server.screen(seat.pane), "its prompt")
    body = f"`touch {tmp_path}/made`"
    assert send(cafleet, seat, body)["state"] == "held"
    assert_refused(cafleet.run("member", "prompt", str(seat.member_id), body), 1, "unknown")
    assert "ran" not in tmux_server.screen(seat.pane)


def test_a_whole_screen_of_an_agent_is_none(
    crew: CrewMaker, cafleet: Program, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    """As ssh shows it, and a program that plays a recording."""
    [seat] = crew.make("one").members
    recorded = json.loads((SCREENS / "claude-rest-ansi-80x24.json").read_text())
    tmux_server.run("resize-window", "-t", seat.pane, "-x", "80", "-y", "50")
    player = tmp_path / "ssh"
    place = {"x": recorded["cursor"]["x"] + 1, "y": recorded["cursor"]["y"] + 1}
    player.write_text(PLAYED.format(screen=recorded["screen"].replace("\n", "\r\n"), **place))
    take_over(tmux_server, seat, [sys.executable, str(player)])
    tmux_server.run("break-pane", "-d", "-s", seat.pane)
    tmux_server.run("resize-window", "-t", seat.pane, "-x", "80", "-y", "24")
    wait_until_resting(tmux_server, seat.pane)
    held = send(cafleet, seat, "hi")
    assert held["state"] == "held"
    assert "claude is not in the foreground" in held["reason"]
    # The same, played by a program of the agent's name, is what only an agent should be.
    player.rename(tmp_path / "claude")
    take_over(tmux_server, seat, [sys.executable, str(tmp_path / "claude")])
    mux = multiplexer(Backend.TMUX, tmux_server.socket)
    assert mux.pictures([seat.pane])
    wait_for_states(database_of(cafleet), "unsure", seconds=60)


def test_a_frozen_agent_is_not_typed_into(
    crew: CrewMaker, recorders: Recorders, cafleet: Program
) -> None:
    """Its composer still rests, and it is the child of a launcher that goes on."""
    wrapped(recorders, '"$REAL" "$@"\n')
    [seat] = crew.make("one").members
    pid = int(seat.recording.events("start")[-1]["pid"])
    before = seat.recording.received()
    os.kill(pid, signal.SIGSTOP)
    try:
        held = send(cafleet, seat, "hi")
        assert held["state"] == "held"
        assert f"kill -CONT {pid}" in held["reason"]
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for_states(database_of(cafleet), "submitted")
    assert seat.recording.received()[len(before) :].count(b"hi") == 1


def test_an_unknown_line_is_told_with_what_makes_it_known(
    crew: CrewMaker, cafleet: Program, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    """A running courier reads the user's entry as soon as it is written."""
    [seat] = crew.make("one").members
    recorded = json.loads((SCREENS / "claude-rest-ansi-80x24.json").read_text())
    screen = recorded["screen"].replace("/effort", "9 nuts")
    player = tmp_path / "claude"
    place = {"x": recorded["cursor"]["x"] + 1, "y": recorded["cursor"]["y"] + 1}
    player.write_text(PLAYED.format(screen=screen.replace("\n", "\r\n"), **place))
    tmux_server.run("break-pane", "-d", "-s", seat.pane)
    tmux_server.run("resize-window", "-t", seat.pane, "-x", "80", "-y", "24")
    take_over(tmux_server, seat, [sys.executable, str(player)])
    wait_for(lambda: "9 nuts" in tmux_server.screen(seat.pane), "the screen is played")

    assert send(cafleet, seat, "hi")["state"] == "held"
    message_id = database_of(cafleet).value("SELECT max(message_id) FROM messages")
    why = cafleet.run("message", "why", str(message_id)).ok().stdout
    assert "9 nuts" in why
    assert "~/.config/cafleet/cues.toml: [[claude]] resting = ['# nuts']" in why
    refused = cafleet.run("member", "prompt", str(seat.member_id), "hi")
    assert_refused(refused, 1, "9 nuts")

    cues = Path(cafleet.environment["HOME"], ".config/cafleet/cues.toml")
    cues.parent.mkdir(parents=True, exist_ok=True)
    cues.write_text("[[claude]]\nresting = ['# nuts']\n")
    wait_for_states(database_of(cafleet), "unsure", seconds=60)
