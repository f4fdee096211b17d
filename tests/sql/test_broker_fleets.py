"""Fleets: made whole or not at all, ended once, listed while they live."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

import pytest

from cafleet.broker import fleets, lifecycle
from cafleet.clock import stamp
from cafleet.errors import RefusedError, UnknownIdError
from tests.harness.registry import HOME, NOW, THEN, Registry


def test_a_fleet_is_made_whole_or_not_at_all(registry: Registry, conn: sqlite3.Connection) -> None:
    def spawn() -> lifecycle.OpenedPane:
        if failing:
            raise RefusedError("no pane")
        return lifecycle.OpenedPane(server_pid=1, session="main", window="@1", pane="%1")

    def create(made: lifecycle.NewFleet) -> None:
        lifecycle.create(
            conn,
            reserved=made,
            name="f",
            director=HOME,
            director_pane="%0",
            spawn_monitor=spawn,
            started=[],
            now=NOW,
        )

    first = lifecycle.reserve(conn, now=NOW)
    assert (first.fleet_id, first.director_member_id, first.monitor_member_id) == (1, 1, 2)
    before = registry.dump()
    failing = True
    with pytest.raises(RefusedError, match="no pane"):
        create(first)
    assert registry.dump() == before
    assert not conn.in_transaction
    # Nobody else is given the ids, which its pane may have been told.
    for member_id, director in ((1, True), (2, False), (3, None)):
        found = lifecycle.reserved_for_director(conn, fleet_id=1, member_id=member_id)
        assert found is director
    failing = False
    made = lifecycle.reserve(conn, now=NOW)
    assert (made.fleet_id, made.director_member_id, made.monitor_member_id) == (2, 3, 4)
    create(made)
    assert registry.rows("SELECT member_id FROM reserved_members") == [(1,), (2,)]
    fleet = fleets.get(conn, fleet_id=made.fleet_id)
    assert (fleet.name, fleet.created_at, fleet.director_member_id) == ("f", THEN, 3)
    assert registry.rows("SELECT name, description FROM members") == [
        ("Director", "Root Director for this fleet"),
        ("monitor", "Monitor member for this fleet"),
    ]
    assert registry.rows(
        "SELECT member_id, mux_socket, mux_window_id, mux_pane_id, coding_agent"
        " FROM member_placements"
    ) == [(3, "/tmp/s", "@0", "%0", "claude"), (4, "/tmp/s", "@1", "%1", "claude")]


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
    registry.rows(
        "UPDATE fleets SET created_at = ? WHERE fleet_id = ?",
        stamp(NOW - timedelta(seconds=60)),
        old,
    )
    same = registry.fleet(name="same")
    found = [(each.fleet_id, each.name, each.member_count) for each in fleets.list_fleets(conn)[0]]
    assert found == [(same, "same", 0), (1, "f", 3), (old, None, 0)]
