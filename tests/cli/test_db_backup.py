"""`db backup`: a copy that is one moment of the database, whole or not there at all."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cafleet.broker import messages
from cafleet.clock import utc_now
from cafleet.errors import DatabaseError
from cafleet.operations.database_tools import check
from cafleet.store.connection import connect
from tests.harness.database import Database
from tests.harness.program import CAFLEET, Program, assert_refused
from tests.harness.refusals import Refusals
from tests.harness.registry import Registry

WRITERS = 10
PAGE = 4096  # bytes, SQLite's own default


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where copies go; nothing but copies may be there in the end."""
    place = tmp_path / "backups"
    place.mkdir()
    return place


@pytest.fixture
def crowd(registry: Registry) -> Registry:
    """Fleet 1 of Director 1, monitor 2, ann 3 and bob 4."""
    registry.crew("ann", "bob")
    registry.message(1, 3, "for ann")
    return registry


def test_a_copy_is_a_working_fleet(
    crowd: Registry, refusals: Refusals, cafleet: Program, place: Path
) -> None:
    copy = place / "fleet.db"
    done = cafleet.run("db", "backup", str(copy)).ok()
    size = copy.stat().st_size
    assert done.stdout == f"Copied the database to {copy} ({size:,} bytes), checked.\n"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert os.listdir(place) == ["fleet.db"]
    assert Database(copy).dump() == crowd.dump()
    restored = place / "restored" / "cafleet.db"
    restored.parent.mkdir()
    copy.rename(restored)
    env = {"CAFLEET_DATABASE_URL": Database(restored).url}
    sent = ("message", "send", "--from-member-id=3", "--to-member-id=4", "--json", "on we go")
    message_id = cafleet.run(*sent, env=env).json()["message"]["message_id"]
    polled = cafleet.run("message", "poll", "4", "--json", env=env).json()
    assert [message["text"] for message in polled] == ["on we go"]
    cafleet.run("message", "ack", str(message_id), env=env).ok()
    assert cafleet.run("member", "list", "1", "--json", env=env).json()[2]["name"] == "ann"
    assert Database(restored).value("PRAGMA journal_mode") == "wal"
    assert check(str(restored)) == []
    assert crowd.value("SELECT count(*) FROM messages") == 1


def test_the_path_may_be_relative(crowd: Registry, refusals: Refusals, cafleet: Program) -> None:
    odd = "a % ? # 界 '\".db"
    made = cafleet.run("db", "backup", odd, "--json", cwd=crowd.path.parent).ok()
    assert made.stdout.isascii() is False
    copy = crowd.path.parent / odd
    assert made.json() == {"path": str(copy)}
    assert Database(copy).dump() == crowd.dump()


def _broadcast(conn: sqlite3.Connection, sender_id: int) -> int:
    """Send as a patient sender does: on a busy machine SQLite's waiting is not fair to ten."""
    while True:
        try:
            sent = messages.broadcast(conn, sender_id=sender_id, text="x" * 500, now=utc_now())
        except DatabaseError as failure:
            if "is locked" not in str(failure):
                raise
        else:
            return sent.summary.message_id


@contextmanager
def writing(database: Path) -> Iterator[list[int]]:
    """Ten threads that send, each on a connection of its own; yields the ids of what is stored."""
    stored: list[int] = []
    failures: list[BaseException] = []
    enough = threading.Event()

    def write(number: int) -> None:
        try:
            with closing(connect(str(database))) as conn:
                while not enough.wait(0.02):
                    stored.append(_broadcast(conn, 3 + number % 2))
        except BaseException as failure:
            failures.append(failure)
            raise

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        yield stored
    finally:
        enough.set()
        for thread in threads:
            thread.join()
    assert failures == []


def test_copies_are_consistent_while_ten_write(crowd: Registry, place: Path) -> None:
    environment = {**os.environ, "CAFLEET_DATABASE_URL": crowd.url}
    with writing(crowd.path) as stored:
        while len(stored) < 20:
            time.sleep(0.01)
        known = {}
        for number in range(3):
            copy = place / f"{number}.db"
            before = list(stored)
            subprocess.run([CAFLEET, "db", "backup", copy], env=environment, check=True)
            known[copy] = before, len(stored)
    assert sorted(os.listdir(place)) == ["0.db", "1.db", "2.db"]
    for copy, (before, count) in known.items():
        assert count > len(before), "nobody wrote meanwhile"
        assert check(str(copy)) == []
        database = Database(copy)
        kept = {row[0] for row in database.rows("SELECT message_id FROM messages")}
        assert kept >= set(before)
        # A broadcast of three is there with all of its rows.
        assert len(kept) % 4 == 1


def test_nobody_waits_for_a_copy(crowd: Registry, place: Path) -> None:
    """A reader that holds its moment, as a copy does, keeps no writer."""
    with closing(connect(str(crowd.path))) as reader, closing(connect(str(crowd.path))) as writer:
        reader.execute("BEGIN")
        reader.execute("PRAGMA schema_version").fetchone()
        began = time.monotonic()
        messages.send(writer, sender_id=3, recipient_id=4, text="x", now=utc_now())
        assert time.monotonic() - began < 4
        seen = sqlite3.connect(place / "seen.db")
        with closing(seen):
            reader.backup(seen)
            assert seen.execute("SELECT count(*) FROM messages").fetchone() == (1,)


def test_a_path_that_is_taken(
    crowd: Registry, refusals: Refusals, place: Path, tmp_path: Path
) -> None:
    taken = place / "taken"
    taken.write_text("mine")
    link = place / "link"
    link.symlink_to(place / "nowhere")
    for path in (taken, link):
        refusals.expect(1, "there is something at", "db", "backup", str(path))
    assert taken.read_text() == "mine"
    refusals.expect(1, "is a folder", "db", "backup", str(place))
    refusals.expect(1, "names a folder", "db", "backup", f"{place}/new/")
    alias = place / "alias"
    alias.symlink_to(crowd.path)
    for own in (crowd.path, alias, f"{crowd.path}-wal", f"{alias}-shm", f"{crowd.path}-journal"):
        end = str(own).removeprefix(str(alias)).removeprefix(str(crowd.path))
        path = f"{crowd.path}{end}" if str(own).startswith(str(alias)) else str(own)
        refusals.expect(1, "belongs to the database itself", "db", "backup", path)
    refusals.expect(1, "belongs to the database itself", "db", "backup", str(alias))
    assert sorted(os.listdir(place)) == ["alias", "link", "taken"]


def test_a_place_that_cannot_be_written(crowd: Registry, refusals: Refusals, place: Path) -> None:
    (place / "file").touch()
    for path, why in (
        (place / "none" / "copy.db", "No such file or directory"),
        (place / "file" / "copy.db", "Not a directory"),
        (Path("/proc/copy.db"), "no copy can be written to /proc/copy.db"),
        (place / ("x" * 300), "File name too long"),
    ):
        refusals.expect(1, why, "db", "backup", str(path))
    assert os.listdir(place) == ["file"]
    for path_, exit_code in ((b"\xff.db", 2), ("", 2), (" ", 2)):
        refusals.expect(exit_code, "see 'cafleet db backup --help'", "db", "backup", path_)


def test_a_damaged_database_is_not_copied(
    crowd: Registry, cafleet: Program, place: Path, tmp_path: Path
) -> None:
    damaged = Database(tmp_path / "damaged.db")
    damaged.path.write_bytes(crowd.path.read_bytes())
    with closing(damaged.connect()) as conn:
        conn.execute("PRAGMA writable_schema = ON")
        conn.execute("DELETE FROM sqlite_master WHERE name = 'idx_messages_sent'")
    copied = cafleet.run(
        "db", "backup", str(place / "copy.db"), env={"CAFLEET_DATABASE_URL": damaged.url}
    )
    assert_refused(copied, 1, "the database is damaged, no copy was kept (integrity_check: ")
    assert os.listdir(place) == []


def test_bad_pages_are_told_of_the_database_and_not_of_the_copy(
    crowd: Registry, cafleet: Program, place: Path, tmp_path: Path
) -> None:
    damaged = Database(tmp_path / "damaged.db")
    with closing(crowd.connect()) as conn:
        conn.execute("VACUUM INTO ?", [str(damaged.path)])
    [(root,)] = damaged.rows("SELECT rootpage FROM sqlite_master WHERE name = 'messages'")
    with damaged.path.open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(b"\xa5" * PAGE)
    copied = cafleet.run(
        "db", "backup", str(place / "copy.db"), env={"CAFLEET_DATABASE_URL": damaged.url}
    )
    assert_refused(copied, 1, f"the database at {damaged.path} is damaged; restore it from")
    assert os.listdir(place) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_end_in_the_middle_leaves_nothing_at_the_path(
    crowd: Registry, place: Path, number: signal.Signals
) -> None:
    """The copy is held up by a reader of its own making: it stops once the file is there."""
    script = (
        "import signal, sys, time\n"
        # Whatever the run of the tests was started with: an ignored signal stays ignored.
        "signal.pthread_sigmask(signal.SIG_SETMASK, [])\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from cafleet.store import backup\n"
        "def wait(*_):\n"
        "    print('there', flush=True)\n"
        "    time.sleep(60)\n"
        "    yield ''\n"
        "backup.integrity_faults = wait\n"
        "from cafleet.cli.main import main\n"
        "sys.exit(main())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, "db", "backup", place / "copy.db"],
        env={**os.environ, "CAFLEET_DATABASE_URL": crowd.url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"there\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (out, err) == (b"", b"")
    assert not (place / "copy.db").exists()
    if number == signal.SIGKILL:
        assert process.returncode == -number
        assert all(name.startswith(".cafleet-backup-") for name in os.listdir(place))
    else:
        assert process.returncode == 128 + number
        assert os.listdir(place) == []


def test_a_copy_is_restored_as_the_help_says(
    crowd: Registry, refusals: Refusals, cafleet: Program, place: Path, tmp_path: Path
) -> None:
    copy = place / "a copy.db"
    cafleet.run("db", "backup", str(copy)).ok()
    home = tmp_path / "a home"
    database = home / ".local/share/cafleet/cafleet.db"
    database.parent.mkdir(parents=True)
    with closing(crowd.connect()) as writer:
        # A process that was killed leaves what it wrote last in the -wal.
        writer.execute("UPDATE members SET name = 'later' WHERE member_id = 3")
        writer.commit()
        for end in ("", "-wal", "-shm"):
            shutil.copy(f"{crowd.path}{end}", f"{database}{end}")
    told = cafleet.run("db", "backup", "--help").ok().stdout
    steps = re.search(r"^ +db=.*?cafleet db check$", told, re.DOTALL | re.MULTILINE)
    assert steps is not None
    done = subprocess.run(
        ["sh", "-e", "-c", steps[0].replace("cp PATH", f"cp '{copy}'")],
        env={"HOME": str(home), "PATH": f"{CAFLEET.parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done
    assert f"Nothing is wrong with {database}." in done.stdout
    names = "SELECT name FROM members WHERE member_id = 3"
    assert Database(database).value(names) == "ann"
    replaced = database.with_name("cafleet.db.replaced")
    assert Database(replaced).value(names) == "later", "what was written last was not kept"
