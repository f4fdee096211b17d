"""Members: who may join and leave, and where they are placed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from cafleet.broker import members, placements, registration
from cafleet.errors import DatabaseError, RefusedError, UnknownIdError
from cafleet.records import MemberKind, MemberStatus
from cafleet.store.connection import connect
from tests.harness.racing import race
from tests.harness.registry import HOME, NOW, THEN, Registry


def register(conn: sqlite3.Connection, fleet_id: int, *, monitor: bool = False) -> int:
    return registration.register(
        conn,
        fleet_id=fleet_id,
        name="n",
        description="d",
        monitor=monitor,
        placement=HOME,
        now=NOW,
        allow_same_name=True,
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
    placements.set_pane(
        conn, member_id=member_id, server_pid=1, session="s", window="@5", pane="%5"
    )
    placement = members.get(conn, member_id=member_id).placement
    assert placement is not None
    where = (placement.mux_session, placement.mux_window_id, placement.mux_pane_id)
    assert where == ("s", "@5", "%5")
    other = register(conn, 1)
    registry.rows("DELETE FROM member_placements WHERE member_id = ?", other)
    with pytest.raises(RefusedError, match="was deregistered while its pane opened"):
        placements.set_pane(
            conn, member_id=other, server_pid=1, session="s", window="@5", pane="%6"
        )


def test_deregistering_happens_once_and_never_to_the_director(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    director, _, ann = registry.crew("ann")
    registry.place(ann, "%1")
    registry.place(director, "%0")
    assert registration.deregister(conn, member_id=ann, now=NOW) == 0
    row = registry.rows("SELECT status, deregistered_at FROM members WHERE member_id = ?", ann)
    assert row == [("deregistered", THEN)]
    assert registry.rows("SELECT member_id FROM member_placements") == [(director,)]
    later = NOW + timedelta(hours=1)
    assert registration.deregister(conn, member_id=ann, now=later) is None
    assert registration.deregister(conn, member_id=99, now=later) is None
    assert row == registry.rows(
        "SELECT status, deregistered_at FROM members WHERE member_id = ?", ann
    )
    with pytest.raises(RefusedError, match="is the root Director of fleet 1"):
        registration.deregister(conn, member_id=director, now=NOW)


def test_a_pane_is_owned_by_the_living(registry: Registry, conn: sqlite3.Connection) -> None:
    director, monitor, ann = registry.crew("ann")
    registry.place(director, "%0", mux_socket="/tmp/s")
    registry.place(monitor, "%1", mux_socket="/tmp/other")
    registry.place(ann, "%2", mux_socket=None)

    def refuse(pane: str, **home: str) -> None:
        from msgspec.structs import replace

        placements.refuse_owned_pane(conn, placement=replace(HOME, **home), pane=pane)

    # Their panes are known by a tag, which no row can tell.
    refuse("%0")
    refuse("%1")
    with pytest.raises(RefusedError, match=f"that of member {ann} of fleet 1; use another"):
        refuse("%2")
    refuse("%2", session="elsewhere")
    refuse("%3")
    registry.rows("UPDATE fleets SET deleted_at = ?", THEN)
    refuse("%0")
