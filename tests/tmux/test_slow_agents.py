"""An agent on a busy machine shows late what it was given; its sender waits for the proof."""

from __future__ import annotations

import pytest

from tests.harness.fleet import Fleet, wait_until_resting
from tests.harness.program import Program
from tests.harness.tmux import TmuxServer
from tests.tmux.sending import send


@pytest.mark.parametrize("seconds", [3.0, 7.0])
def test_a_text_that_shows_seconds_later_is_submitted_once(
    fleet: Fleet, cafleet: Program, tmux_server: TmuxServer, seconds: float
) -> None:
    seat = fleet.recipient
    seat.recording.command(draw_delay=seconds)
    for number, text in enumerate(["first", "second"], start=1):
        assert send(cafleet, seat, text)["state"] == "submitted"
        wait_until_resting(tmux_server, seat.pane)
        submitted = seat.recording.submits()[1:]
        assert len(submitted) == number
        assert submitted[-1].endswith(f"\n{text} ")
