"""Notices, pings, prompts and captures for panes that are not at rest, or not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.database import Database
from tests.harness.fleet import Fleet, Seat, found_fleet, wait_until_resting
from tests.harness.journals import Recorders
from tests.harness.loops import kill_loop, wait_for_states
from tests.harness.program import Program, assert_refused
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.sending import frames, outcome, send, start_send, states

Arrange = Callable[[TmuxServer, Seat], None]


def tmux(*words: str) -> Arrange:
    return lambda server, seat: _run_for(server, seat, words)


def _run_for(server: TmuxServer, seat: Seat, words: tuple[str, ...]) -> None:
    server.run(*words, "-t", seat.pane)


def agent(shown: str, **values: object) -> Arrange:
    """Command the recorder and wait until the screen shows it."""

    def arrange(server: TmuxServer, seat: Seat) -> None:
        seat.recording.command(**values)
        wait_for(lambda: shown in server.screen(seat.pane), f"{seat.pane} shows {shown!r}")

    return arrange


def crashed(server: TmuxServer, seat: Seat) -> None:
    seat.recording.command(crash=True)
    wait_for(
        lambda: server.ask(seat.pane, "#{pane_current_command}") == "sh", "a shell is in the pane"
    )


def small(server: TmuxServer, seat: Seat) -> None:
    server.run("break-pane", "-d", "-s", seat.pane)
    server.run("resize-window", "-t", seat.pane, "-x", "119", "-y", "3")


HOLDS: dict[str, tuple[Arrange, str, Arrange | None]] = {
    "copy mode": (tmux("copy-mode"), "blocked", tmux("copy-mode", "-q")),
    "choose-tree": (tmux("choose-tree"), "blocked", tmux("copy-mode", "-q")),
    "clock-mode": (tmux("clock-mode"), "blocked", tmux("copy-mode", "-q")),
    "input off": (tmux("select-pane", "-d"), "blocked", tmux("select-pane", "-e")),
    "working": (agent("esc to interrupt", work=1000), "working", None),
    "draft": (agent("half", type="half a th"), "draft", agent("?", clear=True)),
    "draft of lines": (agent("two", type="one\ntwo"), "draft", agent("?", clear=True)),
    "question": (agent("1. Yes", question=True), "awaiting", agent("?", question=False)),
    "shell": (crashed, "shell", None),
    "small": (small, "unknown", None),
}


@pytest.fixture
def crowd(
    cafleet: Program, database: Database, tmux_server: TmuxServer, recorders: Recorders
) -> Fleet:
    """A fleet with a member for each of the states."""
    members = len(HOLDS)
    return found_fleet(
        cafleet, database, tmux_server, recorders, members=members, columns=250, rows=80
    )


def test_nothing_is_typed_unless_the_agent_rests_and_then_once(
    crowd: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    cases = dict(zip(HOLDS.values(), crowd.members, strict=True))
    for (arrange, _, _), seat in cases.items():
        arrange(tmux_server, seat)

    cafleet.run("message", "broadcast", "--from-member-id", "2", "--json", "1 2 3 go").ok()
    # The Director alone is at rest.
    found = sorted(wait_for_states(database, "held", "submitted", seconds=60).values())
    assert found == ["held"] * len(HOLDS) + ["submitted"]
    for (_, state, _), seat in cases.items():
        reasons = database.rows(
            "SELECT events.reason FROM delivery_events AS events"
            " INNER JOIN messages ON events.message_id = messages.message_id"
            " WHERE messages.owner_member_id = ?",
            seat.member_id,
        )
        assert len(reasons) == 1, state
        assert reasons[0][0].startswith(f"{state}: "), state

    pings = [cafleet.start("member", "ping", str(seat.member_id)) for seat in crowd.members]
    prompts = [
        cafleet.start("member", "prompt", str(seat.member_id), "1") for seat in crowd.members
    ]
    for (_, state, _), ping, prompt in zip(HOLDS.values(), pings, prompts, strict=True):
        pinged = cafleet.finish(ping).ok()
        assert state in pinged.stdout, pinged
        assert_refused(cafleet.finish(prompt), 1, state)
    for seat in crowd.members:
        assert seat.recording.received() == b"", seat
        assert seat.recording.events("approved", "dismissed", "escape") == []

    freed = [(leave, seat) for (_, _, leave), seat in cases.items() if leave is not None]
    for leave, seat in freed:
        leave(tmux_server, seat)
        wait_until_resting(tmux_server, seat.pane)
    running = [start_send(cafleet, seat, "second") for _, seat in freed]
    assert {outcome(cafleet, each)["state"] for each in running} == {"submitted"}
    for _, seat in freed:
        assert states(database, seat) == {"1 2 3 go": "submitted", "second": "submitted"}
        typed = "".join(frames(seat))
        assert typed.count("1 2 3 go") == 1
        assert typed.endswith("second ")


def test_a_dead_pane_never_counts_as_delivered(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    tmux_server.run("kill-pane", "-t", fleet.recipient.pane)
    assert_unreachable(fleet, cafleet, database, "hi")

    tmux_server.run("set-option", "-p", "-t", fleet.other.pane, "remain-on-exit", "on")
    fleet.other.recording.command(type="last words")
    wait_for(lambda: "last words" in tmux_server.screen(fleet.other.pane), "they are drawn")
    fleet.other.recording.command(exit=3)
    wait_for(lambda: tmux_server.ask(fleet.other.pane, "#{pane_dead}") == "1", "the pane is dead")
    assert send(cafleet, fleet.other, "hi")["state"] == "unreachable"
    assert_refused(cafleet.run("member", "prompt", "4", "hi"), 1, "gone")
    assert "last words" in cafleet.run("member", "capture", "4").ok().stdout
    # Pasting into a dead pane ends tmux 3.3a; it must not have come to that.
    assert fleet.director.pane in tmux_server.panes()


@pytest.mark.parametrize("missing", ["server", "program"])
def test_a_multiplexer_that_is_not_there_never_counts_as_delivered(
    missing: str,
    fleet: Fleet,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    tmp_path: Path,
) -> None:
    if missing == "server":
        tmux_server.stop()
        assert_unreachable(fleet, cafleet, database, "hi")
    else:
        # The courier that runs has another PATH; none can be started with this one.
        kill_loop(database)
        cafleet.environment["PATH"] = str(tmp_path)
        sent = cafleet.finish(start_send(cafleet, fleet.recipient, "hi"))
        assert sent.json()["delivery"]["state"] == "queued"
        assert sent.stderr.startswith("Warning: no courier runs for fleet 1")
    refused = cafleet.run("member", "delete", "3")
    assert_refused(refused, 1, "member 3 is left as it was")
    assert database.value("SELECT status FROM members WHERE member_id = 3") == "active"


def assert_unreachable(fleet: Fleet, cafleet: Program, database: Database, text: str) -> None:
    """Whatever is done with the recipient's pane says that it cannot be reached."""
    people = ["--from-member-id", "2", "--to-member-id", "3"]
    sent = cafleet.start("message", "send", *people, "--json", "--", text)
    assert outcome(cafleet, sent)["state"] == "unreachable"
    assert states(database, fleet.recipient) == {text: "unreachable"}
    for command in ("ping", "prompt", "capture"):
        extra = [text] if command == "prompt" else []
        assert_refused(cafleet.run("member", command, "3", *extra, "--json"), 1, "")
