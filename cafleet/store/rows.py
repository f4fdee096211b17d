"""The shape of every query result: one frozen struct per shape, its fields the columns in order.

A row struct says which table its fields come from and which field holds the row's key, so that a
value outside its column's range can be reported by table, column, value and row. Fields have no
defaults: a column that a query forgets is an error, not a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec

from cafleet.errors import FROM_BACKUP
from cafleet.records import (
    ArgumentKind,
    Backend,
    CodingAgent,
    DeliveryState,
    MemberStatus,
    MessageState,
    MessageType,
    ScreenState,
    TypingKind,
    TypingState,
    WakeOutcome,
)


class Source(NamedTuple):
    """Where a joined or computed column is stored, and by which key its row is found there.

    ``key`` is that table's column, ``held_by`` the field of this row with its value.
    """

    table: str
    column: str
    key: str
    held_by: str


_PLACEMENT = {
    field: Source("member_placements", column, "member_id", "member_id")
    for field, column in {
        "backend": "backend",
        "mux_socket": "mux_socket",
        "mux_server_pid": "mux_server_pid",
        "mux_session": "mux_session",
        "mux_window_id": "mux_window_id",
        "mux_pane_id": "mux_pane_id",
        "coding_agent": "coding_agent",
        "placed_at": "created_at",
        "screen": "screen",
        "screen_at": "screen_at",
    }.items()
}
_FLEET = {
    "director_member_id": Source("fleets", "director_member_id", "fleet_id", "fleet_id"),
    "fleet_deleted_at": Source("fleets", "deleted_at", "fleet_id", "fleet_id"),
}

_WORKTREE = {
    column: Source("member_launches", column, "member_id", "member_id")
    for column in ("worktree", "branch", "base_commit")
}
_SIGNS_OF_LIFE = {
    "last_sent": Source("messages", "created_at", "from_member_id", "member_id"),
    "last_recv": Source("messages", "created_at", "owner_member_id", "member_id"),
    "last_ack": Source("messages", "status_timestamp", "owner_member_id", "member_id"),
}

# SQLite counts from 1: an id below it was put there by a hand.
_Id = Annotated[int, msgspec.Meta(ge=1)]


class Row(msgspec.Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """What all rows share: where their values come from, and what mends a wrong one.

    A row is decoded by position, so msgspec would encode it as an array. The broker makes records of
    rows, and nothing above it sees one.
    """

    table: ClassVar[str]
    key: ClassVar[str]
    joined: ClassVar[Mapping[str, Source]] = {}
    cure: ClassVar[str] = f"correct that row, or restore it {FROM_BACKUP}"


class AppliedMigrationRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "schema_migrations"
    key: ClassVar[str] = "version"

    version: int
    file_name: str
    checksum: str
    applied_at: str


class AlembicRevisionRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "alembic_version"
    key: ClassVar[str] = "version_num"

    version_num: str


class LedgerExtentRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "schema_migrations"
    key: ClassVar[str] = "newest"

    entries: int
    oldest: int | None
    newest: int | None


class FleetRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "fleets"
    key: ClassVar[str] = "fleet_id"

    fleet_id: _Id
    name: str | None
    created_at: str
    deleted_at: str | None
    director_member_id: _Id | None
    paused_at: str | None


class FleetSummaryRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "fleets"
    key: ClassVar[str] = "fleet_id"

    fleet_id: int
    director_member_id: int | None
    name: str | None
    created_at: str
    member_count: int | None


class FleetFaultRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "fleets"
    key: ClassVar[str] = "fleet_id"

    fleet_id: int
    fault: str


class MemberRow(Row, frozen=True, kw_only=True):
    """A member, its placement (all null without one), and what its fleet says about it.

    The card may be any stored value: what is not a card is read as an empty one.
    """

    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"
    joined: ClassVar[Mapping[str, Source]] = _PLACEMENT | _FLEET

    member_id: int
    fleet_id: int
    name: str
    description: str
    status: MemberStatus
    registered_at: str
    member_card_json: Any
    director_member_id: int | None
    fleet_deleted_at: str | None
    backend: Backend | None
    mux_socket: str | None
    mux_server_pid: int | None
    mux_session: str | None
    mux_window_id: str | None
    mux_pane_id: str | None
    coding_agent: CodingAgent | None
    placed_at: str | None


class ActivityRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"
    joined: ClassVar[Mapping[str, Source]] = _PLACEMENT | _FLEET | _WORKTREE | _SIGNS_OF_LIFE

    member_id: int
    fleet_id: int
    name: str
    status: MemberStatus
    member_card_json: Any
    director_member_id: int | None
    backend: Backend | None
    mux_socket: str | None
    mux_server_pid: int | None
    mux_session: str | None
    mux_window_id: str | None
    mux_pane_id: str | None
    coding_agent: CodingAgent | None
    placed_at: str | None
    screen: ScreenState | None
    screen_at: str | None
    worktree: str | None
    branch: str | None
    base_commit: str | None
    last_sent: str | None
    last_recv: str | None
    last_ack: str | None
    owed: int
    unacked: int
    unsure: int


class StoredMemberRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"

    member_id: _Id
    fleet_id: _Id
    name: str
    description: str
    status: MemberStatus
    registered_at: str
    deregistered_at: str | None
    member_card_json: Any
    successor_member_id: _Id | None


class SuccessorRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"

    member_id: int
    successor_member_id: _Id


class MemberNameRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"

    member_id: int
    name: str


class MemberStatusRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"

    member_id: int
    status: MemberStatus


class FleetStatusRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"

    member_id: int
    fleet_id: int
    status: MemberStatus


class MemberIdRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"

    member_id: int


class MissingSenderRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "messages"
    key: ClassVar[str] = "member_id"
    joined: ClassVar[Mapping[str, Source]] = {
        "member_id": Source("messages", "from_member_id", "from_member_id", "member_id")
    }

    member_id: int
    message_count: int


class MemberFaultRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"

    member_id: int
    fault: str


class WakeTargetRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"
    joined: ClassVar[Mapping[str, Source]] = _PLACEMENT | {
        "oldest_pending_ts": _SIGNS_OF_LIFE["last_ack"],
    }

    member_id: int
    name: str
    coding_agent: CodingAgent
    pending_count: int
    oldest_pending_ts: str | None


class MonitorClaimRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"

    fleet_id: int
    member_id: int


class PaneOwnerRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"
    joined: ClassVar[Mapping[str, Source]] = _PLACEMENT

    member_id: int
    fleet_id: int
    status: MemberStatus
    mux_socket: str | None
    mux_server_pid: int | None
    mux_session: str
    mux_window_id: str


class StoredPlacementRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "member_placements"
    key: ClassVar[str] = "member_id"

    member_id: _Id
    mux_session: str
    mux_window_id: str
    mux_pane_id: str | None
    backend: Backend
    coding_agent: CodingAgent
    created_at: str
    mux_socket: str | None
    screen: ScreenState | None
    screen_at: str | None
    screen_since: str | None
    mux_server_pid: int | None


class MessageRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "messages"
    key: ClassVar[str] = "message_id"

    message_id: int
    owner_member_id: int
    from_member_id: int
    to_member_id: int | None
    type: MessageType
    created_at: str
    status_state: MessageState
    status_timestamp: str
    origin_message_id: int | None
    text: str


class TrackedMessageRow(MessageRow, frozen=True, kw_only=True):
    delivery_state: DeliveryState


class StoredMessageRow(MessageRow, frozen=True, kw_only=True):
    message_id: _Id
    owner_member_id: _Id
    from_member_id: _Id
    to_member_id: _Id | None
    origin_message_id: _Id | None
    delivery_state: DeliveryState
    urgent: Annotated[int, msgspec.Meta(ge=0, le=1)]
    forwarded_from: _Id | None


class ForwardedRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "messages"
    key: ClassVar[str] = "message_id"

    message_id: int
    owner_member_id: int


class MessageIdRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "messages"
    key: ClassVar[str] = "message_id"

    message_id: int


class MessageFaultRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "messages"
    key: ClassVar[str] = "message_id"

    message_id: int
    fault: str


class OwedRow(Row, frozen=True, kw_only=True):
    """A notice that is due; the sender's name is null when history has outlived the sender."""

    table: ClassVar[str] = "messages"
    key: ClassVar[str] = "message_id"
    joined: ClassVar[Mapping[str, Source]] = {
        "owner_name": Source("members", "name", "member_id", "owner_member_id"),
        "from_name": Source("members", "name", "member_id", "from_member_id"),
        "held_since": Source("delivery_events", "at", "message_id", "message_id"),
    }

    message_id: int
    owner_member_id: int
    owner_name: str
    from_member_id: int
    from_name: str | None
    created_at: str
    text: str
    delivery_state: DeliveryState
    urgent: int
    held_since: str | None


class OwingRow(Row, frozen=True, kw_only=True):
    """A member that is owed notices or has an unsettled text in its pane, and where that is; the
    last five are 0 or 1."""

    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"
    joined: ClassVar[Mapping[str, Source]] = _PLACEMENT

    member_id: int
    mux_pane_id: str
    mux_socket: str | None
    untried: int
    typed: int
    unsure: int
    pressing: int
    unreachable: int


class DeliveryRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "messages"
    key: ClassVar[str] = "message_id"
    joined: ClassVar[Mapping[str, Source]] = {
        "fleet_id": Source("members", "fleet_id", "member_id", "owner_member_id"),
        "owner_status": Source("members", "status", "member_id", "owner_member_id"),
        "owner_gone": Source("member_placements", "screen", "member_id", "owner_member_id"),
        "reason": Source("delivery_events", "reason", "message_id", "message_id"),
    }

    message_id: int
    owner_member_id: int
    created_at: str
    status_state: MessageState
    urgent: int
    fleet_id: int
    owner_status: MemberStatus
    delivery_state: DeliveryState
    owner_gone: int
    reason: str | None


class DeliveryEventRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "delivery_events"
    key: ClassVar[str] = "event_id"

    event_id: _Id
    message_id: _Id
    at: str
    state: DeliveryState
    reason: str | None
    evidence: str | None


class TypingRow(Row, frozen=True, kw_only=True):
    """A text that may stand in a member's pane; ``marker`` holds its parts on a line each."""

    table: ClassVar[str] = "typings"
    key: ClassVar[str] = "member_id"

    member_id: _Id
    kind: TypingKind
    text: str
    marker: str | None
    mux_pane_id: str
    program: str
    token: str
    typed_at: str
    enters: Annotated[int, msgspec.Meta(ge=0)]
    state: TypingState
    evidence: str | None
    settled_at: str | None
    picture: str | None


class TypingMessageRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "typing_messages"
    key: ClassVar[str] = "message_id"

    message_id: _Id
    member_id: _Id


class WaitRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "waits"
    key: ClassVar[str] = "wait_id"

    wait_id: _Id
    waiter_member_id: _Id
    awaited_member_id: _Id | None
    message_id: _Id | None
    until_at: str
    lock_file: str


class StoredWaitRow(WaitRow, frozen=True, kw_only=True):
    started_at: str


class ReservationRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "reserved_members"
    key: ClassVar[str] = "member_id"

    member_id: _Id
    fleet_id: _Id
    is_director: Annotated[int, msgspec.Meta(ge=0, le=1)]


class StoredReservationRow(ReservationRow, frozen=True, kw_only=True):
    reserved_at: str


class LeftProcessRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "left_processes"
    key: ClassVar[str] = "left_id"

    left_id: _Id
    pid: _Id
    started: str
    boot: str
    name: str


class StoredLeftProcessRow(LeftProcessRow, frozen=True, kw_only=True):
    member_id: _Id
    noted_at: str


class LaunchRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "member_launches"
    key: ClassVar[str] = "member_id"

    member_id: _Id
    coding_agent: CodingAgent
    model: str | None
    effort: str | None
    permission_mode: str | None
    working_directory: str
    agent_base: str
    worktree: str | None
    branch: str | None
    base_commit: str | None
    prompt: str | None
    session_id: str | None
    launch_number: _Id
    launched_at: str


class WorktreeRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "member_launches"
    key: ClassVar[str] = "member_id"

    member_id: int
    worktree: str
    branch: str | None


class LaunchFolderRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "member_launches"
    key: ClassVar[str] = "member_id"

    member_id: _Id
    working_directory: str


class LaunchArgumentRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "member_launch_arguments"
    key: ClassVar[str] = "argument_id"

    argument_id: _Id
    member_id: _Id
    position: int
    kind: ArgumentKind
    argument: str


class MonitorRuntimeRow(Row, frozen=True, kw_only=True):
    """A tick below one second would spin, so it is no value of its column."""

    table: ClassVar[str] = "monitor_runtime"
    key: ClassVar[str] = "fleet_id"

    fleet_id: _Id
    pid: int | None
    started_at: str | None
    last_tick_at: str | None
    tick_seconds: Annotated[int, msgspec.Meta(ge=1)]
    last_wake_at: str | None
    wake_interval_seconds: Annotated[int, msgspec.Meta(ge=0)] | None
    wake_requested_at: str | None
    stopped_at: str | None
    wake_attempted_at: str | None
    wake_attempts: Annotated[int, msgspec.Meta(ge=0)]
    wake_outcome: WakeOutcome | None
    wake_reason: str | None


class RuntimeFaultRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "monitor_runtime"
    key: ClassVar[str] = "fleet_id"

    fleet_id: int
    fault: str


class AssetInstallRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "asset_installs"
    key: ClassVar[str] = "path"
    # It writes the rows of the agents' present paths again, and deletes others that are damaged.
    cure: ClassVar[str] = "run `cafleet setup`, or delete that row"

    install_id: int
    coding_agent: CodingAgent
    path: str
    cafleet_version: str
    installed_at: str


class LastIdRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "sqlite_sequence"
    key: ClassVar[str] = "name"

    name: str
    seq: int


class PredecessorFleetRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "fleets"
    key: ClassVar[str] = "fleet_id"

    fleet_id: int
    name: str | None
    created_at: str
    deleted_at: str | None
    director_member_id: int | None


class PredecessorMemberRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "members"
    key: ClassVar[str] = "member_id"

    member_id: int
    fleet_id: int
    name: str
    description: str
    status: MemberStatus
    registered_at: str
    deregistered_at: str | None
    member_card_json: Any


class PredecessorPlacementRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "member_placements"
    key: ClassVar[str] = "member_id"

    member_id: int
    mux_session: str
    mux_window_id: str
    mux_pane_id: str | None
    backend: Backend
    coding_agent: CodingAgent
    created_at: str


class PredecessorMessageRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "messages"
    key: ClassVar[str] = "message_id"

    message_id: int
    owner_member_id: int
    from_member_id: int
    to_member_id: int | None
    type: MessageType
    created_at: str
    status_timestamp: str
    origin_message_id: int | None
    text: str
    status_state: MessageState


class PublishedVersionRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "refinery_schema_history"
    key: ClassVar[str] = "version"

    version: int


class SchemaObjectRow(Row, frozen=True, kw_only=True):
    table: ClassVar[str] = "sqlite_master"
    key: ClassVar[str] = "name"

    type: str
    name: str
    tbl_name: str
    sql: str
