"""Members looked up: who is listed, how long each is idle, and their names."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

import pytest

from cafleet.broker import members
from cafleet.clock import stamp
from cafleet.errors import UnknownIdError
from tests.harness.registry import NOW, THEN, Registry


def ago(seconds: float) -> str:
    return stamp(NOW - timedelta(seconds=seconds))


def test_the_roster_keeps_those_who_own_a_message(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    director, monitor, ann = registry.crew("ann")
    owner = registry.member(1, "owner", status="deregistered")
    sender = registry.member(1, "sender", status="deregistered")
    summoner = registry.member(1, "summoner", status="deregistered")
    registry.member(1, "nobody", status="deregistered")
    registry.crew("eve")
    registry.message(sender, owner)
    registry.message(summoner, summoner, type="broadcast_summary", to_member_id=None)
    found = [member.member_id for member in members.roster(conn, fleet_id=1)]
    assert found == [director, monitor, ann, owner, summoner]
    active = [member.member_id for member in members.list_active(conn, fleet_id=1)]
    assert active == [director, monitor, ann]


def test_membership_outlives_activity(registry: Registry, conn: sqlite3.Connection) -> None:
    director, _ = registry.crew()
    gone = registry.member(1, "gone", status="deregistered")
    assert members.in_fleet(conn, member_id=director, fleet_id=1)
    assert members.in_fleet(conn, member_id=gone, fleet_id=1)
    assert not members.in_fleet(conn, member_id=director, fleet_id=2)
    assert not members.in_fleet(conn, member_id=99, fleet_id=1)


def test_activity_is_told_by_the_messages(registry: Registry, conn: sqlite3.Connection) -> None:
    director, monitor, ann = registry.crew("ann")
    registry.place(ann, "%1", screen="rest", screen_at=ago(3))
    registry.message(ann, monitor, created_at=ago(90), status_timestamp=ago(90))
    registry.message(monitor, ann, created_at=ago(80), delivery_state="queued")
    registry.message(
        monitor, ann, created_at=ago(70), status_state="completed", status_timestamp=ago(60)
    )
    # A summary is something sent, and nothing received or acknowledged.
    registry.message(
        ann,
        ann,
        type="broadcast_summary",
        to_member_id=None,
        status_state="completed",
        created_at=ago(50.5),
        status_timestamp=ago(10),
    )
    roster = members.list_activity(conn, fleet_id=1, now=NOW)
    found = {member.member_id: member for member in roster}
    assert list(found) == [director, monitor, ann]
    last = found[ann]
    assert (last.last_sent, last.last_recv, last.last_ack) == (ago(50.5), ago(70), ago(60))
    assert last.idle == 50
    assert (last.screen, last.screen_at, last.owed) == ("rest", ago(3), 1)
    quiet = found[director]
    assert (quiet.last_sent, quiet.last_recv, quiet.last_ack, quiet.idle) == (None,) * 4
    assert (quiet.screen, quiet.screen_at, quiet.owed) == (None, None, 0)
    assert found[monitor].last_recv == ago(90)


@pytest.mark.parametrize(
    ("stamps", "idle"),
    [
        ([ago(5), ago(7)], 5),
        ([ago(-600)], 0),
        ([ago(0.999)], 0),
        # The greatest text counts, even where it is an earlier time or no time at all.
        (["2026-05-05T05:42:05Z", "2026-05-05T05:42:05.500000+00:00"], 6),
        (["2026-05-05T14:42:05+09:00", "2026-05-05T05:42:10+00:00"], 6),
        (["garbage", ago(5)], None),
        (["", ago(5)], 5),
        (["2026-05-05 05:42:01Z", "2026-05-05"], 10),
        (["2026-05-05T05:42:01"], None),
    ],
)
def test_idle_is_the_age_of_the_greatest_stamp(
    registry: Registry, conn: sqlite3.Connection, stamps: list[str], idle: int | None
) -> None:
    _, monitor, ann = registry.crew("ann")
    for text in stamps:
        registry.message(ann, monitor, created_at=text)
    roster = members.list_activity(conn, fleet_id=1, now=NOW)
    [found] = [member for member in roster if member.member_id == ann]
    assert (found.last_sent, found.idle) == (max(stamps), idle)


def test_the_list_of_members_is_that_of_a_living_fleet(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    deleted = registry.fleet(deleted_at=THEN)
    empty = registry.fleet()
    assert members.list_activity(conn, fleet_id=empty, now=NOW) == []
    for fleet_id in (deleted, 99, 0, 2**63):
        with pytest.raises(UnknownIdError):
            members.list_activity(conn, fleet_id=fleet_id, now=NOW)


@pytest.mark.parametrize(("asked", "queries"), [(0, 0), (1, 1), (500, 1), (501, 2), (40_000, 80)])
def test_names_are_asked_for_500_at_a_time(
    registry: Registry, conn: sqlite3.Connection, asked: int, queries: int
) -> None:
    registry.crew("ann")
    gone = registry.member(1, "gone", status="deregistered")
    statements: list[str] = []
    conn.set_trace_callback(statements.append)
    ids = [*range(asked, 0, -1), *range(asked, 0, -1)]
    names = members.names(conn, member_ids=ids)
    conn.set_trace_callback(None)
    assert len(statements) == queries
    known = {1: "Director", 2: "monitor", 3: "ann", gone: "gone"}
    assert names == {each: name for each, name in known.items() if each <= asked}
    assert list(names) == sorted(names)


def test_names_of_what_is_no_id_are_not_asked_for(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew()
    statements: list[str] = []
    conn.set_trace_callback(statements.append)
    assert members.names(conn, member_ids=[0, -1, 2**63, 2**70]) == {}
    assert statements == []
    assert members.names(conn, member_ids=[2**63 - 1, 2, 0]) == {2: "monitor"}
