"""The loops of a test's fleets: found, watched, stopped, and none left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen

from tests.harness.database import Database
from tests.harness.program import Program
from tests.harness.waiting import wait_for


def loops(root: Path) -> list[int]:
    """The processes that run a loop with a folder below ``root`` in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            if b"\0monitor\0run\0" not in (folder / "cmdline").read_bytes():
                continue
            if f"={root}/".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def end_loops(root: Path) -> None:
    """End every loop below ``root``; one that does not obey is killed."""
    for number, seconds in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 10.0)):
        for pid in loops(root):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        with suppress(AssertionError):
            wait_for(lambda: not loops(root), "the loops have ended", seconds=seconds)
            return
    raise AssertionError(f"loops are left: {loops(root)}")


def kill_loops(root: Path) -> None:
    """Kill every loop below ``root`` without notice; there may be none."""
    killed = loops(root)
    for pid in killed:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not set(killed) & set(loops(root)), f"{killed} are dead")


def owner(database: Database, fleet_id: int = 1) -> int | None:
    """The process that has claimed a fleet."""
    rows = database.rows("SELECT pid FROM monitor_runtime WHERE fleet_id = ?", fleet_id)
    return rows[0][0] if rows else None


def wait_for_owner(database: Database, fleet_id: int = 1, *, other_than: int | None = None) -> int:
    """The process that has claimed a fleet, waited for."""

    def claimed() -> int | None:
        pid = owner(database, fleet_id)
        return None if pid == other_than else pid

    return wait_for(claimed, "a loop has claimed the fleet", seconds=30) or 0


def stop_loop(cafleet: Program, fleet_id: int = 1) -> None:
    """Stop a fleet's loop, so that nothing is typed until a test has one run."""
    cafleet.run("monitor", "stop", str(fleet_id)).ok()


def kill_loop(database: Database, fleet_id: int = 1) -> None:
    """Kill a fleet's loop without notice; others may start the next one."""
    pid = owner(database, fleet_id)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not _exists(pid), f"{pid} is dead")


def _exists(pid: int) -> bool:
    with suppress(OSError):
        return b"\0monitor\0run\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@contextmanager
def running(
    cafleet: Program,
    database: Database,
    *options: str,
    fleet_id: int = 1,
    env: Mapping[str, str | None] | None = None,
) -> Iterator[Popen[bytes]]:
    """A loop in the foreground that has claimed the fleet; killed at the end if it still runs."""
    process = cafleet.start("monitor", "run", str(fleet_id), *options, env=env)
    try:
        wait_for(
            lambda: process.poll() is not None or owner(database, fleet_id) == process.pid,
            "the loop has claimed the fleet",
            seconds=30,
        )
        yield process
    finally:
        process.kill()
        process.communicate()


def settled(database: Database, message_id: int, *, seconds: float = 30.0) -> dict[str, str | None]:
    """State and reason of a message's notice, once a look at the pane has been taken."""

    def look() -> dict[str, str | None] | None:
        [(state, reason)] = database.rows(
            "SELECT delivery_state, (SELECT reason FROM delivery_events WHERE "
            "delivery_events.message_id = messages.message_id ORDER BY event_id DESC LIMIT 1) "
            "FROM messages WHERE message_id = ?",
            message_id,
        )
        return None if state in {"queued", "typed"} else {"state": state, "reason": reason}

    return wait_for(look, f"message {message_id} is settled", seconds=seconds) or {}


def all_states(database: Database) -> dict[int, str]:
    """The state of every delivery's notice, by message id."""
    return dict(
        database.rows("SELECT message_id, delivery_state FROM messages WHERE type = 'unicast'")
    )


def wait_for_states(database: Database, *wanted: str, seconds: float = 30.0) -> dict[int, str]:
    """Wait until every delivery is in one of the ``wanted`` states."""
    wait_for(
        lambda: set(all_states(database).values()) <= set(wanted),
        f"every notice is {wanted}",
        seconds=seconds,
    )
    return all_states(database)
