"""What ends a loop, what it lives through, and what is told of either."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from cafleet.courier import process as loop_module
from cafleet.courier.process import CourierEndedError, _Place
from cafleet.courier.reports import Reports
from cafleet.store.guard import open_database
from tests.harness.crew import CrewMaker
from tests.harness.fleet import Fleet
from tests.harness.loops import loops, owner, running, settled, wait_for_owner
from tests.harness.program import Program, assert_refused
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for
from tests.tmux.sending import send, start_send


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=30)
    return process.returncode, out.decode(), err.decode()


def interval(registry: Registry) -> int:
    value: int = registry.value("SELECT wake_interval_seconds FROM monitor_runtime")
    return value


def test_a_fleet_that_is_deleted_ends_its_loop(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    crew.make()
    with running(cafleet, registry, "--tick", "3600") as loop:
        cafleet.run("fleet", "delete", "1").ok()
        code, out, err = ended(loop)
    assert (code, err) == (0, "")
    started, end = out.splitlines()
    assert started.endswith(f"monitor loop started (fleet 1, tick 3600s, pid {loop.pid})")
    assert end.endswith("the fleet was deleted")
    assert registry.value("SELECT count(*) FROM monitor_runtime") == 0


def test_a_loop_that_does_not_end_is_not_told_as_stopped(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    crew.make()
    with running(cafleet, registry) as loop:
        loop.send_signal(signal.SIGSTOP)
        try:
            refused = cafleet.run("monitor", "stop", "1")
        finally:
            loop.send_signal(signal.SIGCONT)
        assert_refused(refused, 1, "was told to stop, and has not ended in 5 s")
        assert ended(loop)[0] == 0
    assert cafleet.run("monitor", "stop", "1", "--json").json() == {"stopped": False}


def test_a_stopped_loop_stays_stopped_until_it_is_run_by_hand(
    crew: CrewMaker, cafleet: Program, registry: Registry, tmp_path: Path
) -> None:
    fleet = crew.make("alice", "bob")
    was_not = cafleet.run("monitor", "stop", "1", "--json").json()
    assert was_not == {"stopped": False}
    with running(cafleet, registry) as loop:
        began = time.monotonic()
        assert cafleet.run("monitor", "stop", "1", "--json").json() == {"stopped": True}
        code, out, _ = ended(loop)
        assert time.monotonic() - began < 10
        assert (code, out.splitlines()[-1][-14:]) == (0, "it was stopped")
    people = ["--from-member-id", "3", "--to-member-id", "4"]
    sent = cafleet.run("message", "send", *people, "--json", "--", "hello")
    assert sent.json()["delivery"] == {"state": "queued", "reason": None}
    assert sent.stderr.startswith("Warning: no courier runs for fleet 1")
    assert loops(tmp_path) == []
    unasked = cafleet.run("monitor", "run", "1", "--unless-stopped")
    assert_refused(unasked, 1, "was stopped")
    with running(cafleet, registry):
        assert settled(registry, 1)["state"] == "submitted"
        assert registry.value("SELECT stopped_at FROM monitor_runtime") is None
    assert fleet.other.recording.typed().count(b"hello") == 1


@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_a_loop_does_not_outlive_its_database_file(
    crew: CrewMaker, cafleet: Program, registry: Registry, tmp_path: Path, how: str
) -> None:
    crew.make()
    with running(cafleet, registry) as loop:
        if how == "replaced":
            copy = tmp_path / "copy.db"
            with closing(registry.connect()) as source:
                source.execute("VACUUM INTO ?", (str(copy),))
            for end in ("-wal", "-shm"):
                registry.path.with_name(f"fleet.db{end}").unlink(missing_ok=True)
            before = copy.read_bytes()
            os.replace(copy, registry.path)
        else:
            registry.path.rename(tmp_path / "aside.db")
        code, _, err = ended(loop)
    assert code == 1
    why = {
        "replaced": "was replaced; the next sender starts a new courier",
        "removed": "is gone; bring it back, or make another with `cafleet setup`",
    }
    assert why[how] in err
    if how == "replaced":
        assert registry.path.read_bytes() == before
    else:
        (tmp_path / "aside.db").rename(registry.path)


def test_a_newer_schema_ends_the_loop(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    crew.make()
    with running(cafleet, registry, "--tick", "3600") as loop:
        columns = [name for _, name, *_ in registry.rows("PRAGMA table_info(schema_migrations)")]
        newer = ", ".join("99" if name == "version" else name for name in columns)
        registry.rows(
            f"INSERT INTO schema_migrations SELECT {newer} FROM schema_migrations "
            "ORDER BY version DESC LIMIT 1"
        )
        code, _, err = ended(loop)
    assert code == 1
    assert "newer than this program's" in err


def test_a_claimed_row_without_an_interval_is_corrupt(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    crew.make()
    with running(cafleet, registry, "--tick", "1") as loop:
        registry.rows("UPDATE monitor_runtime SET wake_interval_seconds = NULL")
        code, _, err = ended(loop)
    assert code == 1
    assert "wake_interval_seconds is null" in err
    assert owner(registry) is None


def test_an_interval_that_is_edited_stays(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    crew.make()
    with running(cafleet, registry, env={"CAFLEET_MONITOR_WAKE_INTERVAL": "77"}):
        assert interval(registry) == 77
        registry.rows("UPDATE monitor_runtime SET wake_interval_seconds = 78")
    with running(cafleet, registry, env={"CAFLEET_MONITOR_WAKE_INTERVAL": "79"}):
        assert interval(registry) == 78
    with running(cafleet, registry, "--interval", "0"):
        assert interval(registry) == 0


def test_a_locked_database_is_waited_for_and_told_once(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    fleet = crew.make("alice", "bob")
    with running(cafleet, registry, "--tick", "1") as loop:
        with closing(registry.connect()) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(8)
            assert loop.poll() is None
            held = registry.value("SELECT last_tick_at FROM monitor_runtime")
            other.execute("ROLLBACK")
        wait_for(
            lambda: registry.value("SELECT last_tick_at FROM monitor_runtime") != held, "it ticks"
        )
        assert send(cafleet, fleet.other, "hello", sender=3)["state"] == "submitted"
        loop.terminate()
        code, out, err = ended(loop)
    assert code == 0
    assert [line[33:] for line in err.splitlines()] == [
        "the courier cannot tick: the database is locked by another process; try again"
    ]
    assert "database: well again" in out


def test_a_server_that_is_gone_is_told_once_and_waited_for(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    crew.make()
    with running(cafleet, registry) as loop:
        crew.server.stop()
        time.sleep(7)
        assert loop.poll() is None
        crew.server.session("again")
        time.sleep(7)
        loop.terminate()
        code, out, err = ended(loop)
    assert code == 0
    assert [line[33:] for line in err.splitlines()] == ["the multiplexer server of fleet 1 is gone"]
    assert out.splitlines()[-1].endswith("multiplexer server: well again")


def test_a_server_that_stays_away_ends_the_loop(
    crew: CrewMaker, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew.make()
    place = _Place(str(registry.path), 1, Reports())
    with closing(open_database(str(registry.path))) as conn:
        place.check(conn)
        crew.server.stop()
        place.check(conn)
        monkeypatch.setattr(loop_module, "_SERVER_SECONDS", 0.0)

        def ended() -> str | None:
            try:
                place.check(conn)
            except CourierEndedError as end:
                return str(end)
            return None

        # A server that was told to stop listens for a moment longer.
        assert "is gone for 0 s" in str(wait_for(ended, "the loop ends"))


def test_an_installed_upgrade_ends_the_loop(
    crew: CrewMaker, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew.make()
    place = _Place(str(registry.path), 1, Reports())
    monkeypatch.setattr(loop_module, "__version__", "0.0.0")
    with closing(open_database(str(registry.path))) as conn, pytest.raises(CourierEndedError):
        place.check(conn)


def test_a_loop_is_started_in_the_background_after_a_stop(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    crew.make("alice")
    detach = ("monitor", "run", "1", "--detach")
    cafleet.run("monitor", "stop", "1").ok()
    # As an agent in a member's pane would.
    env = registry.identity(1)
    started = cafleet.run(*detach, "--tick", "1", "--interval", "0", env=env).ok().stdout
    pid = owner(registry, 1)
    assert started == f"monitor loop started (fleet 1, tick 1s, pid {pid})\n"
    status = cafleet.run("monitor", "status", "1", "--json").json()
    assert (status["running"], status["wake_interval_seconds"]) == (True, 0)
    # It serves, and for nobody in particular.
    cafleet.run("message", "send", "--from-member-id=1", "--to-member-id=3", "hello").ok()
    assert settled(registry, 1)["state"] == "submitted"
    assert b"CAFLEET_MEMBER_ID" not in Path(f"/proc/{pid}/environ").read_bytes()
    assert_refused(cafleet.run(*detach), 1, "is already running")
    cafleet.run("monitor", "stop", "1").ok()


def test_the_heart_beats_while_tmux_hangs(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    fleet = crew.make("alice", "bob")
    slow = Path(cafleet.environment["HOME"]) / "slow"
    slow.mkdir()
    tmux = f'#!/bin/sh\n[ -e {slow}/hang ] && exec sleep 1000\nPATH="$REAL" exec tmux "$@"\n'
    (slow / "tmux").write_text(tmux)
    (slow / "tmux").chmod(0o755)
    path = cafleet.environment["PATH"]
    env = {"PATH": f"{slow}:{path}", "REAL": path}
    with running(cafleet, registry, "--tick", "1", env=env):
        (slow / "hang").touch()
        cafleet.finish(start_send(cafleet, fleet.other, "hello", sender=3)).ok()
        beats = set()
        for _ in range(16):
            beats.add(registry.value("SELECT last_tick_at FROM monitor_runtime"))
            time.sleep(0.5)
        assert len(beats) >= 4
        assert registry.value("SELECT delivery_state FROM messages") in {"queued", "unreachable"}
        (slow / "hang").unlink()
        # Ten seconds of hanging calls may be under way, and an unreachable pane rests for thirty.
        wait_for(
            lambda: registry.value("SELECT delivery_state FROM messages") == "submitted",
            "it is delivered after all",
            seconds=60,
        )


def test_a_member_that_cannot_be_read_is_told_once_and_the_others_are_served(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    crew.make("alice", "bob")
    registry.message(3, 3, "for nobody", delivery_state="queued")
    registry.rows("UPDATE member_placements SET coding_agent = 'copilot' WHERE member_id = 3")
    with running(cafleet, registry, "--tick", "1", "--interval", "0") as loop:
        registry.message(4, 4, "hello", delivery_state="queued")
        assert settled(registry, 2)["state"] == "submitted"
        time.sleep(3)
        loop.terminate()
        _, _, err = ended(loop)
    assert err.count("copilot") == 1
    assert registry.value("SELECT delivery_state FROM messages WHERE message_id = 1") == "queued"


def test_fleet_create_starts_the_loop_and_takes_the_fleet_back_where_it_cannot(
    fleet: Fleet, cafleet: Program, database: Registry, tmp_path: Path
) -> None:
    pid = wait_for_owner(database)
    assert loops(tmp_path) == [pid]
    status = cafleet.run("monitor", "status", "1", "--json").json()
    assert (status["running"], status["pid"], status["owed"]) == (True, pid, [])
    assert database.path.with_name("fleet.db.loop-1.log").read_text().count("started") == 1
    cafleet.run("fleet", "delete", "1").ok()
    wait_for(lambda: not loops(tmp_path), "the loop has ended")
    (database.path.parent / "fleet.db.loop-2.log").mkdir()
    options = ["--name", "again", "--coding-agent", "claude"]
    refused = cafleet.run("fleet", "create", *options, pane=fleet.director.pane)
    assert_refused(refused, 1, "the courier of fleet 2 cannot be started")
    assert database.value("SELECT count(*) FROM fleets WHERE deleted_at IS NULL") == 0
    assert database.value("SELECT count(*) FROM members WHERE status = 'active'") == 0
