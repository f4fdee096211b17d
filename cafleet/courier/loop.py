"""The process that gives a fleet its heartbeat: it claims the fleet, ticks, and knows when to end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime

from cafleet import __version__, clock
from cafleet.broker import fleets, monitor
from cafleet.courier.process_lock import ProcessLock, loop_lock_path
from cafleet.courier.reports import Reports
from cafleet.courier.starting import is_server_listening, require_server
from cafleet.courier.worker import LOOK_SECONDS, Worker
from cafleet.errors import CafleetError, DatabaseError, MultiplexerError, RefusedError
from cafleet.records import MonitorRuntime
from cafleet.store import Connection
from cafleet.store.connection import data_version
from cafleet.store.guard import check_schema, open_database

DEFAULT_TICK_SECONDS = 5
# Another loop that has just started needs so long at most from its lock to its claim.
_CLAIMING_SECONDS = 2.0
# Typing that was begun may go on so long after a signal; its proof is worth the wait.
_FINISHING_SECONDS = 6.0
# A tmux server that is restarted is back by then.
_SERVER_SECONDS = 60.0
# No wait of the operating system is longer.
_LONGEST_TICK = 86_400


class Loop:
    """One fleet's loop in this process; ``now`` and the times between ticks can be set by tests."""

    def __init__(
        self,
        database: str,
        fleet_id: int,
        *,
        tick_seconds: int | None,
        wake_interval_seconds: int | None,
        default_interval_seconds: int,
        now: Callable[[], datetime] = clock.utc_now,
    ) -> None:
        self._database = database
        self._fleet_id = fleet_id
        self._tick_seconds = tick_seconds
        self._interval = wake_interval_seconds
        self._default_interval = default_interval_seconds
        self._now = now
        self._pid = os.getpid()
        self._reports = Reports()
        self._lock = ProcessLock(loop_lock_path(database, fleet_id))
        self._signalled = threading.Event()
        self._servers = _Server(fleet_id)

    def run(self) -> None:
        """Claim the fleet and serve it until a signal, a stop, or a reason to end.

        Raises:
            UnknownIdError: the fleet is unknown or deleted.
            MultiplexerError: its multiplexer server cannot be reached.
            RefusedError: another loop runs, or has taken over.
            DatabaseError, IntegrityError: the database cannot be served any more.
        """
        with closing(open_database(self._database)) as conn, _signals(self._signalled):
            fleets.get_living(conn, fleet_id=self._fleet_id)
            require_server(conn, fleet_id=self._fleet_id)
            tick = self._claim(conn)
            self._reports.say(
                f"monitor loop started (fleet {self._fleet_id}, tick {tick}s, pid {self._pid})"
            )
            worker = Worker(self._database, self._fleet_id, self._reports, now=self._now)
            worker.start()
            try:
                self._serve(conn, worker)
            finally:
                self._clear(conn)
                worker.stop(_FINISHING_SECONDS)
                self._lock.release()

    def _claim(self, conn: Connection) -> int:
        """Take lock and row; the seconds between ticks.

        A held lock without a live row is that of a loop that starts, or of one that a signal has
        stopped for too long: the first gets a moment, the second is replaced.
        """
        ends = time.monotonic() + _CLAIMING_SECONDS
        while not self._lock.acquire() and time.monotonic() < ends:
            row = monitor.runtime(conn, fleet_id=self._fleet_id)
            if monitor.is_live(row, lock_held=True, now=self._now()):
                break
            time.sleep(0.05)
        row = monitor.runtime(conn, fleet_id=self._fleet_id)
        stored_tick = None if row is None else row.tick_seconds
        tick_seconds = _first(self._tick_seconds, stored_tick, DEFAULT_TICK_SECONDS)
        stored_interval = None if row is None else row.wake_interval_seconds
        monitor.claim(
            conn,
            fleet_id=self._fleet_id,
            pid=self._pid,
            tick_seconds=tick_seconds,
            wake_interval_seconds=_first(self._interval, stored_interval, self._default_interval),
            lock_held=not self._lock.acquire(),
            now=self._now(),
        )
        return tick_seconds

    def _serve(self, conn: Connection, worker: Worker) -> None:
        place = _Place(self._database)
        seen_version, next_tick = data_version(conn), 0.0
        while not self._signalled.is_set():
            if time.monotonic() >= next_tick:
                place.check()
                check_schema(conn, self._database)
                monitor.heartbeat(conn, fleet_id=self._fleet_id, pid=self._pid, now=self._now())
            version = data_version(conn)
            if version != seen_version or time.monotonic() >= next_tick:
                seen_version = version
                row = self._look(conn)
                if row is None:
                    return
                if time.monotonic() >= next_tick:
                    self._tick(conn, row, worker)
                    next_tick = time.monotonic() + min(row.tick_seconds, _LONGEST_TICK)
            self._signalled.wait(min(LOOK_SECONDS, max(0.0, next_tick - time.monotonic())))

    def _tick(self, conn: Connection, row: MonitorRuntime, worker: Worker) -> None:
        # A loop that took over from a stopped process gets the lock when that process ends.
        self._lock.acquire()
        wake = monitor.wake_due(row, now=self._now())
        if wake is not None:
            worker.ask_for_wake(wake)
        if self._servers.missing_for(conn, time.monotonic()) > _SERVER_SECONDS:
            raise MultiplexerError(
                f"the multiplexer server of fleet {self._fleet_id} has been gone for "
                f"{_SERVER_SECONDS:.0f} s; the next sender that can reach it starts a new loop"
            )

    def _look(self, conn: Connection) -> MonitorRuntime | None:
        """The loop's own row; ``None`` if there is a reason to end, which is then said.

        Raises:
            RefusedError: another loop has taken over.
        """
        if fleets.get(conn, fleet_id=self._fleet_id).deleted_at is not None:
            self._reports.say("monitor loop ended: the fleet was deleted")
            return None
        row = monitor.runtime(conn, fleet_id=self._fleet_id)
        if row is None or row.pid != self._pid:
            raise RefusedError(
                f"another loop serves fleet {self._fleet_id} now; see `cafleet monitor status "
                f"{self._fleet_id}`"
            )
        if row.stopped_at is not None:
            self._reports.say("monitor loop ended: it was stopped")
            return None
        return row

    def _clear(self, conn: Connection) -> None:
        monitor.clear(conn, fleet_id=self._fleet_id, pid=self._pid)


class _Server:
    """For how long the fleet's multiplexer server has not been listening; no call of it is made."""

    def __init__(self, fleet_id: int) -> None:
        self._fleet_id = fleet_id
        self._since: float | None = None

    def missing_for(self, conn: Connection, now: float) -> float:
        """Seconds, 0 while it listens."""
        if is_server_listening(conn, fleet_id=self._fleet_id):
            self._since = None
            return 0.0
        if self._since is None:
            self._since = now
        return now - self._since


class _Place:
    """Whether the database file and the program are still those that the loop began with."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._file = self._identity()

    def check(self) -> None:
        """Raise DatabaseError if the file was removed or replaced, or the program upgraded."""
        if self._identity() != self._file:
            raise DatabaseError(
                f"the database at {self._database} was replaced; the next sender starts a new loop"
            )
        installed = _installed_version()
        if installed != __version__:
            raise CafleetError(
                f"cafleet {installed} was installed and this loop is {__version__}; the next sender "
                f"starts a new one"
            )

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._database)
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _installed_version() -> str:
    """The version that the program's own file states now; the running one where it cannot be read."""
    from cafleet import __file__ as source

    try:
        with open(source, encoding="utf-8") as file:
            stated = [line for line in file if line.startswith("__version__")]
    except OSError:
        return __version__
    return stated[0].partition('"')[2].partition('"')[0] if stated else __version__


@contextmanager
def _signals(signalled: threading.Event) -> Iterator[None]:
    """SIGINT and SIGTERM set the event, SIGHUP does nothing, until the block ends."""

    def note(*_: object) -> None:
        signalled.set()

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, note),
        signal.SIGTERM: signal.signal(signal.SIGTERM, note),
        signal.SIGHUP: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)
