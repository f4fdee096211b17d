"""The life line of a delivery as text: what is so since when, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.present.visible import visible
from cafleet.records import (
    RECIPIENT_LEFT,
    DeliveryState,
    LifeLine,
    MessageRecord,
    MessageType,
    ScreenState,
)

_NEXT = {
    DeliveryState.NONE: "No notice is due: there is nobody to notify, or no pane to type into.",
    DeliveryState.QUEUED: "Nobody has looked at the recipient's pane yet; the next pass does.",
    DeliveryState.UNREACHABLE: (
        "The message waits to be polled. Delete a member whose pane is gone with "
        "`cafleet member delete {member}`; if its server is down, start that again."
    ),
    DeliveryState.TYPED: "It is being typed; should that have been cut short, the next pass settles it.",
    DeliveryState.SUBMITTED: "The agent has the notice; the recipient has not polled yet.",
    DeliveryState.UNSURE: (
        "It was typed and nothing proves that it was submitted, so it is never typed again; the message "
        "waits to be polled. Look with `cafleet member capture {member}`: a notice that still stands in "
        "the composer holds up all others until somebody presses Enter on it or clears it there."
    ),
    DeliveryState.SEEN: "The recipient has read it; nothing is left to do.",
}
_HELD = {
    ScreenState.WORKING: (
        "The agent works; the notice is typed when it rests. A new message with --urgent goes into its "
        "queue at once."
    ),
    ScreenState.DRAFT: (
        "Text stands in the composer, a person's or an unsure notice of ours (`cafleet member capture "
        "{member}` shows it): submit or clear it in the pane; then this one is typed."
    ),
    ScreenState.AWAITING: "The agent asks something: answer it in the pane.",
    ScreenState.BLOCKED: "Leave copy mode in the pane (q), or switch its input on again.",
    ScreenState.SHELL: (
        "The agent has exited: start it again in its pane, or delete the member with "
        "`cafleet member delete {member}`."
    ),
    ScreenState.UNKNOWN: (
        "The screen tells nothing: look with `cafleet member capture {member}`; enlarge a small pane."
    ),
}


def life_line(line: LifeLine) -> str:
    """State, reason and time on the first line, then what would change it, then the changes."""
    reason = "" if line.reason is None else f" ({visible(line.reason)})"
    state = f"{line.state.value}{reason} since {visible(line.since)}"
    rows = [
        f"message {line.message_id} to member {line.to_member_id}: {state}",
        _next(line).format(member=line.to_member_id),
    ]
    for event in line.events:
        told = dict.fromkeys(text for text in (event.reason, event.evidence) if text)
        details = " - ".join(map(visible, told))
        rows.append(f"  {visible(event.at)} {event.state.value}{f': {details}' if details else ''}")
    return "\n".join(rows)


def told(message: MessageRecord, lines: Sequence[LifeLine]) -> str:
    """The life line of a message; of each delivery of a broadcast, a blank line between."""
    if message.type is MessageType.BROADCAST_SUMMARY and not lines:
        return f"broadcast {message.message_id} had no recipients."
    return "\n\n".join(life_line(line) for line in lines)


def _next(line: LifeLine) -> str:
    if line.reason == RECIPIENT_LEFT:
        return _NEXT[DeliveryState.NONE]
    if line.state is not DeliveryState.HELD:
        return _NEXT[line.state]
    looked = (line.reason or "").partition(":")[0]
    for state, sentence in _HELD.items():
        if state.value == looked:
            return sentence
    return "It is tried again with the next pass."
