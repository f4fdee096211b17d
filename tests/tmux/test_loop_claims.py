"""One loop per fleet: whatever the row says of the last one, and whoever starts at the same time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

import pytest

from cafleet.clock import stamp, utc_now
from cafleet.courier.process_lock import ProcessLock, courier_lock_path
from tests.faults.loop_race import let_race
from tests.harness.crew import CrewMaker
from tests.harness.database import Database
from tests.harness.loops import owner, running, wait_for_owner
from tests.harness.program import Program
from tests.harness.waiting import wait_for

# `make soak` has two of them race fifty times.
RACES = (2, 3, 2, 3, 2, 3)


@pytest.fixture
def fleet_id(crew: CrewMaker) -> int:
    return crew.make().fleet_id


def row(database: Database, *columns: str) -> tuple[object, ...]:
    [found] = database.rows(f"SELECT {', '.join(columns)} FROM monitor_runtime")
    return found


def put(database: Database, pid: object, ticked: str | None) -> None:
    database.rows("DELETE FROM monitor_runtime")
    database.rows(
        "INSERT INTO monitor_runtime (fleet_id, pid, started_at, last_tick_at, tick_seconds, "
        "wake_interval_seconds, last_wake_at) VALUES (1, ?, ?, ?, 7, 0, 'kept')",
        pid,
        ticked,
        ticked,
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    stderr = process.communicate(timeout=30)[1]
    return process.returncode, stderr.decode()


def test_of_loops_that_start_at_once_exactly_one_runs(
    fleet_id: int, cafleet: Program, registry: Database
) -> None:
    for count in RACES:
        let_race(cafleet, registry, count)


@pytest.fixture
def stranger() -> Iterator[int]:
    """A living process that is no loop."""
    with subprocess.Popen(["sleep", "999"]) as process:
        yield process.pid
        assert process.poll() is None, "a signal was sent to a process id"
        process.kill()


def test_a_process_id_in_the_row_means_nothing(
    fleet_id: int, cafleet: Program, registry: Database, stranger: int
) -> None:
    now, old, future = (stamp(utc_now() + timedelta(hours=h)) for h in (0, -1, 1))
    pids = [None, 0, -1, 1, 2147483648, stranger, stranger, stranger]
    ticks = [None, now, old, future, now, old, "garbage", now]
    for pid, ticked in zip(pids, ticks, strict=True):
        put(registry, pid, ticked)
        with running(cafleet, registry) as loop:
            # The tick of the row is kept, and so is the last wake.
            expected = (loop.pid, 7, 0, "kept")
            columns = ("pid", "tick_seconds", "wake_interval_seconds", "last_wake_at")
            assert row(registry, *columns) == expected, (pid, ticked)


def test_a_held_lock_counts_only_with_a_fresh_tick(
    fleet_id: int, cafleet: Program, registry: Database, stranger: int
) -> None:
    lock = ProcessLock(courier_lock_path(str(registry.path), 1))
    assert lock.acquire()
    put(registry, stranger, stamp(utc_now()))
    before = registry.rows("SELECT * FROM monitor_runtime")
    refused = cafleet.run("monitor", "run", "1")
    assert refused.exit_code == 1
    assert "already running" in refused.stderr
    assert registry.rows("SELECT * FROM monitor_runtime") == before
    for ticked in (stamp(utc_now() - timedelta(seconds=22)), stamp(utc_now() + timedelta(1)), "?"):
        put(registry, stranger, ticked)
        with running(cafleet, registry) as loop:
            assert owner(registry) == loop.pid, ticked
    lock.release()


def test_a_row_that_cannot_be_read_is_named_and_left_alone(
    fleet_id: int, cafleet: Program, registry: Database
) -> None:
    put(registry, "abc", stamp(utc_now()))
    before = registry.rows("SELECT * FROM monitor_runtime")
    refused = cafleet.run("monitor", "run", "1")
    assert refused.exit_code == 1
    assert "monitor_runtime.pid" in refused.stderr
    assert registry.rows("SELECT * FROM monitor_runtime") == before


def test_a_killed_loop_is_replaced_at_once(
    fleet_id: int, cafleet: Program, registry: Database
) -> None:
    with running(cafleet, registry) as first:
        first.kill()
        with running(cafleet, registry) as second:
            assert owner(registry) == second.pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_loop_and_clears_its_row(
    fleet_id: int, cafleet: Program, registry: Database, number: signal.Signals
) -> None:
    with running(cafleet, registry, "--tick", "3600") as loop:
        loop.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert loop.poll() is None
        began = time.monotonic()
        loop.send_signal(number)
        assert ended(loop) == (0, "")
        assert time.monotonic() - began < 5
    columns = ("pid", "started_at", "last_tick_at", "tick_seconds")
    assert row(registry, *columns) == (None, None, None, 3600)


def test_a_stopped_process_that_goes_on_finds_that_it_was_replaced(
    fleet_id: int, cafleet: Program, registry: Database
) -> None:
    with running(cafleet, registry, "--tick", "3600") as first:
        # Not in the middle of its first tick, when it has the database locked.
        wait_for(
            lambda: registry.value("SELECT last_tick_at > started_at FROM monitor_runtime"),
            "it has ticked",
        )
        time.sleep(0.3)
        os.kill(first.pid, signal.SIGSTOP)
        old = stamp(utc_now() - timedelta(days=1))
        registry.rows("UPDATE monitor_runtime SET last_tick_at = ?", old)
        with running(cafleet, registry, "--tick", "1") as second:
            assert owner(registry) == second.pid
            started = row(registry, "started_at")
            status = cafleet.run("monitor", "status", "1", "--json").json()
            assert (status["running"], status["pid"]) == (True, second.pid)
            os.kill(first.pid, signal.SIGCONT)
            code, stderr = ended(first)
            assert code == 1
            assert "another courier serves fleet 1" in stderr
            assert (owner(registry), row(registry, "started_at")) == (second.pid, started)
            # The lock of the first is free now; the second takes it over and counts as live.
            wait_for(
                lambda: cafleet.run("monitor", "status", "1", "--json").json()["running"],
                "the second one is seen as live",
                seconds=30,
            )
            assert cafleet.run("monitor", "run", "1").exit_code == 1
            assert second.poll() is None


def test_a_loop_is_seen_as_live_from_inside_another_pid_namespace(
    fleet_id: int, cafleet: Program, registry: Database
) -> None:
    apart = ["unshare", "-p", "--fork", "--mount-proc"]
    with suppress(OSError):
        if subprocess.run([*apart, "true"], capture_output=True).returncode:
            pytest.skip("namespaces may not be made here")
    with running(cafleet, registry):
        command = [*apart, cafleet.path, "monitor", "status", "1"]
        done = subprocess.run(
            command, env=cafleet.environment, capture_output=True, text=True, timeout=60
        )
        assert done.stdout.startswith("fleet 1: running\n"), done


def test_a_loop_needs_its_fleet_and_its_server(
    crew: CrewMaker, cafleet: Program, registry: Database
) -> None:
    assert cafleet.run("monitor", "run", "1").exit_code == 1
    crew.make()
    crew.server.stop()
    refused = cafleet.run("monitor", "run", "1")
    assert refused.exit_code == 1
    assert "no tmux server answers" in refused.stderr
    assert registry.value("SELECT count(*) FROM monitor_runtime") == 0
    registry.rows("UPDATE fleets SET deleted_at = '2026-01-01T00:00:00.000000+00:00'")
    assert "deleted" in cafleet.run("monitor", "run", "1").stderr


@pytest.mark.parametrize(
    "options",
    [("--tick", "0"), ("--tick", "-1"), ("--tick", "1_0"), ("--interval", "-1")]
    + [(name, str(2**63)) for name in ("--tick", "--interval")],
)
def test_an_impossible_number_is_a_wrong_command_line(
    crew: CrewMaker, cafleet: Program, options: tuple[str, ...]
) -> None:
    assert cafleet.run("monitor", "run", "1", *options).exit_code == 2


def test_huge_numbers_are_borne(fleet_id: int, cafleet: Program, registry: Database) -> None:
    huge = str(2**63 - 1)
    with running(cafleet, registry, "--tick", huge, "--interval", huge) as loop:
        assert wait_for_owner(registry) == loop.pid
        loop.send_signal(signal.SIGTERM)
        assert ended(loop) == (0, "")
    assert row(registry, "tick_seconds", "wake_interval_seconds") == (int(huge), int(huge))


def test_a_variable_that_deliveries_would_trip_over_is_told_before_the_claim(
    fleet_id: int, cafleet: Program, registry: Database
) -> None:
    for name in ("MAX_TEXT_LEN", "DELIVERY_HOLD_TIMEOUT", "MONITOR_WAKE_INTERVAL"):
        refused = cafleet.run("monitor", "run", "1", env={f"CAFLEET_{name}": "soon"})
        assert refused.exit_code == 1
        assert f"CAFLEET_{name}" in refused.stderr
    assert registry.value("SELECT count(*) FROM monitor_runtime") == 0
