"""The courier at work: what is owed is typed once, by whoever lives, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.homes import INSTALLED
from tests.harness.crew import CrewMaker
from tests.harness.fleet import Fleet, wait_until_resting
from tests.harness.loops import (
    all_states,
    kill_loop,
    loops,
    owner,
    running,
    settled,
    wait_for_owner,
    wait_for_states,
)
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for
from tests.tmux.sending import frames, send

ALICE, BOB = 3, 4
SENDS = 60
APART = {
    "unshare": ["unshare", "-p", "--fork", "--mount-proc"],
    "codex": [str(INSTALLED / "codex"), "sandbox", "-c", 'sandbox_mode="workspace-write"'],
}


SENT = ("message", "send", "--from-member-id", "3", "--to-member-id", "4", "hello")
Inside = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def two(crew: CrewMaker, registry: Registry) -> Fleet:
    """Alice and Bob; the monitor is pending and its wakes are off."""
    fleet = crew.make("alice", "bob")
    registry.rows("INSERT INTO monitor_runtime (fleet_id, wake_interval_seconds) VALUES (1, 0)")
    return fleet


def post(registry: Registry, *texts: str, to: int = BOB, sender: int = ALICE) -> list[int]:
    """Messages as another process commits them."""
    return [registry.message(sender, to, text, delivery_state="queued") for text in texts]


def test_a_member_of_unknown_status_is_told_of_once_and_the_others_are_served(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    with running(cafleet, registry) as loop:
        registry.rows("UPDATE members SET status = 'zombie' WHERE member_id = ?", ALICE)
        post(registry, "to a zombie", to=ALICE, sender=BOB)
        (told,) = post(registry, "to bob", sender=1)
        wait_for(lambda: all_states(registry)[told] == "submitted", "Bob is served")
        # Long enough for several passes over the bad row.
        time.sleep(3)
        assert all_states(registry)[told - 1] == "queued"
        loop.terminate()
        _, said = loop.communicate(timeout=30)
    assert said.count(f"members.status holds 'zombie' where member_id is {ALICE}".encode()) == 1


def test_what_a_working_member_is_owed_becomes_one_turn_when_it_rests(
    two: Fleet, crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    seat = two.other
    seat.recording.command(work=1000)
    wait_for(lambda: "interrupt" in crew.server.screen(seat.pane), "Bob works")
    with running(cafleet, registry):
        ids = post(registry, *(f"body-{number}." for number in range(20)))
        wait_for_states(registry, "held")
        # What is acknowledged before it was typed is never typed.
        cafleet.run("message", "ack", str(ids[15])).ok()
        assert seat.recording.received() == b""
        seat.recording.command(work=0)
        wait_for_states(registry, "submitted", "seen")
    [turn] = frames(seat)
    assert turn.startswith(f"[cafleet] 15 older messages: cafleet message poll {BOB}\n")
    told = [number for number in range(20) if f"body-{number}." in turn]
    assert told == [16, 17, 18, 19]
    assert all_states(registry)[ids[15]] == "seen"


def test_a_notice_for_a_resting_pane_is_typed_at_once(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    with running(cafleet, registry):
        for number in range(3):
            began = time.time()
            [message_id] = post(registry, f"body-{number}.", to=(ALICE, BOB)[number % 2])
            assert settled(registry, message_id)["state"] == "submitted"
            seat = two.members[number % 2]
            at = [event["at"] for event in seat.recording.events("bytes") if event["at"] > began]
            assert at[0] - began < 5


def test_a_pane_that_is_locked_keeps_nobody_else_waiting(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    from cafleet.panes import pane_lock, pane_lock_path

    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_RUNTIME_DIR", cafleet.environment["XDG_RUNTIME_DIR"])
        socket = registry.value("SELECT mux_socket FROM member_placements WHERE member_id = 3")
        with running(cafleet, registry), pane_lock(socket, two.recipient.pane):
            [waits] = post(registry, "for Alice", to=ALICE, sender=BOB)
            [goes] = post(registry, "for Bob")
            assert settled(registry, goes)["state"] == "submitted"
            [later] = post(registry, "again for Bob")
            assert settled(registry, later)["state"] == "submitted"
            assert settled(registry, waits) == {
                "state": "held",
                "reason": "another process is typing into the pane",
            }
            assert two.recipient.recording.received() == b""
            why = cafleet.run("message", "why", str(waits)).ok().stdout
            assert f"hold the lock {pane_lock_path(socket, two.recipient.pane)}:" in why
            assert "No courier runs" not in why


@pytest.mark.slow
def test_a_courier_that_is_killed_again_and_again_types_nothing_twice_and_loses_nothing(
    two: Fleet, cafleet: Program, registry: Registry, tmp_path: Path
) -> None:
    kills = 0
    for number in range(SENDS):
        post(registry, f"body-{number}.", to=(ALICE, BOB)[number % 2], sender=7 - ALICE)
        if number % 6 == 0:
            cafleet.run("message", "send", "--from-member-id", "3", "--to-member-id", "4", "x").ok()
            wait_for_owner(registry)
        time.sleep(0.35)
        if number % 6 == 5:
            pid = owner(registry)
            if pid is not None and pid in loops(tmp_path):
                kill_loop(registry)
                kills += 1
    assert kills >= 5
    cafleet.run("message", "send", "--from-member-id", "3", "--to-member-id", "4", "end").ok()
    states = wait_for_states(registry, "submitted", "unsure", seconds=60)
    bodies = dict(registry.rows("SELECT message_id, text FROM messages"))
    typed = ["\n".join(frames(seat)) for seat in two.members]
    for message_id, state in states.items():
        if bodies[message_id].startswith("body-"):
            times = sum(text.count(f"\n{bodies[message_id]}") for text in typed)
            assert times <= 1, bodies[message_id]
            # A kill between mark and paste cannot be told from one after it.
            assert times == 1 or state == "unsure" or _is_left_out(typed), bodies[message_id]
    assert sum(state == "unsure" for state in states.values()) <= 2 * kills * 3


def _is_left_out(typed: list[str]) -> bool:
    """Whether a turn told of more messages than it named."""
    return any(" older message" in text for text in typed)


def test_whoever_leaves_something_owed_starts_the_loop_that_delivers_it(
    two: Fleet, cafleet: Program, registry: Registry, tmp_path: Path
) -> None:
    assert send(cafleet, two.other, "first", sender=ALICE)["state"] == "submitted"
    first = wait_for_owner(registry)
    kill_loop(registry)
    people = ["--from-member-id", str(ALICE)]
    sent = cafleet.run("message", "broadcast", *people, "--json", "second")
    assert sent.stderr == ""
    assert wait_for_owner(registry, other_than=first) in loops(tmp_path)
    second = "SELECT delivery_state FROM messages WHERE text = 'second' AND owner_member_id = ?"
    wait_for(
        lambda: registry.rows(second, two.other.member_id) == [("submitted",)],
        "the second message is delivered",
        seconds=30,
    )
    assert [text.count("second") for text in frames(two.other)] == [0, 1]


def test_of_many_senders_without_a_loop_one_starts_it(
    two: Fleet, cafleet: Program, registry: Registry, tmp_path: Path
) -> None:
    words = ["message", "send", "--from-member-id", "3", "--to-member-id", "4", "go"]
    for process in [cafleet.start(*words) for _ in range(6)]:
        assert cafleet.finish(process).ok().stderr == ""
    assert wait_for_states(registry, "submitted")
    log = Path(f"{registry.path}.loop-1.log").read_text()
    assert log.count("monitor loop started") == 1
    assert len(loops(tmp_path)) == 1


@pytest.mark.parametrize("cause", ["no tmux on PATH", "no socket"])
def test_where_tmux_cannot_be_reached_the_message_stays_queued_and_the_sender_is_told(
    two: Fleet, cafleet: Program, registry: Registry, tmp_path: Path, cause: str
) -> None:
    env = {}
    if cause == "no tmux on PATH":
        env["PATH"] = str(tmp_path)
    else:
        registry.rows("UPDATE member_placements SET mux_socket = ?", str(tmp_path / "none"))
    words = ["--from-member-id", "3", "--to-member-id", "4", "--json", "--", "hello"]
    sent = cafleet.run("message", "send", *words, env=env)
    assert sent.json()["delivery"] == {"state": "queued", "reason": None}
    [warning] = sent.stderr.splitlines()
    assert warning.startswith(
        "Warning: no courier runs for fleet 1, start it with `cafleet monitor"
    )
    assert "do not send it again" in warning
    assert loops(tmp_path) == []
    assert registry.value("SELECT delivery_state FROM messages") == "queued"


@pytest.fixture(params=APART)
def inside(
    request: pytest.FixtureRequest, cafleet: Program, registry: Registry, tmp_path: Path
) -> Inside:
    """Runs words in a PID namespace of their own."""
    how = request.param
    apart = [*APART[how], *(_writable(registry) if how == "codex" else [])]

    def run(*words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*apart, *words],
            env=cafleet.environment,
            cwd=tmp_path,
            capture_output=True,
            timeout=60,
        )

    try:
        trial = run("sh", "-c", "echo $$")
    except OSError:
        pytest.skip(f"{how} is not installed")
    if trial.returncode:
        pytest.skip("namespaces may not be made here")
    assert int(trial.stdout) < 100
    return run


def test_from_inside_another_pid_namespace_the_loop_is_live_and_a_message_delivered(
    two: Fleet, cafleet: Program, registry: Registry, tmp_path: Path, inside: Inside
) -> None:
    with running(cafleet, registry) as loop:
        for words in (("monitor", "status", "1"), SENT):
            done = inside(cafleet.path, *words)
            assert done.returncode == 0, done
            assert b"no courier runs" not in done.stderr
            assert words is SENT or done.stdout.startswith(b"fleet 1: running\n")
        assert settled(registry, 1)["state"] == "submitted"
        assert loops(tmp_path) == [loop.pid]


def test_no_loop_is_started_where_it_would_end_with_the_sandbox(
    two: Fleet, cafleet: Program, registry: Registry, tmp_path: Path, inside: Inside
) -> None:
    done = inside(cafleet.path, *SENT)
    assert done.returncode == 0, done
    assert b"no courier runs for fleet 1" in done.stderr
    assert (registry.value("SELECT pid FROM monitor_runtime"), loops(tmp_path)) == (None, [])
    assert all_states(registry) == {1: "queued"}


def _writable(registry: Registry) -> list[str]:
    """The options by which Codex lets a program write where the database is, and nowhere else."""
    only = f'sandbox_workspace_write={{writable_roots=["{registry.path.parent}"],exclude_slash_tmp=true}}'
    return ["-c", only, "--"]


def test_a_gone_pane_is_tried_again_when_the_member_has_another(
    two: Fleet, crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    crew.server.run("kill-pane", "-t", two.other.pane)
    with running(cafleet, registry):
        post(registry, "hello")
        assert settled(registry, 1)["state"] == "unreachable"
        registry.rows("DELETE FROM member_placements WHERE member_id = ?", BOB)
        seat = crew.seat(1, BOB, two.director.pane)
        wait_until_resting(crew.server, seat.pane)
        wait_for_states(registry, "submitted")
        assert seat.recording.typed().count(b"hello") == 1


def test_an_unreachable_server_is_tried_again_as_soon_as_its_socket_is_back(
    two: Fleet, crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    server = int(crew.server.ask(two.other.pane, "#{pid}"))
    with running(cafleet, registry):
        Path(crew.server.socket).unlink()
        post(registry, "hello")
        assert settled(registry, 1)["state"] == "unreachable"
        # tmux makes its socket anew.
        os.kill(server, signal.SIGUSR1)
        began = time.monotonic()
        wait_for_states(registry, "submitted", seconds=60)
        assert time.monotonic() - began < 25


def test_a_signal_in_the_middle_of_typing_lets_the_proof_be_found(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    with running(cafleet, registry) as loop:
        post(registry, "hello")
        wait_for(lambda: all_states(registry)[1] == "typed", "it is being typed")
        loop.terminate()
        loop.communicate(timeout=30)
        assert loop.returncode == 0
    assert all_states(registry) == {1: "submitted"}
    assert len(frames(two.other)) == 1
