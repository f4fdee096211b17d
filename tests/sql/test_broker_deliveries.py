"""The notice of a message: every change starts from the state that it must start from."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

import pytest

from cafleet.broker import deliveries, lifecycle, messages, registration
from cafleet.clock import stamp
from cafleet.records import OWED, DeliveryState
from cafleet.store.connection import transaction
from tests.harness.registry import NOW, THEN, Registry

LATER = NOW + timedelta(seconds=30)
STATES = [state.value for state in DeliveryState]
WAITING = {"queued", "held", "unreachable"}


@pytest.fixture
def in_each_state(registry: Registry) -> dict[str, int]:
    """A delivery of member 3 in each state, by state."""
    registry.crew("ann")
    registry.place(3, "%1")
    return {state: registry.message(2, 3, delivery_state=state) for state in STATES}


def stored(registry: Registry) -> list[str]:
    return [
        state
        for (state,) in registry.rows("SELECT delivery_state FROM messages ORDER BY message_id")
    ]


def events(registry: Registry) -> list[tuple[object, ...]]:
    return registry.rows(
        "SELECT message_id, at, state, reason, evidence FROM delivery_events ORDER BY event_id"
    )


def test_what_is_owed_is_listed_by_member_and_oldest_first(
    registry: Registry, conn: sqlite3.Connection, in_each_state: dict[str, int]
) -> None:
    registry.message(3, 2, delivery_state="queued")
    gone = registry.member(1, "gone", status="deregistered")
    registry.message(2, gone, delivery_state="queued")
    owed = deliveries.owed(conn, member_ids=[3, 2, gone])
    assert [(row.owner_member_id, row.delivery_state.value) for row in owed] == [
        (2, "queued"),
        *((3, state) for state in STATES if state in OWED),
    ]
    assert owed[0].from_name == "ann"
    assert deliveries.owed(conn, member_ids=[]) == []


def test_typed_is_marked_from_waiting_alone_and_by_one_pass_alone(
    registry: Registry, conn: sqlite3.Connection, in_each_state: dict[str, int]
) -> None:
    listed = [*in_each_state.values(), 99]
    expected = [in_each_state[state] for state in STATES if state in WAITING]
    assert deliveries.mark_typed(conn, message_ids=listed, now=NOW) == expected
    # The second pass holds the same list.
    assert deliveries.mark_typed(conn, message_ids=listed, now=LATER) == []
    assert stored(registry) == ["typed" if state in WAITING else state for state in STATES]
    assert events(registry) == [(each, THEN, "typed", None, None) for each in expected]
    statuses = registry.rows("SELECT DISTINCT status_state, status_timestamp FROM messages")
    assert statuses == [("input_required", THEN)]


def test_only_what_was_typed_is_settled(
    registry: Registry, conn: sqlite3.Connection, in_each_state: dict[str, int]
) -> None:
    deliveries.settle(
        conn,
        message_ids=list(in_each_state.values()),
        state=DeliveryState.SUBMITTED,
        reason="why",
        evidence="seen there",
        now=NOW,
    )
    assert stored(registry) == ["submitted" if state == "typed" else state for state in STATES]
    assert events(registry) == [(in_each_state["typed"], THEN, "submitted", "why", "seen there")]


def test_what_was_acknowledged_while_it_was_typed_is_seen(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew("ann")
    message_id = registry.message(2, 3, delivery_state="typed")
    messages.ack(conn, message_id=message_id, now=NOW)
    assert stored(registry) == ["typed"]
    deliveries.settle(
        conn,
        message_ids=[message_id],
        state=DeliveryState.UNSURE,
        reason="crash",
        evidence=None,
        now=LATER,
    )
    assert stored(registry) == ["seen"]
    assert events(registry) == [
        (message_id, stamp(LATER), "unsure", "crash", None),
        (message_id, stamp(LATER), "seen", "acknowledged", None),
    ]


@pytest.mark.parametrize("outcome", ["submitted", "unsure", "held", "unreachable"])
def test_what_was_polled_while_it_was_typed_is_seen(
    registry: Registry, conn: sqlite3.Connection, outcome: str
) -> None:
    registry.crew("ann")
    polled, other = (registry.message(2, 3, delivery_state="queued") for _ in range(2))
    deliveries.mark_typed(conn, message_ids=[polled, other], now=NOW)
    deliveries.mark_seen(conn, message_ids=[polled], now=LATER)
    deliveries.settle(
        conn,
        message_ids=[polled, other],
        state=DeliveryState(outcome),
        reason=None,
        evidence=None,
        now=LATER,
    )
    assert stored(registry) == ["seen", outcome]
    assert [event[0::2] for event in events(registry) if event[0] == polled] == [
        (polled, "typed", None),
        (polled, "typed", None),
        (polled, outcome, None),
        (polled, "seen", None),
    ]
    found = deliveries.states(conn, message_ids=[polled])
    assert found[polled].reason == "polled"


def test_a_postponement_is_an_event_when_state_or_reason_is_new(
    registry: Registry, conn: sqlite3.Connection, in_each_state: dict[str, int]
) -> None:
    def postpone(state: DeliveryState, reason: str) -> None:
        deliveries.postpone(conn, member_ids=[3], state=state, reason=reason, now=NOW)

    waiting = [in_each_state[state] for state in STATES if state in WAITING]
    postpone(DeliveryState.HELD, "working")
    assert stored(registry) == ["held" if state in WAITING else state for state in STATES]
    first = [(each, THEN, "held", "working", None) for each in waiting]
    assert events(registry) == first
    writes = conn.total_changes
    postpone(DeliveryState.HELD, "working")
    assert conn.total_changes == writes
    postpone(DeliveryState.HELD, "draft")
    second = [(each, THEN, "held", "draft", None) for each in waiting]
    assert events(registry) == first + second
    postpone(DeliveryState.UNREACHABLE, "draft")
    third = [(each, THEN, "unreachable", "draft", None) for each in waiting]
    assert events(registry) == first + second + third
    found = deliveries.states(conn, message_ids=waiting)
    assert {(each.state.value, each.reason) for each in found.values()} == {
        ("unreachable", "draft")
    }
    postpone(DeliveryState.HELD, "unknown: “12 tips left”")
    writes = conn.total_changes
    postpone(DeliveryState.HELD, "unknown: “9 tips left”")
    assert conn.total_changes == writes


def test_a_poll_makes_all_seen_but_what_is_being_typed(
    registry: Registry, conn: sqlite3.Connection, in_each_state: dict[str, int]
) -> None:
    everything = list(in_each_state.values())
    deliveries.mark_seen(conn, message_ids=everything, now=NOW)
    assert stored(registry) == ["typed" if state == "typed" else "seen" for state in STATES]
    changed = [each for state, each in in_each_state.items() if state not in {"typed", "seen"}]
    assert events(registry) == [
        *((each, THEN, "seen", "polled", None) for each in changed),
        (in_each_state["typed"], THEN, "typed", "polled", None),
    ]
    # Nothing is news now, so nothing is written.
    writes = conn.total_changes
    deliveries.mark_seen(conn, message_ids=everything, now=LATER)
    assert conn.total_changes == writes


def test_seen_is_final(registry: Registry, conn: sqlite3.Connection) -> None:
    registry.crew("ann")
    registry.place(3, "%1")
    message_id = registry.message(2, 3, delivery_state="seen")
    before = registry.dump()
    assert deliveries.mark_typed(conn, message_ids=[message_id], now=NOW) == []
    deliveries.postpone(conn, member_ids=[3], state=DeliveryState.HELD, reason="r", now=NOW)
    deliveries.settle(
        conn,
        message_ids=[message_id],
        state=DeliveryState.SUBMITTED,
        reason=None,
        evidence=None,
        now=NOW,
    )
    with transaction(conn):
        deliveries.void(conn, member_ids=[3], now=NOW)
    assert registry.dump() == before


def test_a_summary_is_never_seen(registry: Registry, conn: sqlite3.Connection) -> None:
    registry.crew("ann")
    summary = messages.broadcast(conn, sender_id=3, text="all", now=NOW).summary
    deliveries.mark_seen(conn, message_ids=[summary.message_id], now=NOW)
    assert stored(registry)[0] == "none"


def test_an_ack_is_also_a_look(
    registry: Registry, conn: sqlite3.Connection, in_each_state: dict[str, int]
) -> None:
    messages.ack(conn, message_id=in_each_state["held"], now=NOW)
    assert (
        registry.value(
            "SELECT delivery_state FROM messages WHERE message_id = ?", in_each_state["held"]
        )
        == "seen"
    )
    assert events(registry) == [(in_each_state["held"], THEN, "seen", "acknowledged", None)]


@pytest.mark.parametrize("how", ["member", "fleet"])
def test_those_who_leave_are_owed_nothing(
    registry: Registry, conn: sqlite3.Connection, in_each_state: dict[str, int], how: str
) -> None:
    if how == "member":
        registration.deregister(conn, member_id=3, now=NOW)
    else:
        lifecycle.delete(conn, fleet_id=1, now=NOW)
    left = dict.fromkeys(WAITING, "none") | {"typed": "unsure"}
    assert stored(registry) == [left.get(state, state) for state in STATES]
    assert sorted(events(registry)) == [
        (in_each_state[state], THEN, left[state], "recipient deregistered", None)
        for state in STATES
        if state in left
    ]
    assert deliveries.owed(conn, member_ids=[3]) == []


def test_what_the_pass_of_one_who_left_meanwhile_has_found_changes_nothing(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew("ann")
    message_id = registry.message(2, 3, delivery_state="typed")
    registration.deregister(conn, member_id=3, now=NOW)
    before = registry.dump()
    deliveries.settle(
        conn,
        message_ids=[message_id],
        state=DeliveryState.SUBMITTED,
        reason=None,
        evidence="seen there",
        now=LATER,
    )
    assert registry.dump() == before


def test_the_recipients_of_messages(registry: Registry, conn: sqlite3.Connection) -> None:
    registry.crew("ann", "bob")
    ids = [registry.message(1, 4), registry.message(1, 3), registry.message(2, 4)]
    assert deliveries.recipients(conn, message_ids=ids) == [3, 4]
    assert deliveries.recipients(conn, message_ids=[]) == []
