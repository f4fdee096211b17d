"""Fleets, members and `setup` as text."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from cafleet.clock import read, stamp
from cafleet.present import fleet_text, member_text
from cafleet.present.wire import (
    CaptureWire,
    DeletedFleetWire,
    DeletedMemberWire,
    PaneWire,
    PingWire,
    TypedWire,
    created_fleet,
)
from cafleet.records import (
    FleetRecord,
    FleetSummary,
    MemberActivity,
    MemberKind,
    ScreenState,
)
from tests.unit.test_present_wire import MEMBER, NOW, PLACEMENT

FLEET = FleetRecord(
    fleet_id=1,
    name="night\x1b[1m",
    created_at=NOW,
    deleted_at=None,
    director_member_id=3,
    paused_at=None,
)


def activity(member_id: int, **changes: object) -> MemberActivity:
    row = MemberActivity(
        member_id=member_id,
        name="coder",
        kind=MemberKind.MEMBER,
        placement=PLACEMENT,
        last_sent=None,
        last_recv=None,
        last_ack=None,
        idle=None,
        screen=None,
        screen_at=None,
        owed=0,
        unacked=0,
        unsure=0,
    )
    return msgspec.structs.replace(row, **changes)


def test_a_created_fleet_names_its_ids() -> None:
    monitor = msgspec.structs.replace(MEMBER, member_id=4)
    created = fleet_text.created(created_fleet(FLEET, MEMBER, monitor, 4711))
    assert created == "1 director=3 monitor=4\nmonitor loop pid=4711"


def test_the_list_of_fleets() -> None:
    rows = [
        FleetSummary(
            fleet_id=12, director_member_id=30, name="a b", created_at=NOW, member_count=2
        ),
        FleetSummary(
            fleet_id=1, director_member_id=None, name=None, created_at=NOW, member_count=0
        ),
    ]
    assert fleet_text.listed(rows, {}).split("\n") == [
        "FLEET_ID  DIRECTOR  NAME  MEMBERS  CREATED_AT",
        f"12        30        a b   2        {NOW}",
        f"1         -         -     0        {NOW}",
    ]
    assert fleet_text.listed([], {}).startswith("No fleets")


def test_a_fleet_shows_its_end_only_if_it_has_one() -> None:
    lines = ["fleet_id: 1", r"name: night\x1b[1m", f"created_at: {NOW}"]
    assert fleet_text.shown(FLEET).split("\n") == lines
    ended = msgspec.structs.replace(FLEET, deleted_at=NOW)
    assert fleet_text.shown(ended).split("\n") == [*lines, f"deleted_at: {NOW}"]


def test_a_deleted_fleet_names_the_panes_that_still_run() -> None:
    panes = [
        PaneWire(member_id=2, pane_id="%1", status="killed"),
        PaneWire(member_id=3, pane_id="%2", status="still running"),
        PaneWire(member_id=4, pane_id=None, status="pending"),
    ]
    outcome = DeletedFleetWire(deregistered_count=4, panes=panes)
    assert fleet_text.deleted(1, outcome).split("\n") == [
        "Fleet 1 deleted.",
        "deregistered: 4",
        "member 3: pane %2 (still running)",
    ]


def test_a_created_member_and_a_shown_one() -> None:
    named = msgspec.structs.replace(MEMBER, name="bob\rexit")
    assert member_text.created(named) == r"3 bob\x0dexit agent=claude pane=%3"
    assert member_text.shown(named) == r"3 bob\x0dexit active"


def test_the_roster() -> None:
    now = read(NOW)
    assert now is not None
    signs = {
        "last_sent": stamp(now - timedelta(hours=3, seconds=1)),
        "last_recv": stamp(now + timedelta(seconds=9)),
        "last_ack": "garbage",
        "screen_at": stamp(now - timedelta(seconds=12)),
    }
    rows = [
        activity(3, name="界", idle=61, screen=ScreenState.WORKING, owed=2, unsure=1, **signs),
        activity(10, placement=None, unacked=201),
    ]
    assert member_text.listed(rows, now).split("\n") == [
        "2 members:",
        (
            "member_id  name   kind    agent   pane_id  screen       owed  unacked  unsure"
            "  last_sent  last_recv  last_ack  idle"
        ),
        (
            "3          界     member  claude  %3       working 12s  2     0        1"
            "       3h         0s         -         1m"
        ),
        (
            "10         coder  member  -       -        -            0     201      0"
            "       -          -          -         -"
        ),
    ]
    assert member_text.listed(rows[:1], now).startswith("1 member:\n")
    assert member_text.listed([], now) == "0 members."


def test_a_deleted_member() -> None:
    outcome = DeletedMemberWire(member_id=3, pane_status="%3 (killed)")
    assert member_text.deleted(outcome).split("\n")[1:] == ["member_id: 3", "pane_id: %3 (killed)"]


def test_what_was_typed_and_where() -> None:
    plain = TypedWire(member_id=3, pane_id="%3", text="make test;", shell=False)
    assert member_text.prompted(plain) == "Typed into pane %3 of member 3: make test;"
    shell = msgspec.structs.replace(plain, text="! make test;", shell=True)
    assert member_text.prompted(shell) == "Typed into pane %3 of member 3: ! make test;"


def test_a_ping_says_why_it_was_skipped() -> None:
    done = PingWire(member_id=3, pane_id="%3", skipped=False, reason=None)
    assert member_text.pinged(done) == "Pinged member 3 in pane %3."
    left = PingWire(member_id=3, pane_id=None, skipped=True, reason="pending pane")
    assert member_text.pinged(left) == "Skipped member 3: pending pane."


def test_a_capture_is_raw_only_when_asked() -> None:
    taken = CaptureWire(
        member_id=3,
        pane_id="%3",
        lines=20,
        content="a\tb\n\x1b[1mc\x1b[0m",
        captured_at=NOW,
        content_sha256="",
    )
    assert member_text.captured(taken, ansi=True) == taken.content
    assert member_text.captured(taken, ansi=False) == "a\tb\n\\x1b[1mc\\x1b[0m"
