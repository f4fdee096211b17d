"""The JSON shapes: their keys, in their order, for whatever is stored."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.present.wire import (
    ActivityWire,
    BroadcastWire,
    CaptureWire,
    CreatedFleetWire,
    DeletedFleetWire,
    DeletedMemberWire,
    FleetWire,
    MemberWire,
    MessageWire,
    PaneWire,
    PausedFleetWire,
    PausedMemberWire,
    PingWire,
    PlacementWire,
    ResumedFleetWire,
    ResumedMemberWire,
    SentWire,
    TypedWire,
    created_fleet,
    pane_status,
    shaped,
    shaped_all,
    to_json,
)
from cafleet.records import (
    Backend,
    CodingAgent,
    Delivery,
    FleetRecord,
    FleetSummary,
    MemberActivity,
    MemberKind,
    MemberRecord,
    MemberStatus,
    MessageRecord,
    MessageState,
    MessageType,
    Placement,
)

NOW = "2026-05-05T05:42:11.123456+00:00"

PLACEMENT = Placement(
    backend=Backend.TMUX,
    mux_socket="/run/secret.sock",
    mux_server_pid=123,
    mux_session="main",
    mux_window_id="@1",
    mux_pane_id="%3",
    coding_agent=CodingAgent.CLAUDE,
    created_at=NOW,
)
MEMBER = MemberRecord(
    member_id=3,
    fleet_id=1,
    name="coder",
    description="writes code",
    status=MemberStatus.ACTIVE,
    registered_at=NOW,
    kind=MemberKind.MEMBER,
    skills=["a", {"b": [None, 2**70]}],
    placement=PLACEMENT,
)
MESSAGE_KEYS = [
    "message_id",
    "owner_member_id",
    "from_member_id",
    "to_member_id",
    "type",
    "created_at",
    "status_state",
    "status_timestamp",
    "origin_message_id",
    "text",
]
PLACEMENT_KEYS = [
    "backend",
    "mux_session",
    "mux_window_id",
    "mux_pane_id",
    "coding_agent",
    "created_at",
]
ACTIVITY_KEYS = [
    "member_id",
    "name",
    "kind",
    "placement",
    "last_sent",
    "last_recv",
    "last_ack",
    "idle",
    "screen",
    "screen_at",
    "owed",
    "unacked",
    "unsure",
]
MEMBER_KEYS = [
    "member_id",
    "name",
    "description",
    "status",
    "registered_at",
    "kind",
    "skills",
    "placement",
]


@pytest.mark.parametrize(
    ("shape", "keys"),
    [
        (MessageRecord, MESSAGE_KEYS),
        (PlacementWire, PLACEMENT_KEYS),
        (MemberWire, MEMBER_KEYS),
        (
            ActivityWire,
            ACTIVITY_KEYS,
        ),
        (
            FleetSummary,
            ["fleet_id", "director_member_id", "name", "created_at", "member_count"],
        ),
        (FleetWire, ["fleet_id", "name", "created_at", "deleted_at", "director_member_id"]),
        (PausedFleetWire, ["fleet_id", "paused_at", "members"]),
        (PausedMemberWire, ["member_id", "outcome", "reason"]),
        (ResumedFleetWire, ["fleet_id", "members"]),
        (ResumedMemberWire, ["member_id", "action", "session", "outcome", "reason"]),
        (
            CreatedFleetWire,
            ["fleet_id", "name", "created_at", "director", "monitor", "monitor_loop"],
        ),
        (DeletedFleetWire, ["deregistered_count", "panes"]),
        (PaneWire, ["member_id", "pane_id", "status"]),
        (DeletedMemberWire, ["member_id", "pane_status"]),
        (MessageWire, ["message"]),
        (SentWire, ["message", "delivery"]),
        (Delivery, ["state", "reason"]),
        (BroadcastWire, ["message", "recipients", "deliveries"]),
        (TypedWire, ["member_id", "pane_id", "text", "shell"]),
        (PingWire, ["member_id", "pane_id", "skipped", "reason"]),
        (
            CaptureWire,
            ["member_id", "pane_id", "lines", "content", "captured_at", "content_sha256"],
        ),
    ],
)
def test_keys_are_those_of_the_command_line_in_their_order(
    shape: type[msgspec.Struct], keys: list[str]
) -> None:
    assert [field.encode_name for field in msgspec.structs.fields(shape)] == keys


def test_a_member_shows_no_socket() -> None:
    shown = json.loads(to_json(shaped(MEMBER, MemberWire)))
    assert list(shown) == MEMBER_KEYS
    assert list(shown["placement"]) == PLACEMENT_KEYS
    assert shown["skills"] == MEMBER.skills
    assert "secret" not in to_json(shaped(MEMBER, MemberWire))


def test_no_placement_and_a_pending_one_are_told_apart() -> None:
    nowhere = msgspec.structs.replace(MEMBER, placement=None)
    pending = msgspec.structs.replace(
        MEMBER, placement=msgspec.structs.replace(PLACEMENT, mux_pane_id=None)
    )
    assert json.loads(to_json(shaped(nowhere, MemberWire)))["placement"] is None
    assert json.loads(to_json(shaped(pending, MemberWire)))["placement"]["mux_pane_id"] is None


def test_a_created_fleet_holds_its_two_members() -> None:
    fleet = FleetRecord(
        fleet_id=1, name="f", created_at=NOW, deleted_at=None, director_member_id=3, paused_at=None
    )
    monitor = msgspec.structs.replace(MEMBER, member_id=4, kind=MemberKind.MONITOR)
    shown = json.loads(to_json(created_fleet(fleet, MEMBER, monitor, 4711)))
    assert (shown["director"]["member_id"], shown["monitor"]["kind"]) == (3, "monitor")
    assert shown["monitor_loop"] == {"pid": 4711}


def test_a_roster_is_one_compact_line() -> None:
    row = MemberActivity(
        member_id=3,
        name="c",
        kind=MemberKind.MEMBER,
        placement=None,
        last_sent=None,
        last_recv=None,
        last_ack=None,
        idle=5,
        screen=None,
        screen_at=None,
        owed=0,
        unacked=2,
        unsure=1,
    )
    assert to_json(shaped_all([row], ActivityWire)) == (
        '[{"member_id":3,"name":"c","kind":"member","placement":null,"last_sent":null,'
        '"last_recv":null,"last_ack":null,"idle":5,"screen":null,"screen_at":null,"owed":0,'
        '"unacked":2,"unsure":1}]'
    )


@pytest.mark.parametrize(
    ("pane", "status", "shown"),
    [
        ("%3", "killed", "%3 (killed)"),
        ("%3", "already gone", "%3 (already gone)"),
        (None, "pending", "(pending — no pane)"),
        (None, "no placement", "(no placement)"),
    ],
)
def test_what_became_of_a_pane(pane: str | None, status: str, shown: str) -> None:
    assert pane_status(pane, status) == shown


@given(st.text(), st.text())
def test_any_stored_text_survives_json(body: str, stamp: str) -> None:
    message = MessageRecord(
        message_id=1,
        owner_member_id=1,
        from_member_id=1,
        to_member_id=None,
        type=MessageType.UNICAST,
        created_at=stamp,
        status_state=MessageState.COMPLETED,
        status_timestamp=NOW,
        origin_message_id=None,
        text=body,
    )
    line = to_json(MessageWire(message=message))
    assert "\n" not in line
    back = json.loads(line)["message"]
    assert (back["text"], back["created_at"]) == (body, stamp)
    assert list(back) == MESSAGE_KEYS


def test_non_ascii_stays_and_nul_is_escaped() -> None:
    assert to_json(["界", "a\x00b"]) == '["界","a\\u0000b"]'
