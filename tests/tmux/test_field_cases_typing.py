"""Agents that swallow, fold, delay or reinterpret what is typed, and people who come in between."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.database import Database
from tests.harness.fleet import Fleet, Seat, found_fleet, wait_until_resting
from tests.harness.journals import Recorders
from tests.harness.program import Program
from tests.harness.tmux import TmuxServer
from tests.tmux.sending import frames, outcome, send, start_send, states

# What the agent does, what becomes of the notice, and how many Enters it gets.
MISHAPS: dict[str, tuple[dict[str, Any], str, range]] = {
    "swallows every Enter": ({"swallow_enter": 1}, "unsure", range(3, 4)),
    "opens a question": ({"question_after_paste": 0.5}, "unsure", range(1)),
    "opens a question after a swallowed Enter": (
        {"swallow_enter": 1, "question_after_paste": 1.8},
        "unsure",
        range(2),
    ),
    "is given a draft": ({"draft_after_paste": 0.5}, "unsure", range(1)),
    "ends and leaves a shell": ({"crash_after_paste": 0.5}, "unsure", range(1)),
    "folds the paste": ({"collapse_lines": 1}, "submitted", range(1, 2)),
    "draws late": ({"draw_delay": 0.7}, "submitted", range(1, 2)),
    "draws very late": ({"draw_delay": 1.8}, "submitted", range(1, 4)),
    "works at once": ({"work_seconds": 5}, "submitted", range(1, 2)),
}
LAST_SEEN = {
    "opens a question": "awaiting",
    "is given a draft": "draft",
    "ends and leaves a shell": "shell",
    "works at once": "working",
}


@pytest.fixture
def crowd(
    cafleet: Program, database: Database, tmux_server: TmuxServer, recorders: Recorders
) -> Fleet:
    """A fleet with a member for each mishap."""
    members = len(MISHAPS)
    return found_fleet(
        cafleet, database, tmux_server, recorders, members=members, columns=250, rows=80
    )


def test_enter_is_pressed_only_on_what_was_typed_and_nothing_else(
    crowd: Fleet, cafleet: Program, database: Database
) -> None:
    cases = dict(zip(MISHAPS, crowd.members, strict=True))
    for name, seat in cases.items():
        seat.recording.command(**MISHAPS[name][0])
    body = "one line; and @another"
    for running in [start_send(cafleet, seat, body) for seat in cases.values()]:
        outcome(cafleet, running)
    # What was seen after the paste is the last look, not what was seen before it.
    shown = {
        each["member_id"]: each["screen"]
        for each in cafleet.run("member", "list", "1", "--json").json()
    }
    assert {name: shown[cases[name].member_id] for name in LAST_SEEN} == LAST_SEEN
    for name, seat in cases.items():
        _, state, enters = MISHAPS[name]
        assert states(database, seat) == {body: state}, name
        assert seat.recording.typed().count(b"\r") in enters, name
        assert seat.recording.typed().count(body.encode()) == 1, name
        assert seat.recording.events("approved", "dismissed", "escape") == [], name
        submitted = "".join(seat.recording.submits()).count(body)
        assert submitted == (1 if state == "submitted" else 0), name

    unsure = [seat for name, seat in cases.items() if MISHAPS[name][1] == "unsure"]
    typed = [seat.recording.typed() for seat in unsure]
    for running in [start_send(cafleet, seat, "next") for seat in unsure]:
        assert outcome(cafleet, running)["state"] == "held"
    assert [seat.recording.typed() for seat in unsure] == typed


def test_an_enter_that_was_swallowed_is_pressed_again(fleet: Fleet, cafleet: Program) -> None:
    seat = fleet.recipient
    seat.recording.command(swallow_enter=2)
    assert send(cafleet, seat, "first")["state"] == "submitted"
    assert send(cafleet, seat, "second")["state"] == "submitted"
    assert len(seat.recording.events("swallowed")) == 1
    assert [text.splitlines()[-1] for text in seat.recording.submits()[1:]] == ["first ", "second "]
    assert seat.recording.typed().endswith(b"second \r\r")


@pytest.mark.parametrize("burst", [True, False], ids=["told by speed", "bracketed"])
def test_enter_comes_alone_and_well_after_the_text(
    burst: bool,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
) -> None:
    recorders.start_with(paste_burst=burst)
    fleet = found_fleet(
        cafleet, database, tmux_server, recorders, agent="codex", members=3, columns=250, rows=80
    )
    bodies = ("hi", "long " * 40, "some\nlines\n\nof text")
    for turn in range(2):
        running = [
            start_send(cafleet, seat, body)
            for seat, body in zip(fleet.members, bodies, strict=True)
        ]
        for process in running:
            assert outcome(cafleet, process)["state"] == "submitted"
        for seat in fleet.members:
            assert_last_enter_stood_alone(seat)
            assert len(frames(seat)) == turn + 1
            assert not any("[200~" in text for text in seat.recording.submits())
            wait_until_resting(tmux_server, seat.pane)


def assert_last_enter_stood_alone(seat: Seat) -> None:
    before, last = seat.recording.events("bytes")[-2:]
    assert last["hex"] == b"\r".hex()
    assert last["at"] - before["at"] > 0.9
