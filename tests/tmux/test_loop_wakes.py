"""Wakes of the monitor: when they are due, what they say, and that each goes out once."""

from __future__ import annotations

import random
import re
import sqlite3
import time
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest

from cafleet.broker import monitor, typings
from cafleet.broker.monitor import Wake
from cafleet.broker.typings import Intent, Settlement
from cafleet.clock import stamp, utc_now
from cafleet.courier.reports import Reports
from cafleet.courier.waking import Waker
from cafleet.records import DeliveryState, TypingKind
from cafleet.store.guard import open_database
from tests.harness.crew import CrewMaker
from tests.harness.fleet import Fleet
from tests.harness.loops import kill_loop, running
from tests.harness.program import Program
from tests.harness.registry import NOW, Registry
from tests.harness.waiting import wait_for
from tests.tmux.sending import frames

TICK, INTERVAL, DAY = 5, 600, 86_400
PROTOCOL = "Follow the monitor protocol, then resume any interrupted work. "


def take(conn: sqlite3.Connection, second: int) -> None:
    row = monitor.runtime(conn, fleet_id=1)
    interval = None if row is None else row.wake_interval_seconds
    monitor.claim(
        conn,
        fleet_id=1,
        pid=second,
        tick_seconds=TICK,
        wake_interval_seconds=INTERVAL if interval is None else interval,
        lock_held=False,
        now=NOW + timedelta(seconds=second),
    )


def land(conn: sqlite3.Connection, now: datetime) -> None:
    """A wake goes out."""
    intent = Intent(
        member_id=2, kind=TypingKind.WAKE, pane="%2", program="claude", picture=None, text="wake "
    )
    typing = typings.begin(conn, intent, now=now)
    assert typing is not None
    landed = Settlement(typing=typing, state=DeliveryState.SUBMITTED, evidence="seen")
    typings.settle(conn, [landed], now=now)


def a_day(conn: sqlite3.Connection, restarts: set[int], edits: dict[int, int]) -> list[int]:
    """At which seconds of a day of ticks wakes go out; ``edits`` change the interval."""
    woken = []
    take(conn, 0)
    for second in range(0, DAY, TICK):
        if second in restarts:
            take(conn, second)
        if second in edits:
            monitor.set_interval(conn, fleet_id=1, seconds=edits[second])
        now = NOW + timedelta(seconds=second)
        row = monitor.runtime(conn, fleet_id=1)
        assert row is not None
        if monitor.wake_due(row, now=now) is not None:
            land(conn, now)
            woken.append(second)
    return woken


def test_a_day_of_ticks_wakes_at_the_due_times_whatever_restarts(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew()
    # Before the first wake a restart begins the interval anew; afterwards it changes nothing.
    restarts = set(random.Random(4).sample(range(INTERVAL + TICK, DAY, TICK), 40))
    assert a_day(conn, restarts, {}) == [*range(INTERVAL, DAY, INTERVAL)]


def test_an_interval_that_is_edited_counts_from_the_next_tick_on(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew()
    restarts = {1500, 7000, 40_000}
    woken = a_day(conn, restarts, {1300: 60, 2000: 7200, 30_000: 0, 60_000: 7})
    expected = [600, 1200, 1300, *range(1360, 2000, 60)]
    expected += range(expected[-1] + 7200, 30_000, 7200)
    # Seven seconds are over at every second tick of five.
    expected += range(60_000, DAY, 10)
    assert woken == expected


def test_a_clock_that_steps_neither_silences_nor_storms_the_wakes(
    registry: Registry, conn: sqlite3.Connection
) -> None:
    registry.crew()
    take(conn, 0)
    for step in (DAY, -DAY, 3 * DAY):
        count = 0
        for second in range(0, 3 * INTERVAL, TICK):
            now = NOW + timedelta(seconds=step + second)
            row = monitor.runtime(conn, fleet_id=1)
            assert row is not None
            if monitor.wake_due(row, now=now) is Wake.SCHEDULED:
                land(conn, now)
                count += 1
        assert count == 3


class Woken:
    """A monitor with a recorder, woken by hand."""

    def __init__(self, fleet: Fleet, registry: Registry) -> None:
        self.fleet = fleet
        self.registry = registry
        registry.rows(
            "INSERT INTO monitor_runtime (fleet_id, wake_interval_seconds, wake_requested_at) "
            "VALUES (1, 600, 'x')"
        )

    def wake(self, seconds: int = 0) -> tuple[int, int] | None:
        """As a loop that was just started does it, so much later."""
        waker = Waker(fleet_id=1, reports=Reports(), now=lambda: NOW + timedelta(seconds=seconds))
        with closing(open_database(str(self.registry.path))) as conn:
            return waker.wake(conn)

    def outcome(self) -> tuple[Any, ...]:
        [row] = self.registry.rows(
            "SELECT wake_attempted_at, wake_attempts, wake_outcome, wake_reason FROM monitor_runtime"
        )
        return row

    def runtime(self) -> tuple[Any, ...]:
        [row] = self.registry.rows("SELECT last_wake_at, wake_requested_at FROM monitor_runtime")
        return row


def test_a_wake_tells_of_one_and_of_several_and_is_none_without_members(
    crew: CrewMaker, registry: Registry, own_runtime: None
) -> None:
    fleet = crew.make(monitor=True)
    woken = Woken(fleet, registry)
    director = "Director: 1 (Director; claude; unacked 0; unknown since 0s)"
    assert woken.wake() is None
    assert woken.runtime() == (None, "x")
    assert woken.outcome() == (None, 0, "waiting", "there are no members to check")
    assert fleet.monitor.recording.typed() == b""
    # Names as people can give them: what a shell or a terminal would obey is made harmless.
    third = registry.member(1, "bob\rexit\n`id` $(id)\x1b[2J\x03\t⏎\u2028x")
    seat = crew.seat(1, third, fleet.director.pane)
    wait_for(lambda: "for shortcuts" in crew.server.screen(seat.pane), "it rests")
    registry.message(1, third)
    assert woken.wake() == (2, 1)
    assert woken.runtime() == (stamp(NOW), None)
    assert woken.outcome() == (stamp(NOW), 0, "landed", None)
    shown = "3 (bob⏎exit⏎ˋidˋ $﹙id)[2J⏎⏎⏎x; claude; unacked 1; rest since 0s)"
    pending = registry.member(1, "pending")
    registry.place(pending, None)
    registry.member(1, "placeless")
    assert woken.wake() == (2, 2)
    more = "4 (pending; claude; unacked 0; pane pending since 0s)"
    start = "[cafleet] tick: fleet 1, "
    told = [text.split("; Director: ")[0] for text in frames(fleet.monitor)]
    assert told == [
        f"{start}1 member to check: {shown}",
        f"{start}2 members to check: {shown}, {more}",
    ]
    assert all(text.endswith(f"{director}. {PROTOCOL}") for text in frames(fleet.monitor))
    assert registry.value("SELECT screen FROM member_placements WHERE member_id = 3") == "rest"


def test_the_age_of_a_screen_outlives_the_loop_that_saw_it_first(
    crew: CrewMaker, registry: Registry, own_runtime: None
) -> None:
    fleet = crew.make("alice", monitor=True)
    woken = Woken(fleet, registry)
    for seconds in (0, 30, 90):
        assert woken.wake(seconds) == (2, 1)
    fleet.recipient.recording.command(type="a thought")
    assert woken.wake(100) == (2, 1)
    assert woken.wake(107) == (2, 1)
    # A clock that was set back has seen nothing for less than no time.
    assert woken.wake(-9) == (2, 1)
    told = [
        re.findall(r"3 \(alice; claude; unacked 0; ([^)]*)\)", text)
        for text in frames(fleet.monitor)
    ]
    assert told == [
        ["rest since 0s"],
        ["rest since 30s"],
        ["rest since 1m"],
        ["draft since 0s"],
        ["draft since 7s"],
        ["draft since 0s"],
    ]


def test_a_wake_that_the_end_of_the_fleet_cuts_off_is_not_told_of(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    fleet = crew.make("alice", monitor=True)
    fleet.monitor.recording.command(draw_delay=1000.0)
    with running(cafleet, registry, "--tick", "1", "--interval", "0") as loop:
        registry.rows("UPDATE monitor_runtime SET wake_requested_at = ?", stamp(utc_now()))
        wait_for(fleet.monitor.recording.received, "the wake is typed", seconds=30)
        registry.rows("UPDATE fleets SET deleted_at = ?", stamp(utc_now()))
        time.sleep(1)
        crew.server.run("kill-pane", "-t", fleet.monitor.pane)
        out, err = loop.communicate(timeout=30)
    assert (loop.returncode, err) == (0, b"")
    assert out.decode().splitlines()[-1].endswith("monitor loop ended: the fleet was deleted")


def test_a_wake_goes_out_without_a_director_that_can_be_read(
    crew: CrewMaker, registry: Registry, own_runtime: None
) -> None:
    fleet = crew.make("alice", monitor=True)
    registry.rows("UPDATE members SET status = 'asleep' WHERE member_id = 1")
    assert Woken(fleet, registry).wake() == (2, 1)
    assert frames(fleet.monitor)[0].endswith(f"Director: unknown. {PROTOCOL}")


def test_a_monitor_that_is_not_at_rest_is_not_woken_and_no_wake_is_recorded(
    crew: CrewMaker,
    registry: Registry,
    own_runtime: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def shown() -> object:
        return registry.value("SELECT screen FROM member_placements WHERE member_id = 2")

    fleet = crew.make("alice", monitor=True)
    woken = Woken(fleet, registry)
    fleet.monitor.recording.command(type="a thought")
    assert woken.wake() is None
    assert woken.runtime() == (None, "x")
    assert woken.outcome() == (None, 0, "waiting", "draft: text in the composer")
    assert shown() == "draft"
    assert "cannot be woken" not in capsys.readouterr().err
    crew.server.run("kill-pane", "-t", fleet.monitor.pane)
    assert woken.wake() is None
    assert shown() == "gone"
    assert "monitor 2 cannot be woken, it is gone: the pane does" in capsys.readouterr().err
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = 2")
    assert woken.wake() is None
    assert woken.runtime() == (None, "x")
    assert fleet.monitor.recording.typed() == b""


def test_a_loop_wakes_on_request_once_though_the_typing_outlasts_its_ticks(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    fleet = crew.make("alice", monitor=True)
    with running(cafleet, registry, "--tick", "1", "--interval", "0") as loop:
        for number in (1, 2):
            registry.rows("UPDATE monitor_runtime SET wake_requested_at = ?", stamp(utc_now()))
            wait_for(
                lambda: registry.value("SELECT wake_requested_at FROM monitor_runtime") is None,
                "the wake went out",
                seconds=30,
            )
            time.sleep(3)
            assert len(frames(fleet.monitor)) == number
        loop.terminate()
        out = loop.communicate(timeout=30)[0].decode()
    assert out.count(" tick -> forced wake monitor 2 (1 member)\n") == 2


def test_a_loop_that_was_killed_wakes_no_sooner(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    fleet = crew.make("alice", monitor=True)
    with running(cafleet, registry, "--tick", "1", "--interval", "3600") as loop:
        old = stamp(utc_now() - timedelta(hours=2))
        registry.rows("UPDATE monitor_runtime SET last_wake_at = ?", old)
        wait_for(
            lambda: registry.value("SELECT last_wake_at FROM monitor_runtime") != old,
            "it is woken",
            seconds=30,
        )
        assert len(frames(fleet.monitor)) == 1
        kill_loop(registry)
        loop.wait()
    with running(cafleet, registry, "--tick", "1") as loop:
        time.sleep(4)
        loop.terminate()
        loop.communicate(timeout=30)
    assert len(frames(fleet.monitor)) == 1


def test_another_monitor_may_follow_one_that_has_died(
    fleet: Fleet, cafleet: Program, database: Registry
) -> None:
    pane = fleet.director.pane
    fleet.monitor.recording.command(exit=0)
    cafleet.run("member", "delete", "2").ok()
    words = ["--fleet-id", "1", "--name", "watch", "--description", "d", "--role", "monitor", "hi"]
    made = cafleet.run("member", "create", "--json", *words, pane=pane).json()
    assert made["kind"] == "monitor"
    database.rows("UPDATE monitor_runtime SET wake_requested_at = 'now'")
    wait_for(
        lambda: database.value("SELECT wake_requested_at FROM monitor_runtime") is None,
        "the new monitor is woken",
        seconds=40,
    )
