"""The shapes that only the web has: what is masked, what is named, and what is never invented."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cafleet.clock import stamp
from cafleet.errors import IntegrityError
from cafleet.present.web_wire import ends, monitor_card, named
from cafleet.present.wire import to_json
from cafleet.records import (
    CodingAgent,
    DeliveryState,
    MessageState,
    MessageType,
    MonitorRuntime,
    TrackedMessage,
    WakeTarget,
)
from tests.harness.registry import NOW, THEN


def message(**fields: Any) -> TrackedMessage:
    values: dict[str, Any] = {
        "message_id": 5,
        "owner_member_id": 2,
        "from_member_id": 1,
        "to_member_id": 2,
        "type": MessageType.UNICAST,
        "created_at": THEN,
        "status_state": MessageState.COMPLETED,
        "status_timestamp": THEN,
        "origin_message_id": 4,
        "text": "hi",
        "delivery_state": DeliveryState.SEEN,
    }
    return TrackedMessage(**(values | fields))


def test_a_summary_has_no_recipient_and_no_name_of_one() -> None:
    summary = message(type=MessageType.BROADCAST_SUMMARY, to_member_id=None)
    assert ends([summary, message()]) == {1, 2}
    [shown] = named([summary], {1: "ann"}).messages
    assert (shown.to_member_id, shown.to_member_name) == (None, None)
    assert to_json(shown) == (
        '{"message_id":5,"from_member_id":1,"from_member_name":"ann","to_member_id":null,'
        '"to_member_name":null,"type":"broadcast_summary","status":"completed",'
        f'"created_at":"{THEN}","status_timestamp":"{THEN}","origin_message_id":4,"body":"hi",'
        '"delivery_state":"seen"}'
    )


def test_a_sender_that_is_no_more_has_no_name() -> None:
    [shown] = named([message()], {2: "b"}).messages
    assert (shown.from_member_id, shown.from_member_name, shown.to_member_name) == (1, None, "b")
    assert '"from_member_id":1,"from_member_name":null,"to_member_id":2' in to_json(shown)


@pytest.mark.parametrize("names", [{1: "a"}, {}])
def test_a_recipient_without_a_name_is_an_error(names: dict[int, str]) -> None:
    with pytest.raises(
        IntegrityError, match=r"messages\.to_member_id holds 2 where message_id is 5"
    ):
        named([message()], names)


def runtime(**fields: Any) -> MonitorRuntime:
    values: dict[str, Any] = {
        "fleet_id": 1,
        "pid": 7,
        "started_at": THEN,
        "last_tick_at": THEN,
        "tick_seconds": 5,
        "last_wake_at": None,
        "wake_interval_seconds": None,
        "wake_requested_at": THEN,
        "stopped_at": None,
        "wake_attempted_at": None,
        "wake_attempts": 0,
        "wake_outcome": None,
        "wake_reason": None,
    }
    return MonitorRuntime(**(values | fields))


def test_ages_are_whole_seconds_cut_toward_zero() -> None:
    for microseconds, age in (
        (0, 0),
        (999_999, 0),
        (61_900_000, 61),
        (-900_000, 0),
        (-1_500_000, 0),
    ):
        now = NOW + timedelta(microseconds=microseconds)
        card = monitor_card(runtime(), [], running=True, now=now)
        assert (card.last_tick_at, card.last_tick_age_seconds) == (THEN, age)
        assert (card.last_wake_at, card.last_wake_age_seconds) == (None, None)


@pytest.mark.parametrize("interval", [None, 0, 600])
def test_an_interval_that_is_null_stays_null(interval: int | None) -> None:
    for running in (True, False):
        card = monitor_card(runtime(wake_interval_seconds=interval), [], running=running, now=NOW)
        assert card.wake_interval_seconds == interval
        assert card.tick_seconds == 5


def test_a_time_that_cannot_be_read_is_shown_without_an_age() -> None:
    watched = WakeTarget(
        member_id=3,
        name="ann",
        coding_agent=CodingAgent.CLAUDE,
        pending_count=1,
        oldest_pending_ts="once",
    )
    later = stamp(NOW - timedelta(hours=1))
    card = monitor_card(runtime(last_wake_at=later), [watched], running=False, now=NOW)
    assert (card.pid, card.last_wake_at, card.last_wake_age_seconds) == (None, None, None)
    [shown] = card.members
    assert (shown.oldest_pending_ts, shown.oldest_pending_age_seconds) == ("once", None)
