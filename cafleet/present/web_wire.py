"""The JSON shapes that only the web has. The order of fields is the order of keys.

A line of the list of fleets is its record, and the life line of a message is that of
:mod:`cafleet.present.wire`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from cafleet import clock
from cafleet.errors import FROM_BACKUP, IntegrityError
from cafleet.present.wire import PlacementWire
from cafleet.records import (
    DeliveryState,
    MemberKind,
    MemberStatus,
    MessageState,
    MessageType,
    MonitorRuntime,
    TrackedMessage,
    WakeTarget,
)


class RosterMemberWire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``worktree`` and ``branch`` are left out for a member that was given no work tree."""

    member_id: int
    name: str
    description: str
    status: MemberStatus
    registered_at: str
    kind: MemberKind
    placement: PlacementWire | None
    worktree: str | None = None
    branch: str | None = None


class RosterWire(msgspec.Struct, frozen=True, kw_only=True):
    members: list[RosterMemberWire]


class WatchedMemberWire(msgspec.Struct, frozen=True, kw_only=True):
    """A member that the monitor watches, and what it has not acknowledged; the age is in seconds."""

    member_id: int
    name: str
    pending_count: int
    oldest_pending_ts: str | None
    oldest_pending_age_seconds: int | None


class MonitorWire(msgspec.Struct, frozen=True, kw_only=True):
    """Process id, times and ages are null while no courier is live; tick and interval keep the row's."""

    running: bool
    pid: int | None
    tick_seconds: int | None
    wake_interval_seconds: int | None
    last_tick_at: str | None
    last_tick_age_seconds: int | None
    started_at: str | None
    last_wake_at: str | None
    last_wake_age_seconds: int | None
    members: list[WatchedMemberWire]


class IntervalWire(msgspec.Struct, frozen=True, kw_only=True):
    wake_interval_seconds: int


class WakeRequestWire(msgspec.Struct, frozen=True, kw_only=True):
    wake_requested_at: str


class NamedMessageWire(msgspec.Struct, frozen=True, kw_only=True):
    """A message with the names of both ends; a summary has no recipient, so both are null, and the
    name of a sender whose row was removed is null."""

    message_id: int
    from_member_id: int
    from_member_name: str | None
    to_member_id: int | None
    to_member_name: str | None
    type: MessageType
    status: MessageState
    created_at: str
    status_timestamp: str
    origin_message_id: int | None
    body: str
    delivery_state: DeliveryState


class MessagesWire(msgspec.Struct, frozen=True, kw_only=True):
    messages: list[NamedMessageWire]


class StoredWire(msgspec.Struct, frozen=True, kw_only=True):
    """What a send has stored: the delivery, or the summary of a broadcast."""

    message_id: int
    status: MessageState


def monitor_card(
    runtime: MonitorRuntime | None,
    targets: Iterable[WakeTarget],
    *,
    running: bool,
    now: datetime,
) -> MonitorWire:
    """How a fleet's courier does at ``now``; what a dead one left in its row is not repeated as fact."""
    live = runtime if running else None
    last_tick = None if live is None else live.last_tick_at
    last_wake = None if live is None else live.last_wake_at
    return MonitorWire(
        running=running,
        pid=None if live is None else live.pid,
        tick_seconds=None if runtime is None else runtime.tick_seconds,
        wake_interval_seconds=None if runtime is None else runtime.wake_interval_seconds,
        last_tick_at=last_tick,
        last_tick_age_seconds=_age(last_tick, now),
        started_at=None if live is None else live.started_at,
        last_wake_at=last_wake,
        last_wake_age_seconds=_age(last_wake, now),
        members=[
            WatchedMemberWire(
                member_id=target.member_id,
                name=target.name,
                pending_count=target.pending_count,
                oldest_pending_ts=target.oldest_pending_ts,
                oldest_pending_age_seconds=_age(target.oldest_pending_ts, now),
            )
            for target in targets
        ],
    )


def _age(stamp: str | None, now: datetime) -> int | None:
    """Whole seconds, 0 for a time yet to come; ``None`` if there is none, or it is unreadable."""
    seconds = None if stamp is None else clock.seconds_since(stamp, now)
    return None if seconds is None else max(seconds, 0)


def ends(messages: Iterable[TrackedMessage]) -> set[int]:
    """The members whose names the wire form of these messages needs."""
    found: set[int] = set()
    for message in messages:
        found.add(message.from_member_id)
        if message.to_member_id is not None:
            found.add(message.to_member_id)
    return found


def named(messages: Sequence[TrackedMessage], names: Mapping[int, str]) -> MessagesWire:
    """The wire form of ``messages``, in their order.

    Raises:
        IntegrityError: the name of a recipient is missing; nothing is invented.
    """
    return MessagesWire(messages=[_named(message, names) for message in messages])


def _named(message: TrackedMessage, names: Mapping[int, str]) -> NamedMessageWire:
    recipient = message.to_member_id
    to_name = None if recipient is None else _recipient_name(message, recipient, names)
    return NamedMessageWire(
        message_id=message.message_id,
        from_member_id=message.from_member_id,
        from_member_name=names.get(message.from_member_id),
        to_member_id=recipient,
        to_member_name=to_name,
        type=message.type,
        status=message.status_state,
        created_at=message.created_at,
        status_timestamp=message.status_timestamp,
        origin_message_id=message.origin_message_id,
        body=message.text,
        delivery_state=message.delivery_state,
    )


def _recipient_name(message: TrackedMessage, recipient: int, names: Mapping[int, str]) -> str:
    try:
        return names[recipient]
    except KeyError:
        raise IntegrityError(
            f"messages.to_member_id holds {recipient} where message_id is {message.message_id}, and no "
            f"member has that id; restore the member {FROM_BACKUP}"
        ) from None


def in_tree(
    member: RosterMemberWire, trees: Mapping[int, tuple[str, str | None]]
) -> RosterMemberWire:
    """A member of the roster with its work tree, if it is among ``trees``, which are by member id."""
    if member.member_id not in trees:
        return member
    worktree, branch = trees[member.member_id]
    return msgspec.structs.replace(member, worktree=worktree, branch=branch)
