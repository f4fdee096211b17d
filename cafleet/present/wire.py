"""The JSON shapes of the command line. The order of fields is the order of keys.

Four shapes are their records, key for key: a message, a fleet, a line of the list of fleets, and
the delivery of a notice. The others are here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from cafleet.records import (
    Backend,
    CodingAgent,
    Delivery,
    DeliveryEvent,
    DeliveryState,
    FleetRecord,
    Launch,
    LifeLine,
    MemberActivity,
    MemberKind,
    MemberRecord,
    MemberStatus,
    MessageRecord,
    MessageType,
    MonitorRuntime,
    ScreenState,
    WakeOutcome,
)


class PlacementWire(msgspec.Struct, frozen=True, kw_only=True):
    """A placement without its server socket, which is nobody's business but ours."""

    backend: Backend
    mux_session: str
    mux_window_id: str
    mux_pane_id: str | None
    coding_agent: CodingAgent
    created_at: str


class MemberWire(msgspec.Struct, frozen=True, kw_only=True):
    member_id: int
    name: str
    description: str
    status: MemberStatus
    registered_at: str
    kind: MemberKind
    skills: list[Any]
    placement: PlacementWire | None


class MemberInTreeWire(MemberWire, frozen=True, kw_only=True):
    """A member that was given a work tree."""

    worktree: str
    branch: str | None
    base_commit: str | None


class RestartedWire(MemberWire, frozen=True, kw_only=True):
    """``session`` is ``resumed`` or ``fresh``, and ``reason`` says why."""

    session: str
    reason: str


class WhoamiWire(msgspec.Struct, frozen=True, kw_only=True):
    """The member that calls; ``evidence`` is ``variable`` or ``pane``."""

    member_id: int
    fleet_id: int
    director_member_id: int | None
    name: str
    kind: MemberKind
    evidence: str


class ActivityWire(msgspec.Struct, frozen=True, kw_only=True):
    member_id: int
    name: str
    kind: MemberKind
    placement: PlacementWire | None
    last_sent: str | None
    last_recv: str | None
    last_ack: str | None
    idle: int | None
    screen: ScreenState | None
    screen_at: str | None
    owed: int
    unacked: int
    unsure: int


class ActivityInTreeWire(ActivityWire, frozen=True, kw_only=True):
    """The same of a member that was given a work tree."""

    worktree: str
    branch: str | None
    base_commit: str | None


class WhyWire(msgspec.Struct, frozen=True, kw_only=True):
    """The life line of one delivery."""

    message_id: int
    state: DeliveryState
    reason: str | None
    since: str
    events: list[DeliveryEvent]


class SummaryWhyWire(msgspec.Struct, frozen=True, kw_only=True):
    """The life lines of a broadcast, each with its recipient."""

    message_id: int
    recipients: list[LifeLine]


class MonitorLoopWire(msgspec.Struct, frozen=True, kw_only=True):
    pid: int


class FleetWire(msgspec.Struct, frozen=True, kw_only=True):
    fleet_id: int
    name: str | None
    created_at: str
    deleted_at: str | None
    director_member_id: int | None


class TurnWire(msgspec.Struct, frozen=True, kw_only=True):
    """``role`` is ``user`` or ``assistant``, ``tools`` a line for each call of a tool."""

    at: str
    role: str
    text: str
    tools: list[str]


class PausedMemberWire(msgspec.Struct, frozen=True, kw_only=True):
    member_id: int
    outcome: str
    reason: str | None


class PausedFleetWire(msgspec.Struct, frozen=True, kw_only=True):
    fleet_id: int
    paused_at: str
    members: list[PausedMemberWire]


class ResumedMemberWire(msgspec.Struct, frozen=True, kw_only=True):
    member_id: int
    action: str | None
    session: str | None
    outcome: str
    reason: str | None


class ResumedFleetWire(msgspec.Struct, frozen=True, kw_only=True):
    fleet_id: int
    members: list[ResumedMemberWire]


class CreatedFleetWire(msgspec.Struct, frozen=True, kw_only=True):
    fleet_id: int
    name: str | None
    created_at: str
    director: MemberWire
    monitor: MemberWire
    monitor_loop: MonitorLoopWire


class PaneWire(msgspec.Struct, frozen=True, kw_only=True):
    member_id: int
    pane_id: str | None
    status: str


class DeletedFleetWire(msgspec.Struct, frozen=True, kw_only=True):
    deregistered_count: int
    panes: list[PaneWire]


class DeletedMemberWire(msgspec.Struct, frozen=True, kw_only=True):
    member_id: int
    pane_status: str


class MessageWire(msgspec.Struct, frozen=True, kw_only=True):
    message: MessageRecord


class SentWire(msgspec.Struct, frozen=True, kw_only=True):
    message: MessageRecord
    delivery: Delivery


class BroadcastWire(msgspec.Struct, frozen=True, kw_only=True):
    """``deliveries`` counts the recipients' deliveries by state; states without any are absent."""

    message: MessageRecord
    recipients: int
    deliveries: dict[DeliveryState, int]


class TypedWire(msgspec.Struct, frozen=True, kw_only=True):
    member_id: int
    pane_id: str
    text: str
    shell: bool


class PingWire(msgspec.Struct, frozen=True, kw_only=True):
    """``pane_id`` is null while the pane is pending; ``reason`` is null unless skipped."""

    member_id: int
    pane_id: str | None
    skipped: bool
    reason: str | None


class CaptureWire(msgspec.Struct, frozen=True, kw_only=True):
    member_id: int
    pane_id: str
    lines: int
    content: str
    captured_at: str
    content_sha256: str


_Shape = TypeVar("_Shape", bound=msgspec.Struct)


class OwedWire(msgspec.Struct, frozen=True, kw_only=True):
    """A notice that is still due, or that may not have arrived."""

    message_id: int
    to_member_id: int
    state: DeliveryState
    reason: str | None
    since: str


class MonitorStatusWire(msgspec.Struct, frozen=True, kw_only=True):
    """Process id and times are null while no courier is live; tick and interval keep the row's.

    ``wake_attempts`` counts the wakes in a row that nothing proves. ``wake_outcome`` is ``landed``,
    ``unproven`` or ``waiting: <why>``.
    """

    fleet_id: int
    running: bool
    pid: int | None
    started_at: str | None
    last_tick_at: str | None
    tick_seconds: int | None
    wake_interval_seconds: int | None
    last_wake_at: str | None
    owed: list[OwedWire]
    unsure: list[OwedWire]
    wake_attempted_at: str | None
    wake_attempts: int
    wake_outcome: str | None


class StoppedWire(msgspec.Struct, frozen=True, kw_only=True):
    stopped: bool


class ScanWire(msgspec.Struct, frozen=True, kw_only=True):
    """One pane of a scan; ``error`` says why there is no content."""

    member_id: int
    name: str
    kind: MemberKind
    coding_agent: CodingAgent
    pane_id: str | None
    lines: int
    content: str | None
    captured_at: str | None
    content_sha256: str | None
    error: str | None


class ParameterWire(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    type: str


class QueryWire(msgspec.Struct, frozen=True, kw_only=True):
    """What a query promises; ``record`` is null where it only writes."""

    name: str
    file: str
    line: int
    params: list[ParameterWire]
    record: str | None
    plan: list[str]


class CheckWire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``remarks``, only where there are any, are no faults."""

    ok: bool
    findings: list[str]
    remarks: list[str] = []


class BackupWire(msgspec.Struct, frozen=True, kw_only=True):
    path: str


def shaped(record: object, shape: type[_Shape]) -> _Shape:
    """The fields of ``record`` that ``shape`` has, by name, through nested records and lists."""
    return msgspec.convert(record, shape, from_attributes=True)


def shaped_all(records: Iterable[object], shape: type[_Shape]) -> list[_Shape]:
    """Each of ``records`` as :func:`shaped` makes it."""
    return [shaped(record, shape) for record in records]


def member_shown(member: MemberRecord, launch: Launch | None) -> MemberWire:
    """A member, with the work tree that it was given."""
    plain = shaped(member, MemberWire)
    if launch is None or launch.worktree is None:
        return plain
    return MemberInTreeWire(
        **msgspec.structs.asdict(plain),
        worktree=launch.worktree,
        branch=launch.branch,
        base_commit=launch.base_commit,
    )


def roster(members: Iterable[MemberActivity]) -> list[ActivityWire]:
    """The members of a fleet, each with the work tree that it was given."""
    return [
        shaped(each, ActivityWire if each.worktree is None else ActivityInTreeWire)
        for each in members
    ]


def restarted(member: MemberRecord, session: str, reason: str) -> RestartedWire:
    """A member that was started again."""
    fields = msgspec.structs.asdict(shaped(member, MemberWire))
    return RestartedWire(**fields, session=session, reason=reason)


def created_fleet(
    fleet: FleetRecord, director: MemberRecord, monitor: MemberRecord, loop_pid: int
) -> CreatedFleetWire:
    """What `fleet create` has made."""
    return CreatedFleetWire(
        fleet_id=fleet.fleet_id,
        name=fleet.name,
        created_at=fleet.created_at,
        director=shaped(director, MemberWire),
        monitor=shaped(monitor, MemberWire),
        monitor_loop=MonitorLoopWire(pid=loop_pid),
    )


def monitor_status(
    fleet_id: int,
    runtime: MonitorRuntime | None,
    owed: Iterable[LifeLine],
    unsure: Iterable[LifeLine],
    *,
    running: bool,
) -> MonitorStatusWire:
    """How a courier does; what a dead one left in its row about itself is not repeated as fact."""
    live = runtime if running else None
    return MonitorStatusWire(
        fleet_id=fleet_id,
        running=running,
        pid=None if live is None else live.pid,
        started_at=None if live is None else live.started_at,
        last_tick_at=None if live is None else live.last_tick_at,
        tick_seconds=None if runtime is None else runtime.tick_seconds,
        wake_interval_seconds=None if runtime is None else runtime.wake_interval_seconds,
        last_wake_at=None if runtime is None else runtime.last_wake_at,
        owed=shaped_all(owed, OwedWire),
        unsure=shaped_all(unsure, OwedWire),
        wake_attempted_at=None if runtime is None else runtime.wake_attempted_at,
        wake_attempts=0 if runtime is None else runtime.wake_attempts,
        wake_outcome=_wake_outcome(runtime),
    )


def _wake_outcome(runtime: MonitorRuntime | None) -> str | None:
    if runtime is None or runtime.wake_outcome is None:
        return None
    if runtime.wake_outcome is WakeOutcome.WAITING and runtime.wake_reason is not None:
        return f"{runtime.wake_outcome.value}: {runtime.wake_reason}"
    return runtime.wake_outcome.value


def life(message: MessageRecord, lines: list[LifeLine]) -> WhyWire | SummaryWhyWire:
    """What became of a message: of its one delivery, or of each that its broadcast made."""
    if message.type is MessageType.BROADCAST_SUMMARY:
        return SummaryWhyWire(message_id=message.message_id, recipients=lines)
    (line,) = lines
    return shaped(line, WhyWire)


def pane_status(pane_id: str | None, status: str) -> str:
    """What became of a pane: ``%3 (killed)``, or ``(no placement)`` where there is no pane id."""
    if pane_id is None:
        return "(pending — no pane)" if status == "pending" else f"({status})"
    return f"{pane_id} ({status})"


def count_states(deliveries: Iterable[Delivery]) -> dict[DeliveryState, int]:
    """How many deliveries are in each state, in the order of :class:`DeliveryState`."""
    found = [delivery.state for delivery in deliveries]
    return {state: found.count(state) for state in DeliveryState if state in found}


def to_json(value: object) -> str:
    """``value`` as one compact line of JSON, non-ASCII as it is."""
    return msgspec.json.encode(value).decode()
