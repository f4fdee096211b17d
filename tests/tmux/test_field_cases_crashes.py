"""Passes that are cut off between any two calls of tmux: nothing twice, nothing claimed falsely."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.database import Database
from tests.harness.fleet import Fleet, Seat, found_fleet, wait_until_resting
from tests.harness.journals import Recorders
from tests.harness.loops import stop_loop
from tests.harness.program import Program
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.faults import FaultyTmux
from tests.tmux.sending import frames, queue, start_pass, states

# Of a pass: two looks, a buffer, the paste, a look, a buffer, the Enter, a look.
CALLS = range(1, 9)
BEFORE_PASTE = 4
LOST_BEFORE_THE_PASTE = {
    "kill-caller": {BEFORE_PASTE - 1, BEFORE_PASTE},
    "lose-answer": set[int](),
    "hang": {BEFORE_PASTE},
}


@pytest.fixture
def crowd(
    cafleet: Program, database: Database, tmux_server: TmuxServer, recorders: Recorders
) -> Fleet:
    """A fleet without a courier, with a member for every call of a pass."""
    members = len(CALLS)
    fleet = found_fleet(
        cafleet, database, tmux_server, recorders, members=members, columns=250, rows=80
    )
    stop_loop(cafleet)
    return fleet


@pytest.fixture
def lone(fleet: Fleet, cafleet: Program) -> Seat:
    """A member of a fleet without a courier."""
    stop_loop(cafleet)
    return fleet.recipient


def at_every_call(
    fleet: Fleet, cafleet: Program, faults: FaultyTmux, fault: str, text: str
) -> Iterator[tuple[int, Seat, int]]:
    """Tell each member of ``text`` at once, the fault at another call for each; the exit codes."""
    running = []
    for seat in fleet.members:
        queue(cafleet, seat, text)
    for call, seat in zip(CALLS, fleet.members, strict=True):
        env = faults.variables(f"{fault}-{call}", fault, at=call, pane=seat.pane)
        running.append((call, seat, start_pass(cafleet, seat, env=env)))
    for call, seat, process in running:
        yield call, seat, cafleet.finish(process, seconds=120).exit_code


def deliver(cafleet: Program, database: Database, seat: Seat, text: str) -> str:
    """Send ``text``, and let a pass deliver it; the state of its notice."""
    queue(cafleet, seat, text)
    cafleet.finish(start_pass(cafleet, seat)).ok()
    return states(database, seat)[text]


def deliver_to_all(fleet: Fleet, cafleet: Program, database: Database, text: str) -> set[str]:
    for seat in fleet.members:
        queue(cafleet, seat, text)
    for process in [start_pass(cafleet, seat) for seat in fleet.members]:
        cafleet.finish(process, seconds=120).ok()
    return {states(database, seat)[text] for seat in fleet.members}


@pytest.mark.parametrize("fault", ["kill-caller", "lose-answer", "hang"])
@pytest.mark.slow
def test_the_next_pass_settles_what_a_broken_one_has_left(
    fault: str, crowd: Fleet, cafleet: Program, database: Database, faulty_tmux: FaultyTmux
) -> None:
    first, second = f"{fault} first", f"{fault} second"
    for call, _, exit_code in at_every_call(crowd, cafleet, faulty_tmux, fault, first):
        assert exit_code == (-9 if fault == "kill-caller" else 0), (fault, call)
        assert faulty_tmux.calls(f"{fault}-{call}") >= call
    assert deliver_to_all(crowd, cafleet, database, second) == {"submitted"}
    for call, seat in zip(CALLS, crowd.members, strict=True):
        assert states(database, seat)[second] == "submitted"
        lost = call in LOST_BEFORE_THE_PASTE[fault]
        # Marked as typed, but never pasted, which nobody can tell from one that was lost.
        expected = "unsure" if lost else "submitted"
        assert states(database, seat)[first] == expected, (fault, call)
        texts = "".join(frames(seat))
        assert texts.count(first) == (0 if lost else 1), (fault, call)
        assert texts.count(second) == 1, (fault, call)


@pytest.mark.slow
def test_a_pane_may_vanish_between_any_two_steps(
    crowd: Fleet,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    faulty_tmux: FaultyTmux,
) -> None:
    for call, seat, exit_code in at_every_call(crowd, cafleet, faulty_tmux, "kill-pane", "first"):
        assert exit_code == 0, call
        assert seat.pane not in tmux_server.panes()
        state = states(database, seat)["first"]
        if call <= BEFORE_PASTE:
            assert state == "unreachable", call
            assert seat.recording.received() == b"", call
        else:
            assert state == "unsure", call
            assert seat.recording.received().count(b"first") == 1, call
    assert database.value("SELECT count(*) FROM messages") == len(CALLS)


def test_what_another_courier_has_cut_elsewhere_is_known_again(
    lone: Seat, cafleet: Program, database: Database, faulty_tmux: FaultyTmux
) -> None:
    env = faulty_tmux.variables("first", "kill-caller", at=BEFORE_PASTE + 1)
    queue(cafleet, lone, "the first one")
    short = env | {"CAFLEET_MAX_TEXT_LEN": "5"}
    assert cafleet.finish(start_pass(cafleet, lone, env=short)).exit_code == -9
    assert deliver(cafleet, database, lone, "the second one") == "submitted"
    assert states(database, lone)["the first one"] == "submitted"
    texts = "".join(frames(lone))
    assert (texts.count("the f…"), texts.count("the first one")) == (1, 0)
    assert texts.count("the second one") == 1


def test_a_paste_of_the_user_is_not_taken_for_the_one_that_was_never_made(
    lone: Seat,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    faulty_tmux: FaultyTmux,
) -> None:
    seat = lone
    seat.recording.command(collapse_lines=2)
    env = faulty_tmux.variables("first", "kill-caller", at=BEFORE_PASTE)
    queue(cafleet, seat, "first")
    assert cafleet.finish(start_pass(cafleet, seat, env=env)).exit_code == -9
    tmux_server.paste(seat.pane, "my own\ndraft\nof lines")
    wait_for(lambda: "[Pasted text #1" in tmux_server.screen(seat.pane), "it is shown collapsed")
    assert deliver(cafleet, database, seat, "second") == "held"
    assert seat.recording.typed() == b"my own\ndraft\nof lines"
    assert states(database, seat) == {"first": "unsure", "second": "held"}


def test_a_body_that_names_the_next_message_is_no_proof_that_this_one_was_submitted(
    lone: Seat,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    faulty_tmux: FaultyTmux,
) -> None:
    seat = lone
    quote = (
        "look: [cafleet msg 2 to 3 (lone) from 2 (monitor) 2026-01-01T00:00:00.000000+00:00] lost"
    )
    assert deliver(cafleet, database, seat, quote) == "submitted"
    wait_until_resting(tmux_server, seat.pane)
    env = faulty_tmux.variables("lost", "kill-caller", at=BEFORE_PASTE)
    queue(cafleet, seat, "lost")
    assert cafleet.finish(start_pass(cafleet, seat, env=env)).exit_code == -9
    assert deliver(cafleet, database, seat, "third") == "submitted"
    assert states(database, seat)["lost"] == "unsure"
    assert not any("lost" in text for text in frames(seat)[1:])
