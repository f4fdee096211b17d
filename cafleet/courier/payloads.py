"""The texts that are typed into panes. They hold nothing that a terminal or an agent would obey."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from cafleet import clock
from cafleet.courier.typable import typable
from cafleet.records import CodingAgent, OwedNotice, ScreenState
from cafleet.widths import cut_name

# The most lines and characters of one payload. It is longer only if the user's setting allows a single
# longer body. It counts the messages that it does not show.
PAYLOAD_LINES = 10
PAYLOAD_CHARACTERS = 1_500

_LINE_BREAK = re.compile("\r\n|[\n\v\f\r\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SHOWN_BREAK = "⏎"


def notice(message: OwedNotice, max_text_len: int) -> str:
    """A notice in two lines: id, sender and time, then the shortened body on one line."""
    head = _head(message)
    # The space at the end and a line break are characters, too.
    room = max(PAYLOAD_CHARACTERS - len(head) - 2, max_text_len + 1)
    return f"{head}\n{flattened(message.text, max_text_len, room)}"


def _head(message: OwedNotice) -> str:
    start, end = marker(message)
    sender = safe_name(message.from_name if message.from_name is not None else "unknown")
    recipient = safe_name(message.owner_name)
    return f"{start} ({recipient}) from {message.from_member_id} ({sender}) {end}"


def marker(message: OwedNotice) -> tuple[str, str]:
    """The beginning and the end of the first line of a message's notice.

    The id alone proves nothing, since the body of an earlier message may name it. No earlier message can
    know the time.
    """
    start = f"[cafleet msg {message.message_id} to {message.owner_member_id}"
    return start, f"{message.created_at}]"


def notices(messages: Sequence[OwedNotice], max_text_len: int) -> str:
    """One payload of what is owed to a member, oldest first.

    It shows the newest messages that fit. A first line counts the older ones. It ends in a space, or a body
    that ends in ``@word`` would open a menu that swallows the Enter.
    """
    count = _count_fitting(messages, max_text_len)
    lines = [notice(message, max_text_len) for message in messages[-count:]]
    return "\n".join([*_left_out(messages, count), *lines]) + " "


def _count_fitting(messages: Sequence[OwedNotice], max_text_len: int) -> int:
    """How many of the newest messages one payload shows; at least one."""
    lines = characters = told = 0
    for message in reversed(messages):
        text = notice(message, max_text_len)
        lines += text.count("\n") + 1
        characters += len(text) + 1
        first = _left_out(messages, told + 1)
        all_lines = lines + len(first)
        all_characters = characters + sum(len(line) + 1 for line in first)
        if told and (all_lines > PAYLOAD_LINES or all_characters > PAYLOAD_CHARACTERS):
            break
        told += 1
    return told


def _left_out(messages: Sequence[OwedNotice], told: int) -> list[str]:
    count = len(messages) - told
    if count == 0:
        return []
    noun = "older message" if count == 1 else "older messages"
    return [f"[cafleet] {count} {noun}: cafleet message poll {messages[0].owner_member_id}"]


def poll_request(member_id: int) -> str:
    """The line of a ping."""
    return (
        f"cafleet message poll {member_id} - run this now, act on what is there, then resume any "
        f"unfinished work "
    )


def flattened(body: str, max_text_len: int, room: int | None = None) -> str:
    """Put a body on one line, cut to ``max_text_len`` code points and an ellipsis.

    Spelled characters make it longer. ``room`` is the most characters that it may then have.
    """
    cut = f"{body[:max_text_len]}…" if len(body) > max_text_len else body
    return typable(_CONTROL.sub("", _LINE_BREAK.sub(_SHOWN_BREAK, cut)), room)


def safe_name(name: str) -> str:
    """A name that is harmless if an agent pastes the line into a shell."""
    shown = _LINE_BREAK.sub(_SHOWN_BREAK, name).replace("\t", _SHOWN_BREAK)
    safe = _CONTROL.sub("", shown.replace("`", "ˋ").replace("$(", "$﹙"))
    return cut_name(typable(safe))


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What a wake says of one member. Its screen has been so for ``seconds``."""

    member_id: int
    name: str
    agent: CodingAgent | None
    unacked: int
    screen: ScreenState | None
    seconds: int


def wake_line(fleet_id: int, watched: Sequence[Watched], director: Watched | None) -> str:
    """The line that wakes a monitor. It ends in a space, like every payload."""
    if not watched:
        whom = "no members to check"
    elif len(watched) == 1:
        whom = f"1 member to check: {_watched(watched[0])}"
    else:
        whom = f"{len(watched)} members to check: {', '.join(map(_watched, watched))}"
    of = "unknown" if director is None else _watched(director)
    return (
        f"[cafleet] tick: fleet {fleet_id}, {whom}; Director: {of}. Follow the monitor protocol, then "
        f"resume any interrupted work. "
    )


def _watched(each: Watched) -> str:
    screen = f"{each.screen or 'pane pending'} since {clock.short_age(each.seconds)}"
    agent = each.agent or "no pane"
    name = safe_name(each.name)
    return f"{each.member_id} ({name}; {agent}; unacked {each.unacked}; {screen})"
