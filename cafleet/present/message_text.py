"""The `message` commands as text, without a final line feed."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.present.envelope import envelope, envelopes
from cafleet.present.visible import visible
from cafleet.present.wire import BroadcastWire, SentWire
from cafleet.records import Delivery, MessageRecord


def sent(outcome: SentWire, max_text_len: int) -> str:
    message = outcome.message
    first = f"Message {message.message_id} stored, notice {delivery_words(outcome.delivery)}."
    return f"{first}\n{envelope(message, max_text_len)}"


def delivery_words(delivery: Delivery) -> str:
    """``submitted``, or ``held (working: esc to interrupt)`` where there is a reason."""
    reason = "" if delivery.reason is None else f" ({visible(delivery.reason)})"
    return f"{delivery.state.value}{reason}"


def broadcast(outcome: BroadcastWire) -> str:
    first = f"broadcast id={outcome.message.message_id} recipients={outcome.recipients}"
    counts = [f"{state.value}={number}" for state, number in outcome.deliveries.items()]
    return " ".join([first, *counts])


def polled(member_id: int, messages: Sequence[MessageRecord], more: int, max_text_len: int) -> str:
    """``more`` is how many wait beside those that are given."""
    if not messages:
        return f"No messages are waiting for member {member_id}."
    told = envelopes(messages, max_text_len)
    if not more:
        return told
    return f"{told}\n\n{more} more {'is' if more == 1 else 'are'} waiting for member {member_id}."


def listed(fleet_id: int, messages: Sequence[MessageRecord], max_text_len: int) -> str:
    """A page of a history."""
    if not messages:
        return f"Fleet {fleet_id} has no such messages."
    return envelopes(messages, max_text_len)


def acknowledged(message: MessageRecord, max_text_len: int) -> str:
    return f"Message {message.message_id} acknowledged.\n{envelope(message, max_text_len)}"
