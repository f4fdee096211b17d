"""The life line of a delivery as text: what is so since when, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.operations.outlook import DeliveryOutlook
from cafleet.present.visible import visible
from cafleet.records import TEXT_UNSHOWN, DeliveryState, MessageRecord, MessageType, ScreenState

_LEFT = "The recipient has left: there is nobody to notify."
_NO_COURIER = (
    "No courier runs for fleet {fleet}, so no pass will come; start it with "
    "`cafleet monitor run {fleet} --detach`. "
)
_PAUSED = "The fleet is paused, so no pass will come; go on with `cafleet fleet resume {fleet}`. "

_NEXT = {
    DeliveryState.NONE: "No notice is due: there is nobody to notify, or no pane to type into.",
    DeliveryState.QUEUED: (
        "Nobody has looked at the recipient's pane yet; the next pass does, once the pane is open."
    ),
    DeliveryState.UNREACHABLE: (
        "The message waits to be polled. If the recipient's server is down, start that again; if its "
        "pane is gone, {revival}."
    ),
    DeliveryState.TYPED: (
        "Its typing has begun; should that have been cut short, the next pass settles it."
    ),
    DeliveryState.SUBMITTED: "The agent has the notice; the recipient has not polled yet.",
    DeliveryState.UNSURE: (
        "It was typed and nothing proves that it was submitted, so it is never typed again; the message "
        "waits to be polled. Look with `cafleet member capture {member}`: a notice that "
        "still stands in the composer holds up all others. If it stands there alone, the courier presses "
        "Enter on it as soon as the pane changes; if other text stands with it, submit or clear it there."
    ),
    DeliveryState.SEEN: "The recipient has read it; nothing is left to do.",
}
_UNSURE_GONE = (
    "It was typed into a pane that is gone, so it is never typed again; the message waits to be polled. "
    "For the recipient, {revival}."
)
_URGENT = (
    "The agent works; the notice goes into its queue as soon as its composer is empty, and is typed at "
    "the latest when it rests."
)
_LOCKED = (
    "It is tried again with the next pass; if it stays so, a process that was stopped may hold the lock "
    "{lock_file}: let it go on, or end it."
)
_UNSHOWN = (
    "The pane has not changed since an earlier text was typed, so the agent may hang with that text on "
    "its way; this one is typed when the pane shows anything new. Look with `cafleet member capture "
    "{member}`, and let a stopped agent go on."
)
_HELD = {
    ScreenState.WORKING: (
        "The agent works; the notice is typed when it rests. A new message with --urgent goes into its "
        "queue at once if its composer is empty."
    ),
    ScreenState.DRAFT: (
        "Text stands in the composer, a person's or an unsure notice of ours (`cafleet member capture "
        "{member}` shows it): submit or clear it in the pane; then this one is typed."
    ),
    ScreenState.AWAITING: "The agent asks something: answer it in the pane.",
    ScreenState.BLOCKED: "Leave copy mode in the pane (q), or switch its input on again.",
    ScreenState.SHELL: "The agent has exited: start it again in its pane, or {revival}.",
    ScreenState.UNKNOWN: (
        "The screen tells nothing: look with `cafleet member capture {member}`; enlarge a small pane."
    ),
}


def life_line(outlook: DeliveryOutlook) -> str:
    """State, reason and time on the first line, then what would change it, then the changes."""
    line = outlook.line
    reason = "" if line.reason is None else f" ({visible(line.reason)})"
    state = f"{line.state.value}{reason} since {visible(line.since)}"
    rows = [
        f"message {line.message_id} to member {line.to_member_id}: {state}",
        _next(outlook),
    ]
    for event in line.events:
        told = dict.fromkeys(text for text in (event.reason, event.evidence) if text)
        details = " - ".join(map(visible, told))
        rows.append(f"  {visible(event.at)} {event.state.value}{f': {details}' if details else ''}")
    if outlook.forwarded is not None:
        went = outlook.forwarded
        rows.append(f"It went on to member {went.owner_member_id} as message {went.message_id}.")
    return "\n".join(rows)


def told(message: MessageRecord, lines: Sequence[DeliveryOutlook]) -> str:
    """The life line of a message; of each delivery of a broadcast, a blank line between."""
    if message.type is MessageType.BROADCAST_SUMMARY and not lines:
        return f"broadcast {message.message_id} had no recipients."
    return "\n\n".join(life_line(line) for line in lines)


def _next(outlook: DeliveryOutlook) -> str:
    courier = ""
    if outlook.lacks_courier:
        courier = _PAUSED if outlook.is_paused else _NO_COURIER
    return (courier + _advice(outlook)).format(
        fleet=outlook.fleet_id,
        member=outlook.line.to_member_id,
        lock_file=visible(outlook.lock_file or ""),
        revival=outlook.revival,
    )


def _advice(outlook: DeliveryOutlook) -> str:
    line = outlook.line
    if outlook.has_left and line.state is not DeliveryState.SEEN:
        return _LEFT
    if line.state is DeliveryState.UNSURE and outlook.is_gone:
        return _UNSURE_GONE
    if line.state is DeliveryState.HELD:
        return _held(outlook)
    return _NEXT[line.state]


def _held(outlook: DeliveryOutlook) -> str:
    if outlook.lock_file is not None:
        return _LOCKED
    if outlook.line.reason == TEXT_UNSHOWN:
        return _UNSHOWN
    looked = (outlook.line.reason or "").partition(":")[0]
    if looked == ScreenState.WORKING and outlook.urgent:
        return _URGENT
    for state, sentence in _HELD.items():
        if state.value == looked:
            return sentence
    return "It is tried again with the next pass."
