"""Disks that fill or may not be written, and locks: nothing half done, afterwards all is well."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness.loops import running
from tests.harness.program import Program, assert_refused
from tests.harness.registry import Registry, database_at_head, registry
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

__all__ = ["database_at_head", "registry"]

SEND = ("message", "send", "--from-member-id", "1", "--to-member-id", "3", "--json")
READS = (
    ("message", "poll", "3", "--json"),
    ("message", "show", "1", "--json"),
    ("member", "list", "1", "--json"),
    ("fleet", "list", "--json"),
)
WRITES = (
    (*SEND, "--", "more"),
    ("message", "broadcast", "--from-member-id", "1", "all"),
    ("message", "ack", "1"),
    ("member", "delete", "3"),
    ("fleet", "delete", "1"),
    ("monitor", "stop", "1"),
)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own, which is gone after the test."""
    folder = tmp_path / "small"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "cafleet-test", str(folder)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True).returncode != 0:
        pytest.skip("only root may mount a file system, and not in every container")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def small(mount: Path, registry: Registry, cafleet: Program) -> Registry:
    """The registry on the small file system: Director 1, monitor 2, members 3 and 4, a message."""
    registry.crew("ann", "bob")
    registry.message(4, 3, "the first")
    moved = Registry(mount / "fleet.db")
    moved.path.write_bytes(registry.path.read_bytes())
    cafleet.environment["CAFLEET_DATABASE_URL"] = moved.url
    return moved


def fill(folder: Path) -> Path:
    """A file that leaves no byte of the disk below ``folder`` to others."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 512)
        except OSError:
            return ballast


def test_a_full_disk_refuses_what_is_written_and_nothing_else(
    small: Registry, cafleet: Program
) -> None:
    # Somebody has it open, so that the log and the shared memory are there already.
    holder = small.connect()
    try:
        holder.execute("SELECT count(*) FROM fleets").fetchall()
        before = small.dump()
        ballast = fill(small.path.parent)
        for words in WRITES:
            assert_refused(cafleet.run(*words), 1, "the disk is full, nothing was written")
        for words in READS:
            assert cafleet.run(*words).json()
        assert small.dump() == before
        ballast.unlink()
    finally:
        holder.close()
    assert cafleet.run(*SEND, "--", "more").json()["message"]["message_id"] == 2
    cafleet.run("message", "ack", "1").ok()
    small.check()


def test_a_disk_that_fills_keeps_every_message_that_was_reported(
    small: Registry, cafleet: Program
) -> None:
    sent, refused = set(), 0
    body = "b" * 60_000
    for number in range(40):
        result = cafleet.run(*SEND, "--file", "-", stdin=f"{number} {body}".encode())
        if result.exit_code == 0:
            sent.add(number)
        else:
            assert_refused(result, 1, "the disk is full")
            refused += 1
        if refused > 1:
            break
    assert sent
    assert refused
    stored = [text for (text,) in small.rows("SELECT text FROM messages WHERE message_id > 1")]
    assert [int(text.partition(" ")[0]) for text in stored] == sorted(sent)
    small.check()


def test_setup_on_a_full_disk_leaves_what_was_there(mount: Path, cafleet: Program) -> None:
    path = mount / "fleet.db"
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{path}"
    ballast = fill(mount)
    assert_refused(cafleet.run("setup"), 1, "the disk is full")
    ballast.unlink()
    assert "migrated" in cafleet.run("setup").ok().stdout
    Registry(path).check()


def test_a_courier_outlives_a_full_disk(
    small: Registry, cafleet: Program, tmux_server: TmuxServer
) -> None:
    pane = tmux_server.session("main")
    for member_id in (1, 2, 3, 4):
        small.place(member_id, pane if member_id == 1 else None, mux_socket=tmux_server.socket)
    with running(cafleet, small, "--tick", "1") as loop:
        ballast = fill(small.path.parent)
        beat = small.value("SELECT last_tick_at FROM monitor_runtime")
        assert_refused(cafleet.run(*SEND, "--", "hi"), 1, "the disk is full")
        assert loop.poll() is None
        ballast.unlink()
        wait_for(
            lambda: small.value("SELECT last_tick_at FROM monitor_runtime") > beat,
            "it ticks again",
            seconds=30,
        )
        assert cafleet.run(*SEND, "--", "hi").json()["message"]["message_id"] == 2
        loop.terminate()
        _, err = loop.communicate(timeout=30)
    lines = err.decode().splitlines()
    assert all("the disk is full" in line for line in lines), lines
    assert len(lines) <= 2
    small.check()


def test_a_disk_that_is_mounted_read_only_takes_nothing(small: Registry, cafleet: Program) -> None:
    folder = small.path.parent
    cafleet.run(*READS[0]).ok()
    before = small.path.read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    for words in WRITES:
        assert_refused(cafleet.run(*words), 1, "")
    for words in READS:
        result = cafleet.run(*words)
        assert result.exit_code == 0 or len(result.stderr.splitlines()) == 1
    assert small.path.read_bytes() == before
    subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
    cafleet.run(*WRITES[0]).ok()
    small.check()


@pytest.mark.parametrize(("file", "folder"), [(0o400, 0o700), (0o600, 0o500), (0o400, 0o500)])
def test_a_file_or_folder_that_may_not_be_written(
    registry: Registry, cafleet: Program, file: int, folder: int
) -> None:
    registry.crew("ann", "bob")
    registry.message(4, 3, "the first")
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.path.chmod(file)
    registry.path.parent.chmod(folder)
    before = registry.path.read_bytes()
    try:
        for words in WRITES:
            assert_refused(cafleet.run_unprivileged(*words), 1, "; ")
        for words in READS:
            result = cafleet.run_unprivileged(*words)
            assert result.exit_code == 0 or len(result.stderr.splitlines()) == 1
        assert registry.path.read_bytes() == before
    finally:
        registry.path.parent.chmod(0o700)
        registry.path.chmod(0o600)
    cafleet.run(*WRITES[0]).ok()


def test_a_lock_of_3_seconds_delays_and_one_that_stays_is_told(
    registry: Registry, cafleet: Program
) -> None:
    registry.crew("ann", "bob")
    registry.message(4, 3, "the first")
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    with closing(registry.connect()) as holder:
        holder.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        waiting = [cafleet.start(*words) for words in WRITES[:3]]
        wait_for(lambda: time.monotonic() - began > 3, "the lock was held for 3 s")
        holder.execute("ROLLBACK")
        for process in waiting:
            cafleet.finish(process).ok()
        before = registry.dump()
        # It stays locked for as long as it takes all of them to give up.
        holder.execute("BEGIN IMMEDIATE")
        refused = [cafleet.start(*words) for words in (*WRITES[:2], *WRITES[3:])]
        for words in READS:
            cafleet.run(*words).ok()
        for process in refused:
            assert_refused(cafleet.finish(process), 1, "the database is locked by another process")
        holder.execute("ROLLBACK")
    assert registry.dump() == before
