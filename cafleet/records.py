"""The closed enums and the records that the rest of the program passes around."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class MemberStatus(StrEnum):
    ACTIVE = "active"
    DEREGISTERED = "deregistered"


class MemberKind(StrEnum):
    """Computed, never stored: see :func:`cafleet.broker.cards.kind_of`."""

    DIRECTOR = "director"
    MONITOR = "monitor"
    MEMBER = "member"


class Backend(StrEnum):
    """A multiplexer."""

    TMUX = "tmux"
    HERDR = "herdr"


class CodingAgent(StrEnum):
    CLAUDE = "claude"
    CODEX = "codex"
    OPENCODE = "opencode"


class MessageType(StrEnum):
    UNICAST = "unicast"
    BROADCAST_SUMMARY = "broadcast_summary"


class MessageState(StrEnum):
    """Whether the recipient has acknowledged the delivery."""

    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"


class DeliveryState(StrEnum):
    """What became of the notice of a delivery."""

    NONE = "none"
    QUEUED = "queued"
    HELD = "held"
    UNREACHABLE = "unreachable"
    TYPED = "typed"
    SUBMITTED = "submitted"
    UNSURE = "unsure"
    SEEN = "seen"


class WaitState(StrEnum):
    """What a sender can wait for."""

    SUBMITTED = "submitted"
    SEEN = "seen"
    ACKED = "acked"


OWED = frozenset(
    {
        DeliveryState.QUEUED,
        DeliveryState.HELD,
        DeliveryState.UNREACHABLE,
        DeliveryState.TYPED,
    }
)
"""The states in which a notice is still due; the same list stands in the index of what is owed."""
RECIPIENT_LEFT = "recipient deregistered"
"""The reason of the last change of a notice that is due no more, since there is nobody to tell."""
PANE_LOCKED = "another process is typing into the pane"
"""The reason of a hold while another process has the lock of the pane."""


TEXT_UNSHOWN = "an earlier text was typed into the pane and has not shown there"
"""The reason of a hold while a text of ours may be on its way into the composer."""


class ScreenState(StrEnum):
    """What a look at a pane can find."""

    GONE = "gone"
    BLOCKED = "blocked"
    SHELL = "shell"
    UNKNOWN = "unknown"
    AWAITING = "awaiting"
    WORKING = "working"
    DRAFT = "draft"
    REST = "rest"


class TypingKind(StrEnum):
    """What a text that the program types into a pane is for."""

    NOTICE = "notice"
    WAKE = "wake"
    PING = "ping"
    PROMPT = "prompt"


class TypingState(StrEnum):
    """What is known of a text that may stand in a pane. One that is settled has no row."""

    TYPED = "typed"
    UNSURE = "unsure"


class WakeOutcome(StrEnum):
    """What became of the last wake of a monitor."""

    LANDED = "landed"
    UNPROVEN = "unproven"
    WAITING = "waiting"


class ArgumentKind(StrEnum):
    """The option of `member create` that gave an argument for the coding agent."""

    AGENT_ARG = "agent-arg"
    ALLOW = "allow"


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How a member was started last, with all that a restart needs.

    ``agent_base`` is the configuration folder of the coding agent. ``prompt`` has its placeholders
    filled in; it is null for a Director, which a person has started. ``session_id`` is null while the
    session of the agent is not known. ``launch_number`` counts the starts of the member from 1.
    """

    member_id: int
    coding_agent: CodingAgent
    model: str | None
    effort: str | None
    permission_mode: str | None
    working_directory: str
    agent_base: str
    worktree: str | None = None
    branch: str | None = None
    base_commit: str | None = None
    prompt: str | None
    session_id: str | None
    launch_number: int = 1
    launched_at: str
    agent_args: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where a member lives. ``mux_pane_id`` is null while its pane is pending.

    ``mux_socket`` is the multiplexer server's socket, null for placements from before schema 9;
    ``mux_server_pid`` is its process id, null before schema 13 and while the pane is pending. Both
    are left out of every output.
    """

    backend: Backend
    mux_socket: str | None
    mux_server_pid: int | None
    mux_session: str
    mux_window_id: str
    mux_pane_id: str | None
    coding_agent: CodingAgent
    created_at: str


class MemberRecord(msgspec.Struct, frozen=True, kw_only=True):
    member_id: int
    fleet_id: int
    name: str
    description: str
    status: MemberStatus
    registered_at: str
    kind: MemberKind
    skills: list[Any]
    placement: Placement | None


class MemberActivity(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the roster. ``idle`` is whole seconds, null where nothing can be said.

    ``owed`` counts the notices that are still due, ``unacked`` the messages that are not acknowledged,
    ``unsure`` those whose notice may not have arrived. ``worktree``, ``branch`` and ``base_commit`` are null
    for a member that was given no work tree.
    """

    member_id: int
    name: str
    kind: MemberKind
    placement: Placement | None
    last_sent: str | None
    last_recv: str | None
    last_ack: str | None
    idle: int | None
    screen: ScreenState | None
    screen_at: str | None
    owed: int
    unacked: int
    unsure: int
    worktree: str | None = None
    branch: str | None = None
    base_commit: str | None = None


class FleetRecord(msgspec.Struct, frozen=True, kw_only=True):
    """``director_member_id`` is null only in a damaged database; ``paused_at`` while the fleet is not
    paused."""

    fleet_id: int
    name: str | None
    created_at: str
    deleted_at: str | None
    director_member_id: int | None
    paused_at: str | None


class FleetSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list of fleets; ``member_count`` counts active members, and is null where the
    status of one is not known."""

    fleet_id: int
    director_member_id: int | None
    name: str | None
    created_at: str
    member_count: int | None


class MessageRecord(msgspec.Struct, frozen=True, kw_only=True):
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


class Forwarded(msgspec.Struct, frozen=True, kw_only=True):
    """The delivery that another one went on as when its owner handed over."""

    message_id: int
    owner_member_id: int


class TrackedMessage(MessageRecord, frozen=True, kw_only=True):
    """A message with what became of its notice."""

    delivery_state: DeliveryState


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a notice: its state and, where there is one, the reason."""

    state: DeliveryState
    reason: str | None


class DeliveryEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a delivery's state."""

    at: str
    state: DeliveryState
    reason: str | None
    evidence: str | None


class DeliveryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery, what is known of its notice, and of its recipient.

    ``owner_gone`` is 1 if the recipient's pane was gone at the last look. ``urgent`` is 0 or 1.
    """

    message_id: int
    owner_member_id: int
    created_at: str
    status_state: MessageState
    urgent: int
    fleet_id: int
    owner_status: MemberStatus
    owner_gone: int
    delivery_state: DeliveryState
    reason: str | None


class OwedNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice that is due. ``from_name`` is null if the sender's row is gone."""

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


class OwingPane(msgspec.Struct, frozen=True, kw_only=True):
    """The pane of a member that is owed notices, or that may hold an unsettled text.

    The last five are 0 or 1: a notice was not tried yet, was typed, is unsure, is urgent or was held
    for longer than it may be, could not be typed since the pane was out of reach.
    """

    member_id: int
    mux_pane_id: str
    mux_socket: str | None
    untried: int
    typed: int
    unsure: int
    pressing: int
    unreachable: int


class Typing(msgspec.Struct, frozen=True, kw_only=True):
    """A text that the program typed into a member's pane, and that may still stand there.

    ``marker`` holds the parts that prove the text, one a line. ``enters`` counts the Enters that
    were pressed. ``picture`` is the digest of the pane's picture before the paste.
    """

    member_id: int
    kind: TypingKind
    text: str
    marker: str | None
    mux_pane_id: str
    program: str
    token: str
    typed_at: str
    enters: int
    state: TypingState
    evidence: str | None
    settled_at: str | None
    picture: str | None


class WakeTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A member that the monitor is asked to check."""

    member_id: int
    name: str
    coding_agent: CodingAgent
    pending_count: int
    oldest_pending_ts: str | None


class AssetInstall(msgspec.Struct, frozen=True, kw_only=True):
    """A skill or preset that `setup` has installed at ``path``."""

    install_id: int
    coding_agent: CodingAgent
    path: str
    cafleet_version: str
    installed_at: str


class LifeLine(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one delivery: its state since when, and every change after the first."""

    message_id: int
    state: DeliveryState
    reason: str | None
    since: str
    events: list[DeliveryEvent]
    to_member_id: int


class MonitorRuntime(msgspec.Struct, frozen=True, kw_only=True):
    """The row of a fleet's courier, nulls and all.

    ``wake_attempts`` counts the wakes in a row that nothing proves, ``wake_reason`` says why the last
    one is unproven or waits.
    """

    fleet_id: int
    pid: int | None
    started_at: str | None
    last_tick_at: str | None
    tick_seconds: int
    last_wake_at: str | None
    wake_interval_seconds: int | None
    wake_requested_at: str | None
    stopped_at: str | None
    wake_attempted_at: str | None
    wake_attempts: int
    wake_outcome: WakeOutcome | None
    wake_reason: str | None
