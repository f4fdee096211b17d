"""The row of a fleet's monitor loop: when it counts as live, and who may write what into it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from cafleet.broker import monitor, typings
from cafleet.broker.monitor import Claim, Wake
from cafleet.clock import stamp
from cafleet.errors import IntegrityError, RefusedError
from cafleet.records import DeliveryState, MonitorRuntime, TypingKind
from cafleet.store.connection import connect
from tests.harness.racing import race
from tests.harness.registry import NOW, THEN, Registry

LATER = NOW + timedelta(minutes=5)
ROW = MonitorRuntime(
    fleet_id=1,
    pid=4711,
    started_at=THEN,
    last_tick_at=THEN,
    tick_seconds=5,
    last_wake_at=None,
    wake_interval_seconds=600,
    wake_requested_at=None,
    stopped_at=None,
    wake_attempted_at=None,
    wake_attempts=0,
    wake_outcome=None,
    wake_reason=None,
)


def put(registry: Registry, **columns: Any) -> None:
    """Give fleet 1 the row :data:`ROW`, but for some ``columns``."""
    registry.crew()
    values = {name: getattr(ROW, name) for name in ROW.__struct_fields__} | columns
    marks = ", ".join("?" * len(values))
    registry.rows(
        f"INSERT INTO monitor_runtime ({', '.join(values)}) VALUES ({marks})", *values.values()
    )


def claim(conn: sqlite3.Connection, *, pid: int = 1, lock_held: bool = True) -> Claim:
    return monitor.claim(
        conn,
        fleet_id=1,
        pid=pid,
        tick_seconds=7,
        wake_interval_seconds=60,
        lock_held=lock_held,
        now=LATER,
    )


def runtime(conn: sqlite3.Connection) -> dict[str, Any]:
    row = monitor.runtime(conn, fleet_id=1)
    assert row is not None
    return {name: getattr(row, name) for name in row.__struct_fields__}


@pytest.mark.parametrize(
    ("tick", "age", "live"),
    [
        (5, 0, True),
        (5, 15, True),
        (5, 15.000001, False),
        (1, 15, True),
        (6, 18, True),
        (6, 18.000001, False),
        (100, 299, True),
        # A clock that was set back: nothing that ticked in the future is fresh.
        (5, -0.000001, False),
        (5, -3600, False),
    ],
)
def test_a_loop_lives_as_long_as_it_ticks(tick: int, age: float, live: bool) -> None:
    ticked = stamp(NOW - timedelta(seconds=age))
    row = _replaced(tick_seconds=tick, last_tick_at=ticked)
    assert monitor.is_live(row, lock_held=True, now=NOW) is live
    assert not monitor.is_live(row, lock_held=False, now=NOW)


def _replaced(**columns: Any) -> MonitorRuntime:
    values = {name: getattr(ROW, name) for name in ROW.__struct_fields__}
    return MonitorRuntime(**(values | columns))


@pytest.mark.parametrize(
    "ticked",
    ["garbage", "", "2026-05-05 05:42:11", "2026-05-05T05:42:11", "2026-05-05T05:42:11+0000"],
)
def test_a_tick_that_cannot_be_read_is_not_fresh(ticked: str) -> None:
    assert not monitor.is_live(_replaced(last_tick_at=ticked), lock_held=True, now=NOW)


@pytest.mark.parametrize("ticked", ["2026-05-05T05:42:05Z", "2026-05-05t14:42:05.5+09:00"])
def test_a_tick_is_read_in_any_form_of_a_time(ticked: str) -> None:
    assert monitor.is_live(_replaced(last_tick_at=ticked), lock_held=True, now=NOW)


def test_without_a_row_a_pid_or_a_tick_nothing_lives() -> None:
    assert not monitor.is_live(None, lock_held=True, now=NOW)
    assert not monitor.is_live(_replaced(pid=None), lock_held=True, now=NOW)
    assert not monitor.is_live(_replaced(last_tick_at=None), lock_held=True, now=NOW)


@pytest.mark.parametrize("pid", [0, -1, 1, 2**31, 2**63 - 1])
def test_a_pid_is_a_number_for_people(
    registry: Registry, conn: sqlite3.Connection, pid: int
) -> None:
    put(registry, pid=pid)
    assert monitor.is_live(monitor.runtime(conn, fleet_id=1), lock_held=True, now=NOW)
    claim(conn)
    assert runtime(conn)["pid"] == 1


def test_a_first_claim_makes_the_row(registry: Registry, conn: sqlite3.Connection) -> None:
    registry.crew()
    assert monitor.runtime(conn, fleet_id=1) is None
    at = stamp(LATER)
    assert claim(conn, pid=12) == Claim(fleet_id=1, pid=12, started_at=at)
    assert runtime(conn) == {
        "fleet_id": 1,
        "pid": 12,
        "started_at": at,
        "last_tick_at": at,
        "tick_seconds": 7,
        "last_wake_at": None,
        "wake_interval_seconds": 60,
        "wake_requested_at": None,
        "stopped_at": None,
        "wake_attempted_at": None,
        "wake_attempts": 0,
        "wake_outcome": None,
        "wake_reason": None,
    }


@pytest.mark.parametrize("interval", [None, 0, 600])
def test_a_stale_loop_is_taken_over(
    registry: Registry, conn: sqlite3.Connection, interval: int | None
) -> None:
    put(
        registry,
        wake_interval_seconds=interval,
        last_wake_at="then",
        wake_requested_at=THEN,
        stopped_at=THEN,
        wake_attempted_at=THEN,
        wake_attempts=2,
        wake_outcome="unproven",
        wake_reason="why",
    )
    claim(conn, pid=12)
    at = stamp(LATER)
    assert runtime(conn) == {
        "fleet_id": 1,
        "pid": 12,
        "started_at": at,
        "last_tick_at": at,
        "tick_seconds": 7,
        "last_wake_at": "then",
        "wake_interval_seconds": 60,
        "wake_requested_at": None,
        "stopped_at": None,
        "wake_attempted_at": THEN,
        "wake_attempts": 2,
        "wake_outcome": "unproven",
        "wake_reason": "why",
    }


def test_a_live_loop_keeps_its_fleet(registry: Registry, conn: sqlite3.Connection) -> None:
    put(registry, last_tick_at=stamp(LATER))
    before = registry.dump()
    with pytest.raises(RefusedError, match="the courier of fleet 1 is already running"):
        claim(conn)
    assert registry.dump() == before
    # Its row is fresh, but nobody holds the lock: it was killed a moment ago.
    claim(conn, pid=12, lock_held=False)
    assert runtime(conn)["pid"] == 12


def claim_as(path: str, pid: int) -> bool:
    with closing(connect(path)) as conn:
        try:
            claim(conn, pid=pid)
        except RefusedError:
            return False
        return True


@pytest.mark.parametrize("stale", [True, False])
def test_of_claims_at_once_one_wins(
    registry: Registry, conn: sqlite3.Connection, stale: bool
) -> None:
    if stale:
        put(registry)
    else:
        registry.crew()
    won = race(claim_as, [(str(registry.path), pid) for pid in (11, 12, 13)])
    assert won.count(True) == 1
    assert runtime(conn)["pid"] == 11 + won.index(True)


def test_only_the_owner_ticks_and_clears(registry: Registry, conn: sqlite3.Connection) -> None:
    put(registry, last_wake_at="then", wake_requested_at="now")
    before = runtime(conn)
    own = Claim(fleet_id=1, pid=4711, started_at=THEN)
    # A process id is given out again after a crash, and is another's in another namespace.
    others = [
        Claim(fleet_id=1, pid=12, started_at=THEN),
        Claim(fleet_id=1, pid=4711, started_at=stamp(LATER)),
        Claim(fleet_id=2, pid=4711, started_at=THEN),
    ]
    for other in others:
        assert not monitor.heartbeat(conn, other, now=LATER)
        assert not monitor.clear(conn, other)
        assert not other.holds(monitor.runtime(conn, fleet_id=other.fleet_id))
    assert runtime(conn) == before
    assert own.holds(monitor.runtime(conn, fleet_id=1))
    assert monitor.heartbeat(conn, own, now=LATER)
    assert runtime(conn) == before | {"last_tick_at": stamp(LATER)}
    assert monitor.clear(conn, own)
    nulls = {"pid": None, "started_at": None, "last_tick_at": None}
    assert runtime(conn) == before | nulls
    assert not own.holds(monitor.runtime(conn, fleet_id=1))
    assert not monitor.heartbeat(conn, own, now=LATER)
    assert not monitor.clear(conn, own)


def test_a_wake_answers_the_request_for_one(registry: Registry, conn: sqlite3.Connection) -> None:
    put(registry)
    before = runtime(conn)
    assert monitor.request_wake(conn, fleet_id=1, now=NOW)
    assert monitor.request_wake(conn, fleet_id=1, now=LATER)
    assert runtime(conn) == before | {"wake_requested_at": stamp(LATER)}
    typed(conn, DeliveryState.SUBMITTED)
    assert runtime(conn) == before | {
        "last_wake_at": stamp(LATER),
        "wake_attempted_at": stamp(NOW),
        "wake_outcome": "landed",
    }


def typed(conn: sqlite3.Connection, state: DeliveryState, *, at: datetime = NOW) -> None:
    """A wake that was typed at that time, and what became of it five minutes later."""
    intent = typings.Intent(
        member_id=2,
        kind=TypingKind.WAKE,
        pane="%2",
        program="claude",
        picture=None,
        text="wake up ",
    )
    typing = typings.begin(conn, intent, now=at)
    assert typing is not None
    settled = typings.Settlement(typing=typing, state=state, evidence="what was seen")
    typings.settle(conn, [settled], now=at + timedelta(minutes=5))


def test_a_wake_without_proof_is_a_try_and_doubles_the_pause(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    put(registry, wake_requested_at=THEN)
    at = NOW
    for tries, pause in enumerate((600, 1200, 2400, 3600, 3600), start=1):
        typed(conn, DeliveryState.UNSURE, at=at)
        row = monitor.runtime(conn, fleet_id=1)
        assert row is not None
        assert (row.wake_attempts, row.wake_attempted_at) == (tries, stamp(at))
        assert (row.wake_outcome, row.wake_reason) == ("unproven", "what was seen")
        assert (row.last_wake_at, row.wake_requested_at) == (None, None)
        due = at + timedelta(seconds=pause)
        assert monitor.wake_due(row, now=due - timedelta(seconds=1)) is None
        assert monitor.wake_due(row, now=due) is Wake.SCHEDULED
        forced = msgspec.structs.replace(row, wake_requested_at=THEN)
        assert monitor.wake_due(forced, now=at) is Wake.FORCED
        at = due
    typed(conn, DeliveryState.SUBMITTED, at=at)
    row = monitor.runtime(conn, fleet_id=1)
    assert row is not None
    assert (row.wake_attempts, row.wake_outcome, row.wake_reason) == (0, "landed", None)
    landed = at + timedelta(minutes=5)
    assert monitor.wake_due(row, now=landed + timedelta(seconds=599)) is None
    assert monitor.wake_due(row, now=landed + timedelta(seconds=600)) is Wake.SCHEDULED


@pytest.mark.parametrize(
    ("interval", "tries", "pause"),
    [(7200, 1, 7200), (7200, 9, 7200), (1, 1, 1), (1, 12, 2048), (1, 13, 3600), (60, 10**6, 3600)],
)
def test_the_pause_after_many_tries_ends_at_an_hour_or_the_interval(
    interval: int, tries: int, pause: int
) -> None:
    row = _replaced(wake_interval_seconds=interval, wake_attempts=tries, wake_attempted_at=THEN)
    assert monitor.wake_due(row, now=NOW + timedelta(seconds=pause - 1)) is None
    assert monitor.wake_due(row, now=NOW + timedelta(seconds=pause)) is Wake.SCHEDULED


def test_an_interval_of_zero_tries_nothing_again() -> None:
    row = _replaced(wake_interval_seconds=0, wake_attempts=3, wake_attempted_at=THEN)
    assert monitor.wake_due(row, now=NOW + timedelta(days=9)) is None


def test_a_wake_of_which_not_a_byte_was_typed_is_no_try(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    put(registry, wake_requested_at=THEN)
    before = runtime(conn)
    typed(conn, DeliveryState.HELD)
    assert runtime(conn) == before


def test_why_a_wake_waits_is_noted_once(registry: Registry, conn: sqlite3.Connection) -> None:
    put(registry)
    before = runtime(conn)
    monitor.note_wake_waits(conn, fleet_id=1, reason="draft: text in the composer")
    waiting = {"wake_outcome": "waiting", "wake_reason": "draft: text in the composer"}
    assert runtime(conn) == before | waiting
    changes = conn.total_changes
    monitor.note_wake_waits(conn, fleet_id=1, reason="draft: text in the composer")
    monitor.note_wake_waits(conn, fleet_id=2, reason="no row")
    assert conn.total_changes == changes


def test_an_interval_needs_a_row(registry: Registry, conn: sqlite3.Connection) -> None:
    put(registry)
    before = runtime(conn)
    for seconds in (0, 2**63 - 1):
        assert monitor.set_interval(conn, fleet_id=1, seconds=seconds)
        assert runtime(conn) == before | {"wake_interval_seconds": seconds}
    assert not monitor.set_interval(conn, fleet_id=2, seconds=5)
    assert not monitor.request_wake(conn, fleet_id=2, now=NOW)
    assert registry.value("SELECT count(*) FROM monitor_runtime") == 1


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("pid", "abc", "'abc'"),
        ("tick_seconds", 0, "0"),
        ("tick_seconds", -3, "-3"),
        ("tick_seconds", "5s", "'5s'"),
        ("tick_seconds", 1.5, "1.5"),
        ("wake_interval_seconds", -1, "-1"),
        ("last_tick_at", b"\x00", r"b'\x00'"),
    ],
)
def test_a_row_that_cannot_be_is_named(
    registry: Registry, conn: sqlite3.Connection, column: str, value: Any, shown: str
) -> None:
    put(registry, **{column: value})
    before = registry.dump()
    with pytest.raises(IntegrityError) as damaged:
        claim(conn)
    assert f"monitor_runtime.{column} holds {shown} where fleet_id is 1" in str(damaged.value)
    assert registry.dump() == before


def test_wake_targets_are_the_placed_ordinary_members(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    director, watcher, ann, bob, pending = registry.crew("ann", "bob", "pending")
    homeless = registry.member(1, "homeless")
    gone = registry.member(1, "gone", status="deregistered")
    for number, member_id in enumerate((director, watcher, bob, ann, gone)):
        registry.place(member_id, f"%{number}", coding_agent="codex")
    registry.place(pending, None)
    old = stamp(NOW - timedelta(hours=1))
    registry.message(director, ann)
    registry.message(director, ann, status_timestamp=old, created_at=old)
    registry.message(director, ann, status_state="completed", status_timestamp="1")
    registry.message(director, homeless)
    targets = monitor.wake_targets(conn, fleet_id=1)
    assert [
        (each.member_id, each.name, each.coding_agent, each.pending_count, each.oldest_pending_ts)
        for each in targets
    ] == [
        (ann, "ann", "codex", 2, old),
        (bob, "bob", "codex", 0, None),
        (pending, "pending", "claude", 0, None),
    ]


def test_without_a_monitor_the_targets_are_the_same(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    _, watcher, ann = registry.crew("ann")
    registry.place(ann, "%1")
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = ?", watcher)
    assert [each.member_id for each in monitor.wake_targets(conn, fleet_id=1)] == [ann]
