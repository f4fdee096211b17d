"""A notice that makes its agent ask at once was submitted, whatever stands in the composer's place."""

from __future__ import annotations

from tests.harness.database import Database
from tests.harness.fleet import Fleet
from tests.harness.program import Program
from tests.tmux.sending import frames, send, states


def test_the_question_that_a_notice_provokes_is_proof_of_its_submission(
    fleet: Fleet, cafleet: Program, database: Database
) -> None:
    seat = fleet.recipient
    seat.recording.command(question_on_submit=True)
    assert send(cafleet, seat, "first")["state"] == "submitted"
    assert send(cafleet, seat, "second")["state"] == "held"
    assert states(database, seat) == {"first": "submitted", "second": "held"}
    assert len(frames(seat)) == 1


def test_a_question_that_opens_before_the_enter_proves_nothing(
    fleet: Fleet, cafleet: Program
) -> None:
    seat = fleet.recipient
    assert send(cafleet, seat, "first")["state"] == "submitted"
    seat.recording.command(question_after_paste=0.3)
    assert send(cafleet, seat, "second")["state"] == "unsure"
    assert len(seat.recording.submits()) == 2
