"""Messages: who may send to whom, what is listed in which order, and the one ACK."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import msgspec
import pytest

from cafleet.broker import deliveries, messages
from cafleet.clock import stamp
from cafleet.errors import RefusedError, UnknownIdError
from cafleet.records import DeliveryState, MessageState, MessageType
from cafleet.store.connection import connect
from tests.harness.racing import race
from tests.harness.registry import NOW, THEN, Registry

LATER = NOW + timedelta(seconds=30)


def test_a_message_is_stored_as_it_was_given(registry: Registry, conn: sqlite3.Connection) -> None:
    _, monitor, ann = registry.crew("ann")
    text = "  a\r\nb\0\u2028\x1b[31m界 \ufeff"
    sent = messages.send(conn, sender_id=monitor, recipient_id=ann, text=text, now=NOW)
    assert msgspec.structs.asdict(sent) == {
        "message_id": 1,
        "owner_member_id": ann,
        "from_member_id": monitor,
        "to_member_id": ann,
        "type": MessageType.UNICAST,
        "created_at": THEN,
        "status_state": MessageState.INPUT_REQUIRED,
        "status_timestamp": THEN,
        "origin_message_id": None,
        "text": text,
    }
    assert messages.get(conn, message_id=1) == sent
    assert list(messages.poll(conn, member_id=ann)) == [sent]


def test_a_whole_second_is_written_with_six_digits(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    director, monitor = registry.crew()
    whole = NOW.replace(microsecond=0)
    messages.send(conn, sender_id=monitor, recipient_id=director, text="hi", now=whole)
    written = registry.rows("SELECT created_at, status_timestamp FROM messages")
    assert written == [("2026-05-05T05:42:11.000000+00:00",) * 2]


def test_whether_a_notice_is_due(registry: Registry, conn: sqlite3.Connection) -> None:
    director, monitor, placed, pending = registry.crew("placed", "pending")
    registry.place(placed, "%1")
    registry.place(pending, None)

    def state(sender: int, recipient: int) -> DeliveryState:
        sent = messages.send(conn, sender_id=sender, recipient_id=recipient, text="hi", now=NOW)
        return deliveries.states(conn, message_ids=[sent.message_id])[sent.message_id].state

    assert state(monitor, placed) is DeliveryState.QUEUED
    assert state(monitor, pending) is DeliveryState.QUEUED
    assert state(monitor, director) is DeliveryState.NONE
    assert state(placed, placed) is DeliveryState.NONE
    made = messages.broadcast(conn, sender_id=monitor, text="all", now=NOW)
    states = deliveries.states(conn, message_ids=[made.summary.message_id, *made.delivery_ids])
    assert [delivery.state.value for delivery in states.values()] == [
        "none",  # the summary
        "none",  # the Director, who has no placement here
        "queued",
        "queued",
    ]


def test_nobody_sends_across_fleets_or_to_those_who_left(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    _, monitor, ann = registry.crew("ann")
    stranger = registry.crew()[0]
    gone = registry.member(1, "gone", status="deregistered")
    for sender, recipient, error in [
        (monitor, stranger, RefusedError),
        (stranger, ann, RefusedError),
        (monitor, gone, UnknownIdError),
        (gone, ann, UnknownIdError),
        (monitor, 99, UnknownIdError),
        (99, ann, UnknownIdError),
        (0, ann, UnknownIdError),
        (-1, 2**63, UnknownIdError),
    ]:
        with pytest.raises(error):
            messages.send(conn, sender_id=sender, recipient_id=recipient, text="hi", now=NOW)
    assert registry.value("SELECT count(*) FROM messages") == 0


def test_a_broadcast_is_one_row_more_than_it_has_recipients(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    director, monitor, ann, bob = registry.crew("ann", "bob")
    registry.member(1, "gone", status="deregistered")
    registry.crew("a stranger")
    registry.message(monitor, ann)
    made = messages.broadcast(conn, sender_id=ann, text="all", now=NOW)
    assert made.summary.message_id == 2
    assert made.delivery_ids == [3, 4, 5]
    assert msgspec.structs.asdict(made.summary) == {
        "message_id": 2,
        "owner_member_id": ann,
        "from_member_id": ann,
        "to_member_id": None,
        "type": MessageType.BROADCAST_SUMMARY,
        "created_at": THEN,
        "status_state": MessageState.COMPLETED,
        "status_timestamp": THEN,
        "origin_message_id": 2,
        "text": "Broadcast sent to 3 recipients",
    }
    for message_id, recipient in zip(made.delivery_ids, (director, monitor, bob), strict=True):
        delivery = messages.get(conn, message_id=message_id)
        assert (delivery.owner_member_id, delivery.to_member_id) == (recipient, recipient)
        assert (delivery.from_member_id, delivery.origin_message_id) == (ann, 2)
        assert (delivery.type, delivery.text) == (MessageType.UNICAST, "all")
        assert delivery.status_state is MessageState.INPUT_REQUIRED


def test_a_broadcast_may_reach_nobody(registry: Registry, conn: sqlite3.Connection) -> None:
    fleet = registry.fleet()
    director = registry.member(fleet, "Director", kind="director")
    made = messages.broadcast(conn, sender_id=director, text="all", now=NOW)
    assert made.delivery_ids == []
    assert made.summary.text == "Broadcast sent to 0 recipients"
    assert registry.value("SELECT count(*) FROM messages") == 1


def test_lists_are_newest_status_first_and_then_by_id(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    _, monitor, ann = registry.crew("ann")
    old, new = stamp(NOW - timedelta(days=1)), stamp(LATER)
    oldest = registry.message(monitor, ann, status_timestamp=old, created_at=new)
    first = registry.message(monitor, ann)
    second = registry.message(monitor, ann)
    done = registry.message(monitor, ann, status_state="completed", status_timestamp=new)
    summary = registry.message(
        ann, ann, type="broadcast_summary", to_member_id=None, status_state="completed"
    )
    answer = registry.message(ann, monitor)

    def ids(found: object) -> list[int]:
        assert isinstance(found, list)
        return [message.message_id for message in found]

    assert ids(messages.poll(conn, member_id=ann)) == [second, first, oldest]
    assert ids(messages.inbox(conn, member_id=ann)) == [done, second, first, oldest]
    assert ids(messages.sent(conn, member_id=monitor)) == [done, second, first, oldest]
    assert ids(messages.sent(conn, member_id=ann)) == [answer]
    assert ids(messages.timeline(conn, fleet_id=1)) == [done, answer, second, first, oldest]
    assert summary not in ids(messages.timeline(conn, fleet_id=1))


def test_a_listing_outlives_its_members(registry: Registry, conn: sqlite3.Connection) -> None:
    _, monitor, ann = registry.crew("ann")
    message_id = registry.message(monitor, ann)
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = ?", ann)
    with pytest.raises(UnknownIdError, match="is deregistered"):
        messages.poll(conn, member_id=ann)
    assert [each.message_id for each in messages.inbox(conn, member_id=ann)] == [message_id]
    assert [each.message_id for each in messages.timeline(conn, fleet_id=1)] == [message_id]


def test_the_timeline_holds_200_deliveries_of_the_fleet_that_owns_them(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    _, monitor, ann = registry.crew("ann")
    elsewhere = registry.crew("eve")[2]
    for minute in range(205):
        at = stamp(NOW + timedelta(minutes=minute))
        registry.message(monitor, ann, status_timestamp=at)
    # Sent from here, owned there: such a row only a hand can make.
    foreign = registry.message(monitor, elsewhere, status_timestamp=stamp(NOW + timedelta(1)))
    found = [each.message_id for each in messages.timeline(conn, fleet_id=1)]
    assert found == list(range(205, 5, -1))
    assert [each.message_id for each in messages.timeline(conn, fleet_id=2)] == [foreign]
    assert list(messages.timeline(conn, fleet_id=3)) == []


def test_an_ack_happens_once(registry: Registry, conn: sqlite3.Connection) -> None:
    _, monitor, ann = registry.crew("ann")
    message_id = registry.message(monitor, ann)
    untouched = registry.message(monitor, ann)
    done = messages.ack(conn, message_id=message_id, now=LATER)
    assert (done.status_state, done.status_timestamp) == (MessageState.COMPLETED, stamp(LATER))
    assert done.created_at == THEN
    after = registry.dump()
    with pytest.raises(RefusedError, match=f"message {message_id} is completed"):
        messages.ack(conn, message_id=message_id, now=LATER + timedelta(hours=1))
    assert registry.dump() == after
    assert messages.get(conn, message_id=untouched).status_state is MessageState.INPUT_REQUIRED


def test_a_summary_takes_no_ack(registry: Registry, conn: sqlite3.Connection) -> None:
    director, _ = registry.crew()
    summary = messages.broadcast(conn, sender_id=director, text="all", now=NOW).summary
    with pytest.raises(RefusedError, match="is completed"):
        messages.ack(conn, message_id=summary.message_id, now=LATER)
    # Not even one that a hand has reopened.
    registry.rows("UPDATE messages SET status_state = 'input_required' WHERE message_id = 1")
    with pytest.raises(RefusedError):
        messages.ack(conn, message_id=summary.message_id, now=LATER)


def test_whoever_holds_an_id_may_ack_it_even_in_a_deleted_fleet(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    _, monitor, ann = registry.crew("ann")
    message_id = registry.message(monitor, ann)
    registry.rows("UPDATE fleets SET deleted_at = ?", THEN)
    registry.rows("UPDATE members SET status = 'deregistered'")
    done = messages.ack(conn, message_id=message_id, now=LATER)
    assert done.status_state is MessageState.COMPLETED


def acknowledge_all(path: str) -> list[int]:
    """Acknowledge messages 1 to 20 once each; those that it was the first to acknowledge."""
    done = []
    with closing(connect(path)) as conn:
        for message_id in range(1, 21):
            try:
                messages.ack(conn, message_id=message_id, now=LATER)
            except RefusedError:
                continue
            done.append(message_id)
    return done


def test_of_parallel_acks_exactly_one_succeeds(registry: Registry) -> None:
    _, monitor, ann = registry.crew("ann")
    for _ in range(20):
        registry.message(monitor, ann)
    halves = race(acknowledge_all, [(str(registry.path),)] * 2)
    assert sorted(halves[0] + halves[1]) == list(range(1, 21))
    assert registry.rows("SELECT DISTINCT status_state, status_timestamp FROM messages") == [
        ("completed", stamp(LATER))
    ]
