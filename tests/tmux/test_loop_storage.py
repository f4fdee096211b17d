"""A loop whose database cannot be written for a while: told once, nothing typed, nothing lost."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cafleet.clock import stamp, utc_now
from tests.harness.crew import CrewMaker
from tests.harness.fleet import Fleet
from tests.harness.loops import all_states, owner, running, settled, wait_for_states
from tests.harness.program import Program, assert_refused
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for
from tests.tmux.sending import frames

BOB = 4
# Root is above all permissions but for these; without them it is as every user.
AS_ANY_USER = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


@pytest.fixture
def two(crew: CrewMaker, registry: Registry) -> Fleet:
    fleet = crew.make("alice", "bob")
    registry.rows("INSERT INTO monitor_runtime (fleet_id, wake_interval_seconds) VALUES (1, 0)")
    return fleet


@pytest.fixture
def small_disk(two: Fleet, registry: Registry) -> Iterator[Callable[[bool], None]]:
    """Puts the registry on a small disk of its own; fills it, or frees it again."""
    folder = registry.path.parent
    content = registry.path.read_bytes()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)]
    if os.getuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no disk may be mounted here")
    registry.path.write_bytes(content)
    filler = folder / "filler"

    def fill(full: bool) -> None:
        if not full:
            filler.unlink()
            return
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                return

    yield fill
    subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def loop_of_any_user(cafleet: Program, registry: Registry) -> Iterator[subprocess.Popen[bytes]]:
    words = [*AS_ANY_USER, cafleet.path, "monitor", "run", "1", "--tick", "1"]
    process = subprocess.Popen(
        words, env=cafleet.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        wait_for(lambda: owner(registry) == process.pid, "it has the fleet", seconds=30)
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[bytes]) -> tuple[int, list[str], list[str]]:
    """Exit code and lines of a loop that is told to end, without their times."""
    process.terminate()
    out, err = (text.decode().splitlines() for text in process.communicate(timeout=30))
    return process.returncode, [line[33:] for line in out[1:]], [line[33:] for line in err]


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")


def test_a_disk_that_is_full_at_the_look_keeps_the_pane_untouched(
    two: Fleet, cafleet: Program, registry: Registry, small_disk: Callable[[bool], None]
) -> None:
    seat = two.other
    seat.recording.command(work=1000)
    with running(cafleet, registry, "--tick", "1") as loop:
        registry.message(3, BOB, "hello", delivery_state="queued")
        assert settled(registry, 1)["state"] == "held"
        small_disk(True)
        seat.recording.command(work=0)
        before = cpu_seconds(loop.pid)
        time.sleep(6)
        assert cpu_seconds(loop.pid) - before < 3
        assert loop.poll() is None
        assert seat.recording.received() == b""
        assert all_states(registry) == {1: "held"}
        small_disk(False)
        wait_for_states(registry, "submitted")
        time.sleep(1.5)
        code, out, err = ended(loop)
    full = "the disk is full, nothing was written; free some space and try again"
    assert code == 0
    assert sorted(err) == [
        f"delivery failed and is tried again: {full}",
        f"the courier cannot tick: {full}",
    ]
    assert sorted(out) == ["database: well again", "delivery: well again"]
    assert len(frames(seat)) == 1


def test_a_disk_that_is_full_after_the_paste_does_not_have_it_typed_again(
    two: Fleet, cafleet: Program, registry: Registry, small_disk: Callable[[bool], None]
) -> None:
    seat = two.other
    seat.recording.command(draw_delay=1.0)
    with running(cafleet, registry, "--tick", "1"):
        registry.message(3, BOB, "hello", delivery_state="queued")
        wait_for(lambda: all_states(registry) == {1: "typed"}, "it is being typed", seconds=30)
        small_disk(True)
        wait_for(lambda: len(seat.recording.submits()) == 2, "it is submitted", seconds=30)
        time.sleep(4)
        assert all_states(registry) == {1: "typed"}
        small_disk(False)
        wait_for_states(registry, "submitted")
    assert len(frames(seat)) == 1


def test_a_database_that_may_not_be_written_keeps_the_pane_untouched(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    if os.getuid() or subprocess.run([*AS_ANY_USER, "true"], capture_output=True).returncode:
        pytest.skip("the permissions of files mean nothing here, or cannot be made to")
    seat, folder = two.other, registry.path.parent
    with loop_of_any_user(cafleet, registry) as loop:
        files = [path for path in folder.iterdir() if path.is_file()]
        for path in files:
            path.chmod(0o444)
        registry.message(3, BOB, "hello", delivery_state="queued")
        time.sleep(5)
        assert loop.poll() is None
        assert seat.recording.received() == b""
        assert all_states(registry) == {1: "queued"}
        for path in files:
            path.chmod(0o644)
        wait_for_states(registry, "submitted")
        time.sleep(1.5)
        code, out, err = ended(loop)
    refused = (
        f"the database at {registry.path} cannot be written; check the permissions of the file and its "
        "folder (SQLITE_READONLY: attempt to write a readonly database)"
    )
    assert code == 0
    assert err == [f"delivery failed and is tried again: {refused}"]
    assert out == ["delivery: well again"]
    assert len(frames(seat)) == 1


def test_a_row_that_is_no_longer_readable_ends_the_loop_with_one_line(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    named = "monitor_runtime.pid holds 'abc' where fleet_id is 1"
    with running(cafleet, registry, "--tick", "1") as loop:
        registry.rows("UPDATE monitor_runtime SET pid = 'abc'")
        out, err = loop.communicate(timeout=30)
    assert loop.returncode == 1
    assert len(out.splitlines()) == 1
    [line] = err.decode().splitlines()
    assert line.startswith(f"Error: {named}")
    assert_refused(cafleet.run("monitor", "status", "1"), 1, named)
    # The message is stored all the same, and its sender told.
    people = ["--from-member-id", "3", "--to-member-id", "4"]
    sent = cafleet.run("message", "send", *people, "hello")
    assert sent.exit_code == 0
    [warning] = sent.stderr.splitlines()
    assert named in warning
    registry.rows("UPDATE monitor_runtime SET pid = NULL")
    with running(cafleet, registry):
        wait_for_states(registry, "submitted")


def test_a_claim_of_another_with_the_same_process_id_is_not_taken_for_the_own(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    with running(cafleet, registry, "--tick", "1") as loop:
        # A loop in another namespace can have the very number.
        theirs = stamp(utc_now())
        registry.rows("UPDATE monitor_runtime SET started_at = ?", theirs)
        _, err = loop.communicate(timeout=30)
        assert loop.returncode == 1
        assert b"another courier serves fleet 1" in err
        found = registry.rows("SELECT pid, started_at FROM monitor_runtime")
        assert found == [(loop.pid, theirs)]
