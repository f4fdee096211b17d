"""What a member that leaves hands over: its open deliveries go on once, to whom, and who is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from cafleet.broker import deliveries, handover, members, messages, registration
from cafleet.errors import RefusedError, UnknownIdError
from cafleet.records import DeliveryState, MessageState
from cafleet.store import Connection
from cafleet.store.connection import connect
from tests.harness.registry import NOW, Registry

DIRECTOR, MONITOR, ANN, BOB, EVE = 1, 2, 3, 4, 5


@pytest.fixture
def conn(registry: Registry) -> Iterator[Connection]:
    registry.crew("ann", "bob", "eve")
    for member_id in (ANN, BOB, EVE):
        registry.place(member_id, f"%{member_id}")
    with closing(connect(str(registry.path))) as opened:
        yield opened


def send(conn: Connection, sender: int, recipient: int, text: str, **how: bool) -> int:
    return messages.send(
        conn, sender_id=sender, recipient_id=recipient, text=text, now=NOW, **how
    ).message_id


def leave(conn: Connection, member_id: int, successor_id: int | None) -> int | None:
    return registration.deregister(conn, member_id=member_id, now=NOW, successor_id=successor_id)


def test_open_deliveries_go_on_and_others_stay(conn: Connection) -> None:
    first = send(conn, DIRECTOR, ANN, "one", urgent=True)
    second = send(conn, EVE, ANN, "two")
    own = send(conn, BOB, ANN, "from the successor")
    done = send(conn, DIRECTOR, ANN, "done")
    messages.ack(conn, message_id=done, now=NOW)
    assert leave(conn, ANN, BOB) == 2
    got = messages.poll(conn, member_id=BOB, oldest=True)
    assert [(each.from_member_id, each.text) for each in got] == [(DIRECTOR, "one"), (EVE, "two")]
    assert {each.origin_message_id for each in got} == {None}
    assert {each.status_state for each in got} == {MessageState.INPUT_REQUIRED}
    states = deliveries.standing(conn, message_ids=[each.message_id for each in got])
    assert [each.delivery_state for each in states] == [DeliveryState.QUEUED] * 2
    assert [each.urgent for each in states] == [1, 0]
    for old, new in zip((first, second), got, strict=True):
        went = handover.find_forwarded(conn, message_id=old)
        assert went is not None
        assert (went.message_id, went.owner_member_id) == (new.message_id, BOB)
    assert handover.find_forwarded(conn, message_id=own) is None
    assert handover.find_forwarded(conn, message_id=done) is None
    # A second deletion hands nothing over again.
    assert leave(conn, ANN, BOB) is None
    assert len(messages.poll(conn, member_id=BOB)) == 2


def test_a_later_send_names_who_took_over(conn: Connection) -> None:
    leave(conn, ANN, BOB)
    with pytest.raises(UnknownIdError, match=r"member 3 is deregistered; member 4 has taken over"):
        send(conn, DIRECTOR, ANN, "late")
    leave(conn, BOB, EVE)
    with pytest.raises(UnknownIdError, match=r"member 5 has taken over"):
        send(conn, DIRECTOR, ANN, "later")
    leave(conn, EVE, None)
    with pytest.raises(UnknownIdError, match=r"member 5 has taken over"):
        send(conn, DIRECTOR, ANN, "latest")


def test_what_goes_on_twice_is_found_where_it_is_now(conn: Connection) -> None:
    first = send(conn, DIRECTOR, ANN, "travels")
    leave(conn, ANN, BOB)
    leave(conn, BOB, EVE)
    [here] = messages.poll(conn, member_id=EVE)
    went = handover.find_forwarded(conn, message_id=first)
    assert went is not None
    assert (went.message_id, went.owner_member_id) == (here.message_id, EVE)


@pytest.mark.parametrize(
    ("successor", "error"),
    [(ANN, RefusedError), (99, UnknownIdError), (6, RefusedError), (EVE, UnknownIdError)],
)
def test_a_successor_that_cannot_be_leaves_all_as_it_was(
    conn: Connection, registry: Registry, successor: int, error: type[Exception]
) -> None:
    registry.crew("zoe")
    leave(conn, EVE, None)
    send(conn, DIRECTOR, ANN, "stays")
    before = registry.dump()
    with pytest.raises(error):
        leave(conn, ANN, successor)
    assert registry.dump() == before
    assert members.get(conn, member_id=ANN).name == "ann"


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
def test_nothing_is_lost_or_doubled(conn: Connection, count: int) -> None:
    for number in range(count):
        send(conn, (DIRECTOR, BOB, EVE)[number % 3], ANN, str(number))
    handed = leave(conn, ANN, BOB)
    expected = [str(number) for number in range(count) if number % 3 != 1]
    got = messages.poll(conn, member_id=BOB, oldest=True)
    assert [each.text for each in got] == expected
    assert handed == len(expected)
