"""Many writers of one database: none is passed over, and none waits for ever."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from cafleet.store.connection import BUSY_TIMEOUT_SECONDS, connect, transaction
from tests.harness.racing import race
from tests.sql.databases import opened, rows

WRITERS = 12
SECONDS = 4.0


def write_again_and_again(path: str) -> tuple[int, float]:
    """How often a greedy writer came to it, and its longest wait in seconds."""
    ends = time.monotonic() + SECONDS
    done, longest = 0, 0.0
    with closing(connect(path)) as conn:
        while (began := time.monotonic()) < ends:
            with transaction(conn):
                conn.execute("INSERT INTO t DEFAULT VALUES")
            longest = max(longest, time.monotonic() - began)
            done += 1
    return done, longest


def table(path: Path) -> None:
    with opened(path) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("CREATE TABLE t (i INTEGER PRIMARY KEY)")


def test_greedy_writers_are_served_alike(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    table(path)
    outcomes = race(write_again_and_again, [(str(path),)] * WRITERS)
    counts = [done for done, _ in outcomes]
    assert rows(path, "SELECT count(*) FROM t") == [(sum(counts),)]
    # SQLite alone serves one of them hundreds of times while another is still waiting.
    assert min(counts) > sum(counts) / WRITERS / 4, outcomes
    assert max(longest for _, longest in outcomes) < BUSY_TIMEOUT_SECONDS, outcomes


def seconds_to_write(path: Path, *, others: float) -> float:
    """How long a write takes that begins while another holds the database for so many seconds."""
    with closing(connect(str(path))) as conn, held(path, others):
        began = time.monotonic()
        with transaction(conn):
            conn.execute("INSERT INTO t DEFAULT VALUES")
        return time.monotonic() - began


@contextmanager
def held(path: Path, seconds: float) -> Iterator[None]:
    ready = threading.Event()

    def hold() -> None:
        with opened(path) as conn:
            conn.execute("BEGIN IMMEDIATE")
            ready.set()
            time.sleep(seconds)
            conn.execute("ROLLBACK")

    holder = threading.Thread(target=hold)
    holder.start()
    ready.wait()
    try:
        yield
    finally:
        holder.join()


def test_a_line_that_does_not_move_is_left_after_a_while(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    table(path)
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        seconds = seconds_to_write(path, others=1.0)
        assert BUSY_TIMEOUT_SECONDS <= seconds < 2 * BUSY_TIMEOUT_SECONDS
    finally:
        os.close(handle)
    # Whoever has left it does not come to hold it later on.
    assert 0.4 <= seconds_to_write(path, others=0.5) < BUSY_TIMEOUT_SECONDS / 2
    assert rows(path, "SELECT count(*) FROM t") == [(2,)]


def test_a_line_is_no_matter_while_nobody_writes(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    table(path)
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with closing(connect(str(path))) as conn:
            began = time.monotonic()
            with transaction(conn):
                conn.execute("INSERT INTO t DEFAULT VALUES")
            assert time.monotonic() - began < BUSY_TIMEOUT_SECONDS / 2
    finally:
        os.close(handle)
