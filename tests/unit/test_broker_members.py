"""Members: who may join and leave, who is listed, how long each is idle, and their names."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from cafleet.broker import fleets, lifecycle, members
from cafleet.clock import stamp
from cafleet.errors import DatabaseError, RefusedError, UnknownIdError
from cafleet.records import Backend, CodingAgent, MemberKind, MemberStatus
from cafleet.store.connection import connect
from tests.harness.racing import race
from tests.harness.registry import NOW, THEN, Registry

HOME = members.PendingPlacement(
    backend=Backend.TMUX,
    socket="/tmp/s",
    session="main",
    window="@0",
    coding_agent=CodingAgent.CLAUDE,
)


def ago(seconds: float) -> str:
    return stamp(NOW - timedelta(seconds=seconds))


def register(conn: sqlite3.Connection, fleet_id: int, *, monitor: bool = False) -> int:
    return members.register(
        conn,
        fleet_id=fleet_id,
        name="n",
        description="d",
        monitor=monitor,
        placement=HOME,
        now=NOW,
    )


def test_a_new_member_has_a_card_and_a_pending_pane(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew()
    member_id = register(conn, 1)
    member = members.get(conn, member_id=member_id)
    assert (member.status, member.kind) == (MemberStatus.ACTIVE, MemberKind.MEMBER)
    assert (member.registered_at, member.skills) == (THEN, [])
    assert member.placement is not None
    assert member.placement.mux_pane_id is None
    card = registry.value("SELECT member_card_json FROM members WHERE member_id = ?", member_id)
    assert card == '{"name":"n","description":"d","skills":[]}'


def test_the_monitor_alone_has_the_marker(registry: Registry, conn: sqlite3.Connection) -> None:
    fleet = registry.fleet()
    registry.member(fleet, "Director", kind="director")
    monitor = register(conn, fleet, monitor=True)
    assert members.get(conn, member_id=monitor).kind is MemberKind.MONITOR
    assert members.active_monitor_id(conn, fleet_id=fleet) == monitor
    card = registry.value("SELECT member_card_json FROM members WHERE member_id = ?", monitor)
    assert card == '{"name":"n","description":"d","skills":[],"cafleet":{"kind":"monitor"}}'


def test_the_director_is_a_director_whatever_its_card_says(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    fleet = registry.fleet()
    director = registry.member(fleet, "Director", kind="monitor")
    registry.rows("UPDATE fleets SET director_member_id = ?", director)
    assert members.get(conn, member_id=director).kind is MemberKind.DIRECTOR


@pytest.mark.parametrize(
    ("director", "deleted_at", "error", "fragment"),
    [
        ("active", THEN, UnknownIdError, "was deleted at"),
        ("deregistered", None, RefusedError, "is not active"),
        (None, None, DatabaseError, "is corrupt, it has no Director"),
    ],
)
def test_nobody_joins_a_fleet_that_is_not_whole(
    registry: Registry,
    conn: sqlite3.Connection,
    director: str | None,
    deleted_at: str | None,
    error: type[Exception],
    fragment: str,
) -> None:
    fleet = registry.fleet(deleted_at=deleted_at)
    registry.member(fleet, "monitor", kind="monitor")
    if director is not None:
        registry.member(fleet, "Director", kind="director", status=director)
    before = registry.dump()
    for monitor in (True, False):
        with pytest.raises(error, match=fragment):
            register(conn, fleet, monitor=monitor)
    with pytest.raises(UnknownIdError, match="fleet 99 does not exist"):
        register(conn, 99)
    assert registry.dump() == before


def test_a_second_monitor_is_told_of_the_first(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    _, monitor = registry.crew()
    registry.crew()
    with pytest.raises(RefusedError, match=f"has an active monitor, member {monitor}; delete"):
        register(conn, 1, monitor=True)
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = ?", monitor)
    with pytest.raises(RefusedError, match="has no active monitor; start one"):
        register(conn, 1)
    register(conn, 1, monitor=True)


def test_only_the_index_of_monitors_is_read_as_a_second_monitor(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew()
    registry.rows("CREATE UNIQUE INDEX one_of_each ON members (fleet_id, lower(name))")
    register(conn, 1)
    with pytest.raises(DatabaseError, match="one_of_each") as refused:
        register(conn, 1)
    assert not isinstance(refused.value, RefusedError)


def claim_the_role(path: str) -> int | str:
    with closing(connect(path)) as conn:
        try:
            return register(conn, 1, monitor=True)
        except RefusedError as refused:
            return str(refused)


def test_of_eight_monitors_at_once_one_is_registered(registry: Registry) -> None:
    fleet = registry.fleet()
    registry.member(fleet, "Director", kind="director")
    outcomes = race(claim_the_role, [(str(registry.path),)] * 8)
    [winner] = [outcome for outcome in outcomes if isinstance(outcome, int)]
    losers = [outcome for outcome in outcomes if isinstance(outcome, str)]
    assert len(losers) == 7
    assert all(f"has an active monitor, member {winner}; " in loser for loser in losers)
    assert registry.rows("SELECT member_id FROM members WHERE member_id > 1") == [(winner,)]
    assert registry.rows("SELECT member_id FROM member_placements") == [(winner,)]


def test_a_pane_is_recorded_once(registry: Registry, conn: sqlite3.Connection) -> None:
    registry.crew()
    member_id = register(conn, 1)
    members.set_pane(conn, member_id=member_id, session="s", window="@5", pane="%5")
    placement = members.get(conn, member_id=member_id).placement
    assert placement is not None
    where = (placement.mux_session, placement.mux_window_id, placement.mux_pane_id)
    assert where == ("s", "@5", "%5")
    other = register(conn, 1)
    registry.rows("DELETE FROM member_placements WHERE member_id = ?", other)
    with pytest.raises(RefusedError, match="was deregistered while its pane opened"):
        members.set_pane(conn, member_id=other, session="s", window="@5", pane="%6")


def test_deregistering_happens_once_and_never_to_the_director(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    director, _, ann = registry.crew("ann")
    registry.place(ann, "%1")
    registry.place(director, "%0")
    assert members.deregister(conn, member_id=ann, now=NOW)
    row = registry.rows("SELECT status, deregistered_at FROM members WHERE member_id = ?", ann)
    assert row == [("deregistered", THEN)]
    assert registry.rows("SELECT member_id FROM member_placements") == [(director,)]
    later = NOW + timedelta(hours=1)
    assert not members.deregister(conn, member_id=ann, now=later)
    assert not members.deregister(conn, member_id=99, now=later)
    assert row == registry.rows(
        "SELECT status, deregistered_at FROM members WHERE member_id = ?", ann
    )
    with pytest.raises(RefusedError, match="is the root Director of fleet 1"):
        members.deregister(conn, member_id=director, now=NOW)


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


def test_a_pane_is_owned_by_the_living(registry: Registry, conn: sqlite3.Connection) -> None:
    director, monitor, ann = registry.crew("ann")
    registry.place(director, "%0", mux_socket="/tmp/s")
    registry.place(monitor, "%1", mux_socket="/tmp/other")
    registry.place(ann, "%2", mux_socket=None)

    def refuse(pane: str, **home: str) -> None:
        from msgspec.structs import replace

        members.refuse_owned_pane(conn, placement=replace(HOME, **home), pane=pane)

    # Their panes are known by a tag, which no row can tell.
    refuse("%0")
    refuse("%1")
    with pytest.raises(RefusedError, match=f"that of member {ann} of fleet 1; use another"):
        refuse("%2")
    refuse("%2", session="elsewhere")
    refuse("%3")
    registry.rows("UPDATE fleets SET deleted_at = ?", THEN)
    refuse("%0")


def test_a_fleet_is_made_whole_or_not_at_all(registry: Registry, conn: sqlite3.Connection) -> None:
    def spawn(made: lifecycle.NewFleet) -> lifecycle.OpenedPane:
        assert (made.fleet_id, made.director_member_id, made.monitor_member_id) == (1, 1, 2)
        if failing:
            raise RefusedError("no pane")
        return lifecycle.OpenedPane(session="main", window="@1", pane="%1")

    def create() -> lifecycle.NewFleet:
        return lifecycle.create(
            conn, name="f", director=HOME, director_pane="%0", spawn_monitor=spawn, now=NOW
        )

    before = registry.dump()
    failing = True
    with pytest.raises(RefusedError, match="no pane"):
        create()
    assert registry.dump() == before
    assert not conn.in_transaction
    failing = False
    made = create()
    fleet = fleets.get(conn, fleet_id=made.fleet_id)
    assert (fleet.name, fleet.created_at, fleet.director_member_id) == ("f", THEN, 1)
    assert registry.rows("SELECT name, description FROM members") == [
        ("Director", "Root Director for this fleet"),
        ("monitor", "Monitor member for this fleet"),
    ]
    assert registry.rows(
        "SELECT member_id, mux_socket, mux_window_id, mux_pane_id, coding_agent"
        " FROM member_placements"
    ) == [(1, "/tmp/s", "@0", "%0", "claude"), (2, "/tmp/s", "@1", "%1", "claude")]


def test_deleting_a_fleet_ends_it_once(registry: Registry, conn: sqlite3.Connection) -> None:
    _, monitor, ann = registry.crew("ann")
    stranger = registry.crew("eve")[2]
    registry.place(ann, "%1")
    registry.place(stranger, "%2")
    message_id = registry.message(monitor, ann)
    registry.rows("INSERT INTO monitor_runtime (fleet_id, tick_seconds) VALUES (1, 5), (2, 5)")
    count, leaving = lifecycle.delete(conn, fleet_id=1, now=NOW)
    assert count == 3
    assert [member.member_id for member in leaving] == [1, 2, 3]
    assert fleets.get(conn, fleet_id=1).deleted_at == THEN
    assert registry.rows("SELECT member_id FROM member_placements") == [(stranger,)]
    assert registry.rows("SELECT fleet_id FROM monitor_runtime") == [(2,)]
    assert registry.rows("SELECT message_id FROM messages") == [(message_id,)]
    after = registry.dump()
    later = NOW + timedelta(hours=1)
    assert lifecycle.delete(conn, fleet_id=1, now=later) == (0, [])
    assert registry.dump() == after
    with pytest.raises(UnknownIdError):
        lifecycle.delete(conn, fleet_id=99, now=later)


def test_fleets_are_listed_newest_first_while_they_live(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew("ann")
    registry.member(1, "gone", status="deregistered")
    registry.fleet(deleted_at=THEN)
    old = registry.fleet(name=None)
    registry.rows("UPDATE fleets SET created_at = ? WHERE fleet_id = ?", ago(60), old)
    same = registry.fleet(name="same")
    found = [(each.fleet_id, each.name, each.member_count) for each in fleets.list_fleets(conn)]
    assert found == [(same, "same", 0), (1, "f", 3), (old, None, 0)]
