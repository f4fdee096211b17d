"""Messages as text."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cafleet.present.envelope import envelope, envelopes, header, shortened
from cafleet.present.message_text import (
    acknowledged,
    broadcast,
    polled,
    sent,
)
from cafleet.present.visible import visible_body
from cafleet.present.wire import BroadcastWire, SentWire, count_states
from cafleet.records import (
    Delivery,
    DeliveryState,
    MessageRecord,
    MessageState,
    MessageType,
)

MESSAGE = MessageRecord(
    message_id=42,
    owner_member_id=3,
    from_member_id=7,
    to_member_id=3,
    type=MessageType.UNICAST,
    created_at="2026-05-05T05:42:11.123456+00:00",
    status_state=MessageState.COMPLETED,
    status_timestamp="2026-05-06T00:00:00.000000+00:00",
    origin_message_id=None,
    text="build OK",
)


def told(state: DeliveryState, reason: str | None = None) -> Delivery:
    return Delivery(state=state, reason=reason)


def with_text(text: str) -> MessageRecord:
    return msgspec.structs.replace(MESSAGE, text=text)


def test_the_envelope_is_the_header_and_the_body() -> None:
    assert envelope(MESSAGE, 200) == (
        "[42 | from:7 | 2026-05-05T05:42:11.123456+00:00]\n  build OK"
    )


def test_a_message_without_a_body_is_one_line() -> None:
    assert envelope(with_text(""), 200) == header(MESSAGE)


def test_a_delivery_of_a_broadcast_names_its_origin() -> None:
    delivery = msgspec.structs.replace(MESSAGE, origin_message_id=40)
    assert header(delivery) == "[42 | from:7 | 2026-05-05T05:42:11.123456+00:00 | origin:40]"


def test_a_summary_says_what_it_is() -> None:
    summary = msgspec.structs.replace(
        MESSAGE, type=MessageType.BROADCAST_SUMMARY, to_member_id=None, origin_message_id=42
    )
    assert header(summary) == (
        "[42 | from:7 | 2026-05-05T05:42:11.123456+00:00 | kind:broadcast_summary | origin:42]"
    )


def test_the_body_is_cut_in_code_points_before_it_is_made_visible() -> None:
    assert envelope(with_text("\x1b\x1bcd"), 2).split("\n")[1] == r"  \x1b\x1b…"
    assert envelope(with_text("界" * 201), 200).split("\n")[1] == "  " + "界" * 200 + "…"
    assert envelope(with_text("abc"), 0).split("\n")[1] == "  …"


@given(st.lists(st.one_of(st.text(), st.just(header(MESSAGE)), st.just("")), min_size=1))
def test_no_body_can_pass_for_a_header(lines: list[str]) -> None:
    body = "\n".join(lines)
    first, *rest = envelope(with_text(body), len(body)).split("\n")
    assert first == header(MESSAGE)
    assert rest == ([f"  {line}" for line in visible_body(body).split("\n")] if body else [])
    # Blank lines part the messages, and no line of a body is one.
    assert envelopes([with_text(body)] * 3, len(body)).split("\n").count("") == 2


@given(st.text(), st.integers(0, 30))
def test_shortening_keeps_the_beginning(text: str, limit: int) -> None:
    short = shortened(text, limit)
    assert short == text if len(text) <= limit else short == text[:limit] + "…"


def test_several_envelopes_have_a_blank_line_between() -> None:
    assert envelopes([MESSAGE, with_text("")], 200) == (
        f"{header(MESSAGE)}\n  build OK\n\n{header(MESSAGE)}"
    )


def test_an_empty_poll_is_one_plain_line() -> None:
    assert polled(3, [], 0, 200) == "No messages are waiting for member 3."


def test_confirmations_come_before_the_envelope() -> None:
    outcome = SentWire(message=MESSAGE, delivery=told(DeliveryState.HELD, "draft: \x1b[1mtext"))
    assert sent(outcome, 200).split("\n")[:2] == [
        r"Message 42 stored, notice held (draft: \x1b[1mtext).",
        header(MESSAGE),
    ]
    assert acknowledged(MESSAGE, 200).split("\n")[:2] == [
        "Message 42 acknowledged.",
        header(MESSAGE),
    ]


def test_a_broadcast_counts_the_states_that_occur() -> None:
    states = [DeliveryState.SUBMITTED, DeliveryState.QUEUED, DeliveryState.SUBMITTED]
    counts = count_states(map(told, states))
    assert counts == {DeliveryState.QUEUED: 1, DeliveryState.SUBMITTED: 2}
    outcome = BroadcastWire(message=MESSAGE, recipients=3, deliveries=counts)
    assert broadcast(outcome) == "broadcast id=42 recipients=3 queued=1 submitted=2"
    nobody = BroadcastWire(message=MESSAGE, recipients=0, deliveries={})
    assert broadcast(nobody) == "broadcast id=42 recipients=0"
