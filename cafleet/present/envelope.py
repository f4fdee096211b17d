"""A message as text: one header line, then the body.

Each line of a body is indented and no header is, so that no body can pass for a header.
"""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.present.visible import visible, visible_body
from cafleet.records import MessageRecord, MessageType

_INDENT = "  "


def header(message: MessageRecord) -> str:
    """``[42 | from:7 | 2026-05-05T05:42:11.123456+00:00]``, with kind and origin where they apply."""
    parts = [str(message.message_id), f"from:{message.from_member_id}", visible(message.created_at)]
    if message.type is MessageType.BROADCAST_SUMMARY:
        parts.append(f"kind:{message.type.value}")
    if message.origin_message_id is not None:
        parts.append(f"origin:{message.origin_message_id}")
    return f"[{' | '.join(parts)}]"


def shortened(text: str, max_text_len: int) -> str:
    """The first ``max_text_len`` code points, and ``…`` if there were more."""
    return text if len(text) <= max_text_len else text[:max_text_len] + "…"


def envelope(message: MessageRecord, max_text_len: int) -> str:
    """The header line and, if there is one, the body below it, each of its lines indented; without
    a final line feed."""
    if not message.text:
        return header(message)
    body = visible_body(shortened(message.text, max_text_len))
    return "\n".join([header(message), *(f"{_INDENT}{line}" for line in body.split("\n"))])


def envelopes(messages: Sequence[MessageRecord], max_text_len: int) -> str:
    """Several envelopes, a blank line between two."""
    return "\n\n".join(envelope(message, max_text_len) for message in messages)
