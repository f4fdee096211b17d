"""The life line of a message tells a person what to do."""

from __future__ import annotations

import pytest

from cafleet.present.life_text import life_line
from cafleet.records import DeliveryEvent, DeliveryState, LifeLine, ScreenState


def advice(state: DeliveryState, reason: str | None = None) -> str:
    """The second line of a message to member 3."""
    line = LifeLine(
        message_id=7, state=state, reason=reason, since="then", events=[], to_member_id=3
    )
    return life_line(line).splitlines()[1]


@pytest.mark.parametrize(
    ("screen", "word"),
    [
        (ScreenState.WORKING, "--urgent"),
        (ScreenState.DRAFT, "submit or clear it in the pane"),
        (ScreenState.AWAITING, "answer it in the pane"),
        (ScreenState.BLOCKED, "Leave copy mode"),
        (ScreenState.SHELL, "`cafleet member delete 3`"),
        (ScreenState.UNKNOWN, "`cafleet member capture 3`"),
    ],
)
def test_a_held_message_says_what_to_do(screen: ScreenState, word: str) -> None:
    assert word in advice(DeliveryState.HELD, f"{screen}: what was seen")


def test_a_notice_that_was_left_in_the_composer_is_spoken_of() -> None:
    unsure = advice(DeliveryState.UNSURE, "the text is still there after 3 Enters")
    assert "`cafleet member capture 3`" in unsure
    assert "still stands in the composer holds up all others" in unsure
    assert "presses Enter on it or clears it" in unsure
    held = advice(DeliveryState.HELD, "draft: text in the composer")
    assert "an unsure notice of ours" in held
    assert "`cafleet member capture 3`" in held


def test_evidence_that_is_the_reason_is_told_once() -> None:
    looked = "draft: text in the composer"
    event = DeliveryEvent(at="then", state=DeliveryState.UNSURE, reason=looked, evidence=looked)
    line = LifeLine(
        message_id=7, state=event.state, reason=looked, since="then", events=[event], to_member_id=3
    )
    assert life_line(line).splitlines()[-1] == f"  then unsure: {looked}"


def test_nobody_is_sent_to_the_pane_of_one_who_has_left() -> None:
    assert "nobody to notify" in advice(DeliveryState.UNSURE, "recipient deregistered")
