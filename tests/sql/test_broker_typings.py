"""What is typed into a pane is on record before the first byte, and goes when it is settled."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import timedelta

import pytest

from cafleet.broker import deliveries, lifecycle, registration, typings
from cafleet.broker.typings import Intent, Settlement
from cafleet.clock import stamp
from cafleet.errors import IntegrityError
from cafleet.records import DeliveryState, OwedNotice, Typing, TypingKind, TypingState
from tests.harness.registry import NOW, Registry

LATER = NOW + timedelta(minutes=1)
ANN, BOB = 3, 4
TEXT = "first\nsecond "


@pytest.fixture
def owed(registry: Registry) -> dict[int, list[int]]:
    """What two members are owed: two messages each, by member."""
    registry.crew("ann", "bob")
    for member_id in (ANN, BOB):
        registry.place(member_id, f"%{member_id}")
    return {
        each: [registry.message(2, each, delivery_state="queued") for _ in range(2)]
        for each in (ANN, BOB)
    }


def intent(member_id: int = ANN, kind: TypingKind = TypingKind.PROMPT, text: str = TEXT) -> Intent:
    return Intent(
        member_id=member_id,
        kind=kind,
        pane=f"%{member_id}",
        program="claude",
        picture=None,
        text=text,
        marker=("start", "end"),
    )


def compose(rows: Sequence[OwedNotice]) -> Intent:
    ids = " ".join(str(row.message_id) for row in rows)
    return intent(rows[0].owner_member_id, TypingKind.NOTICE, ids)


def begin(conn: sqlite3.Connection, *member_ids: int) -> list[Typing]:
    chosen = {each: deliveries.owed(conn, member_ids=[each]) for each in member_ids}
    return typings.begin_notices(conn, chosen=chosen, compose=compose, now=NOW)


def settle(
    conn: sqlite3.Connection,
    typing: Typing,
    state: DeliveryState,
    *,
    picture: str | None = None,
) -> None:
    settled = Settlement(typing=typing, state=state, evidence="seen there", picture=picture)
    typings.settle(conn, [settled], now=LATER)


def states(registry: Registry, ids: Sequence[int]) -> list[str]:
    return [
        registry.value("SELECT delivery_state FROM messages WHERE message_id = ?", each)
        for each in ids
    ]


@pytest.mark.parametrize("kind", TypingKind)
def test_a_text_is_on_record_as_it_is_pasted(
    registry: Registry, conn: sqlite3.Connection, owed: dict[int, list[int]], kind: TypingKind
) -> None:
    typing = typings.begin(conn, intent(kind=kind), now=NOW)
    assert typing is not None
    assert typings.unsettled(conn, member_ids=[ANN, BOB]) == [typing]
    assert (typing.kind, typing.text, typing.marker) == (kind, TEXT, "start\nend")
    assert (typing.state, typing.enters, typing.typed_at) == (TypingState.TYPED, 0, stamp(NOW))
    typings.note_enters(conn, member_ids=[ANN])
    assert typings.unsettled(conn, member_ids=[ANN])[0].enters == 1


def test_notices_and_their_messages_begin_in_one_commit(
    registry: Registry, conn: sqlite3.Connection, owed: dict[int, list[int]]
) -> None:
    deliveries.mark_seen(conn, message_ids=owed[BOB][:1], now=NOW)
    assert [typing.text for typing in begin(conn, ANN, BOB)] == ["1 2", "4"]
    assert states(registry, owed[ANN] + owed[BOB]) == ["typed", "typed", "seen", "typed"]
    # The second pass holds the same list.
    assert begin(conn, ANN, BOB) == []


def test_a_pane_gets_no_second_text_while_the_first_is_being_typed(
    registry: Registry, conn: sqlite3.Connection, owed: dict[int, list[int]]
) -> None:
    first = typings.begin(conn, intent(), now=NOW)
    assert typings.begin(conn, intent(text="other"), now=LATER) is None
    assert begin(conn, ANN) == []
    assert states(registry, owed[ANN]) == ["queued", "queued"]
    assert typings.unsettled(conn, member_ids=[ANN]) == [first]


@pytest.mark.parametrize("state", ["submitted", "held", "unreachable", "unsure"])
def test_a_settled_text_is_deleted_and_its_messages_are_settled_with_it(
    registry: Registry, conn: sqlite3.Connection, owed: dict[int, list[int]], state: str
) -> None:
    [typing] = begin(conn, ANN)
    settle(conn, typing, DeliveryState(state))
    assert states(registry, owed[ANN]) == [state, state]
    assert registry.value("SELECT count(*) FROM typings") == 0
    assert registry.value("SELECT count(*) FROM typing_messages") == 0
    events = registry.rows("SELECT state, evidence FROM delivery_events ORDER BY event_id")
    assert events == [("typed", None)] * 2 + [(state, "seen there")] * 2


def test_an_unsure_text_that_may_still_stand_is_kept_until_late_evidence(
    registry: Registry, conn: sqlite3.Connection, owed: dict[int, list[int]]
) -> None:
    [typing] = begin(conn, ANN)
    settle(conn, typing, DeliveryState.UNSURE, picture="80x24:a")
    [kept] = typings.unsettled(conn, member_ids=[ANN])
    assert (kept.state, kept.evidence, kept.picture) == (
        TypingState.UNSURE,
        "seen there",
        "80x24:a",
    )
    assert kept.settled_at == stamp(LATER)
    assert states(registry, owed[ANN]) == ["unsure", "unsure"]
    typings.compare_with(conn, member_id=ANN, picture="60x24:b")
    settle(conn, kept, DeliveryState.UNSURE, picture="60x24:c")
    assert registry.value("SELECT picture FROM typings") == "60x24:c"
    # One of the two was read meanwhile, which is final.
    deliveries.mark_seen(conn, message_ids=owed[ANN][:1], now=LATER)
    settle(conn, kept, DeliveryState.SUBMITTED)
    assert states(registry, owed[ANN]) == ["seen", "submitted"]
    assert registry.value("SELECT count(*) FROM typings") == 0


def test_the_next_text_takes_the_place_of_an_unsure_one(
    registry: Registry, conn: sqlite3.Connection, owed: dict[int, list[int]]
) -> None:
    [typing] = begin(conn, ANN)
    settle(conn, typing, DeliveryState.UNSURE, picture="80x24:a")
    assert typings.begin(conn, intent(text="next"), now=LATER) is not None
    assert registry.rows("SELECT text, state FROM typings") == [("next", "typed")]
    # Whoever still holds the first one changes nothing.
    settle(conn, typing, DeliveryState.SUBMITTED)
    assert states(registry, owed[ANN]) == ["unsure", "unsure"]
    assert registry.rows("SELECT text, state FROM typings") == [("next", "typed")]


@pytest.mark.parametrize("how", ["member", "fleet"])
@pytest.mark.parametrize("picture", [None, "80x24:a"])
def test_the_text_goes_with_its_member(
    registry: Registry,
    conn: sqlite3.Connection,
    owed: dict[int, list[int]],
    how: str,
    picture: str | None,
) -> None:
    [typing] = begin(conn, ANN)
    if picture is not None:
        settle(conn, typing, DeliveryState.UNSURE, picture=picture)
    if how == "member":
        registration.deregister(conn, member_id=ANN, now=NOW)
    else:
        lifecycle.delete(conn, fleet_id=1, now=NOW)
    assert registry.value("SELECT count(*) FROM typings") == 0
    settle(conn, typing, DeliveryState.SUBMITTED)
    assert states(registry, owed[ANN]) == ["unsure", "unsure"]


def test_whoever_has_a_text_in_the_pane_is_served_though_owed_nothing(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew("ann", "bob", "cy")
    for member_id in (1, 2, ANN, BOB, 5):
        registry.place(member_id, f"%{member_id}")
    registry.message(2, 5, delivery_state="held")
    typings.begin(conn, intent(ANN), now=NOW)
    unsure = typings.begin(conn, intent(BOB), now=NOW)
    assert unsure is not None
    settle(conn, unsure, DeliveryState.UNSURE, picture="80x24:a")
    owing = deliveries.owing(conn, fleet_id=1)
    assert [(row.member_id, row.typed, row.unsure, row.untried) for row in owing] == [
        (ANN, 1, 0, 0),
        (BOB, 0, 1, 0),
        (5, 0, 0, 0),
    ]


@pytest.mark.parametrize(
    ("column", "value"), [("kind", "song"), ("state", "done"), ("enters", -1), ("text", b"\xff")]
)
def test_a_row_that_cannot_be_is_named(
    registry: Registry, conn: sqlite3.Connection, column: str, value: object
) -> None:
    registry.crew("ann")
    typings.begin(conn, intent(), now=NOW)
    registry.rows(f"UPDATE typings SET {column} = ?", value)
    with pytest.raises(IntegrityError, match=rf"typings\.{column} .* where member_id is 3"):
        typings.unsettled(conn, member_ids=[ANN])
