"""The life line of a message tells a person what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cafleet.operations.outlook import DeliveryOutlook
from cafleet.present.life_text import life_line
from cafleet.records import OWED, TEXT_UNSHOWN, DeliveryEvent, DeliveryState, LifeLine, ScreenState


def lines(
    state: DeliveryState,
    reason: str | None = None,
    *,
    events: Sequence[DeliveryEvent] = (),
    **circumstances: Any,
) -> list[str]:
    """What is said of a message to member 3 of fleet 2, whose courier runs."""
    line = LifeLine(
        message_id=7,
        state=state,
        reason=reason,
        since="then",
        events=list(events),
        to_member_id=3,
    )
    usual: dict[str, Any] = {
        "fleet_id": 2,
        "urgent": False,
        "has_left": False,
        "is_gone": False,
        "lacks_courier": False,
        "lock_file": None,
        "is_paused": False,
        "revival": "start it again with `cafleet member restart 3`",
    }
    return life_line(DeliveryOutlook(line=line, **usual | circumstances)).splitlines()


def advice(state: DeliveryState, reason: str | None = None, **circumstances: Any) -> str:
    return lines(state, reason, **circumstances)[1]


@pytest.mark.parametrize(
    ("screen", "word"),
    [
        (ScreenState.WORKING, "--urgent"),
        (ScreenState.DRAFT, "submit or clear it in the pane"),
        (ScreenState.AWAITING, "answer it in the pane"),
        (ScreenState.BLOCKED, "Leave copy mode"),
        (ScreenState.SHELL, "`cafleet member restart 3`"),
        (ScreenState.UNKNOWN, "`cafleet member capture 3`"),
    ],
)
def test_a_held_message_says_what_to_do(screen: ScreenState, word: str) -> None:
    assert word in advice(DeliveryState.HELD, f"{screen}: what was seen")


def test_a_notice_that_was_left_in_the_composer_is_spoken_of() -> None:
    unsure = advice(DeliveryState.UNSURE, "the text is still there after 3 Enters")
    assert "`cafleet member capture 3`" in unsure
    assert "still stands in the composer holds up all others" in unsure
    assert "the courier presses Enter on it" in unsure
    held = advice(DeliveryState.HELD, "draft: text in the composer")
    assert "an unsure notice of ours" in held
    assert "`cafleet member capture 3`" in held


def test_a_text_that_has_not_shown_is_told_apart_from_a_draft() -> None:
    held = advice(DeliveryState.HELD, TEXT_UNSHOWN)
    assert "the agent may hang" in held
    assert "`cafleet member capture 3`" in held


def test_evidence_that_is_the_reason_is_told_once() -> None:
    looked = "draft: text in the composer"
    event = DeliveryEvent(at="then", state=DeliveryState.UNSURE, reason=looked, evidence=looked)
    assert lines(event.state, looked, events=[event])[-1] == f"  then unsure: {looked}"


@pytest.mark.parametrize("state", sorted(set(DeliveryState) - {DeliveryState.SEEN}))
def test_nobody_is_sent_to_the_pane_of_one_who_has_left(state: DeliveryState) -> None:
    said = advice(state, "working: esc to interrupt", has_left=True)
    assert said == "The recipient has left: there is nobody to notify."


@pytest.mark.parametrize("state", sorted(OWED))
def test_what_is_owed_needs_a_courier(state: DeliveryState) -> None:
    usual = advice(state)
    assert "monitor run" not in usual
    without = advice(state, lacks_courier=True)
    assert without.startswith("No courier runs for fleet 2, so no pass will come; ")
    assert "`cafleet monitor run 2 --detach`" in without
    assert without.endswith(usual)


def test_urgent_is_promised_to_an_empty_composer_alone_and_not_to_the_urgent() -> None:
    looked = "working: esc interrupt"
    assert "--urgent goes into its queue at once if its composer is empty" in advice(
        DeliveryState.HELD, looked
    )
    urgent = advice(DeliveryState.HELD, looked, urgent=True)
    assert "--urgent" not in urgent
    assert "as soon as its composer is empty" in urgent
    assert "--urgent" not in advice(DeliveryState.HELD, "draft: text", urgent=True)


def test_nobody_is_sent_to_look_at_a_pane_that_is_gone() -> None:
    unsure = advice(DeliveryState.UNSURE, "gone: the pane does not exist any more", is_gone=True)
    assert "capture" not in unsure
    assert "`cafleet member restart 3`" in unsure


def test_a_lock_that_stays_is_named() -> None:
    locked = advice(
        DeliveryState.HELD, "another process is typing into the pane", lock_file="/run/a\x1b.lock"
    )
    assert "a process that was stopped may hold the lock /run/a\\x1b.lock:" in locked
