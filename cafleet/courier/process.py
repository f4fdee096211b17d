"""The courier's process: it claims the fleet, ticks, and knows when to end."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from typing import Self

from cafleet import __version__, clock
from cafleet.broker import fleets, monitor
from cafleet.broker.monitor import Claim
from cafleet.courier.delivery_thread import DeliveryThread
from cafleet.courier.process_lock import ProcessLock, courier_lock_path
from cafleet.courier.reports import Reports
from cafleet.courier.starting import is_server_listening, require_server
from cafleet.errors import (
    CafleetError,
    DatabaseError,
    IntegrityError,
    RefusedError,
    SchemaError,
)
from cafleet.records import MonitorRuntime
from cafleet.store import Connection
from cafleet.store.connection import data_version, file_identity
from cafleet.store.guard import check_schema, open_database

DEFAULT_TICK_SECONDS = 5
# How often the database is asked whether it has changed.
LOOK_SECONDS = 0.25
# The longest time that a starting courier needs from its lock to its claim.
_CLAIMING_SECONDS = 2.0
# How long a text that stands in a composer may take after a signal. That is enough for Enter and proof
# if the agent is well. The next courier settles what is still unproven.
_FINISHING_SECONDS = 3.0
# A tmux server that restarts is back within this time.
_SERVER_SECONDS = 60.0
# How often the database file, the program and the multiplexer server are checked.
_PLACE_SECONDS = 5.0
_AFTER_TROUBLE_SECONDS = 1.0
# The longest single wait of the operating system.
_LONGEST_TICK = 86_400


class CourierEndedError(CafleetError):
    """The courier cannot go on, though nobody has stopped it."""


class ReplacedError(CourierEndedError):
    """Another file stands where the courier's database was. To write to the old one would damage it."""


class Courier:
    """One fleet's courier, run in this process. Tests can set ``now``.

    ``unless_stopped`` is set if nobody has asked for this courier.
    """

    def __init__(
        self,
        database: str,
        fleet_id: int,
        *,
        tick_seconds: int | None,
        wake_interval_seconds: int | None,
        default_interval_seconds: int,
        unless_stopped: bool = False,
        now: Callable[[], datetime] = clock.utc_now,
    ) -> None:
        self._database = database
        self._fleet_id = fleet_id
        self._tick_seconds = tick_seconds
        self._interval = wake_interval_seconds
        self._default_interval = default_interval_seconds
        self._unless_stopped = unless_stopped
        self._now = now
        self._pid = os.getpid()
        self._reports = Reports()
        self._lock = ProcessLock(courier_lock_path(database, fleet_id))
        self._signals = _Signals()
        self._place = _Place(database, fleet_id, self._reports)
        self._seen_version: int | None = None
        self._next_tick = self._next_place = 0.0

    def run(self) -> None:
        """Claim the fleet and serve it until a signal, a stop, or a reason to end.

        Raises:
            UnknownIdError: the fleet is unknown or deleted.
            MultiplexerError: its multiplexer server cannot be reached.
            RefusedError: another courier runs or has taken over, or it is not to be started.
            SchemaError, IntegrityError, CourierEndedError: it cannot serve any more.
        """
        with closing(open_database(self._database)) as conn, self._signals:
            fleets.get_living(conn, fleet_id=self._fleet_id)
            fleets.refuse_paused(conn, fleet_id=self._fleet_id)
            require_server(conn, fleet_id=self._fleet_id)
            self._claim, tick = self._take(conn)
            self._reports.started(
                f"monitor loop started (fleet {self._fleet_id}, tick {tick}s, pid {self._pid})"
            )
            self._delivery = DeliveryThread(
                self._database, self._claim, self._reports, now=self._now
            )
            self._delivery.start()
            try:
                ended = self._serve(conn)
            except BaseException as failure:
                self._finish(conn, failure)
                raise
            self._finish(conn, None)
            if ended is not None:
                self._reports.say(f"monitor loop ended: {ended}")

    def _take(self, conn: Connection) -> tuple[Claim, int]:
        """Take lock and row. Returns the claim and the seconds between ticks.

        If the lock is held and the row is not live, another courier is just starting, or a signal has stopped
        it for too long. The first gets a moment, the second is replaced.
        """
        ends = time.monotonic() + _CLAIMING_SECONDS
        while not self._lock.acquire() and time.monotonic() < ends:
            row = monitor.runtime(conn, fleet_id=self._fleet_id)
            if monitor.is_live(row, lock_held=True, now=self._now()):
                break
            time.sleep(0.05)
        row = monitor.runtime(conn, fleet_id=self._fleet_id)
        stored_tick = None if row is None else max(1, row.tick_seconds)
        tick_seconds = _first(self._tick_seconds, stored_tick, DEFAULT_TICK_SECONDS)
        stored_interval = None if row is None else row.wake_interval_seconds
        claim = monitor.claim(
            conn,
            fleet_id=self._fleet_id,
            pid=self._pid,
            tick_seconds=tick_seconds,
            wake_interval_seconds=_first(self._interval, stored_interval, self._default_interval),
            lock_held=not self._lock.acquire(),
            unless_stopped=self._unless_stopped,
            now=self._now(),
        )
        return claim, tick_seconds

    def _serve(self, conn: Connection) -> str | None:
        """Serve until a signal or a reason to end, which is returned. A database that fails for a while is no
        reason."""
        pause = 0.0
        while not self._signals.wait(pause):
            try:
                if (reason := self._step(conn)) is not None:
                    return reason
                pause = min(LOOK_SECONDS, max(0.0, self._next_tick - time.monotonic()))
            except (SchemaError, IntegrityError):
                raise
            except DatabaseError as error:
                self._reports.trouble("database", f"the courier cannot tick: {error}")
                pause = _AFTER_TROUBLE_SECONDS
        return None

    def _step(self, conn: Connection) -> str | None:
        """Look at the database once, and tick if it is time. Returns the reason to end, if there is one."""
        now = time.monotonic()
        self._place.check_file()
        if now >= self._next_place:
            self._check_place(conn)
            self._next_place = now + _PLACE_SECONDS
        version = data_version(conn)
        ticking = now >= self._next_tick
        if version != self._seen_version:
            self._delivery.tell_news()
        elif not ticking:
            return None
        check_schema(conn, self._database)
        if ticking:
            monitor.heartbeat(conn, self._claim, now=self._now())
        fleet = fleets.get(conn, fleet_id=self._fleet_id)
        if fleet.deleted_at is not None:
            return "the fleet was deleted"
        if fleet.paused_at is not None:
            return "the fleet was paused"
        row = self._own_row(conn)
        self._seen_version = version
        if row.stopped_at is not None:
            return "it was stopped"
        if ticking:
            if monitor.wake_due(row, now=self._now()) is not None:
                self._delivery.ask_for_wake()
            self._next_tick = now + min(max(1, row.tick_seconds), _LONGEST_TICK)
        self._reports.mended("database")
        return None

    def _check_place(self, conn: Connection) -> None:
        self._place.check(conn)
        # A courier that took over from a stopped process gets the lock when that process ends.
        self._lock.acquire()
        if not self._delivery.is_alive():
            raise CourierEndedError(
                "the courier has failed; run the courier again, and report the fault"
            )

    def _own_row(self, conn: Connection) -> MonitorRuntime:
        """The row of this courier.

        Raises:
            RefusedError: another courier has taken over.
        """
        row = monitor.runtime(conn, fleet_id=self._fleet_id)
        if row is None or not self._claim.holds(row):
            raise RefusedError(
                f"another courier serves fleet {self._fleet_id} now; see `cafleet monitor status "
                f"{self._fleet_id}`"
            )
        return row

    def _finish(self, conn: Connection, failure: BaseException | None) -> None:
        """Give up the claim at once, and the lock when the current typing is over."""
        self._reports.ending()
        try:
            # The log beside a replaced database is the new one's.
            if not isinstance(failure, ReplacedError):
                monitor.clear(conn, self._claim)
        except CafleetError as error:
            if not isinstance(failure, CafleetError):
                raise
            failure.add_remains(f"fleet {self._fleet_id} is still claimed: {error}")
        finally:
            self._delivery.stop(_FINISHING_SECONDS)
            self._lock.release()


class _Place:
    """Checks that database file, program and multiplexer server are still those that the courier began with.
    Never calls the multiplexer."""

    def __init__(self, database: str, fleet_id: int, reports: Reports) -> None:
        self._database = database
        self._fleet_id = fleet_id
        self._reports = reports
        self._file = file_identity(database)
        self._server_seen = time.monotonic()

    def check_file(self) -> None:
        """Raise ReplacedError if the database file was replaced or removed."""
        found = file_identity(self._database)
        if found is None:
            raise ReplacedError(
                f"the database at {self._database} is gone; bring it back, or make another with "
                f"`cafleet setup`"
            )
        if found != self._file:
            raise ReplacedError(
                f"the database at {self._database} was replaced; the next sender starts a new courier"
            )

    def check(self, conn: Connection) -> None:
        """Raise CourierEndedError if the program was replaced, or the server stays away."""
        installed = _installed_version()
        if installed != __version__:
            raise CourierEndedError(
                f"cafleet {installed} was installed and this courier is {__version__}; the next sender "
                f"starts a new one"
            )
        self._check_server(conn)

    def _check_server(self, conn: Connection) -> None:
        if is_server_listening(conn, fleet_id=self._fleet_id):
            self._server_seen = time.monotonic()
            self._reports.mended("multiplexer server")
            return
        gone = f"the multiplexer server of fleet {self._fleet_id} is gone"
        self._reports.trouble("multiplexer server", gone)
        if time.monotonic() - self._server_seen > _SERVER_SECONDS:
            raise CourierEndedError(
                f"{gone} for {_SERVER_SECONDS:.0f} s; the next sender that can reach it starts a new courier"
            )


def _installed_version() -> str:
    """The version that the installed program states now, or the running one if that cannot be read."""
    from cafleet import __file__ as source

    try:
        with open(source, encoding="utf-8") as file:
            stated = [line for line in file if line.startswith("__version__")]
    except OSError:
        return __version__
    return stated[0].partition('"')[2].partition('"')[0] if stated else __version__


class _Signals:
    """Within the block SIGINT and SIGTERM end a wait at once, and SIGHUP does nothing.

    Python writes each signal to a pipe, and the wait is for that pipe. That takes one system call a look,
    where an Event takes several.
    """

    def __enter__(self) -> Self:
        self._came = False
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._read, select.POLLIN)
        self._before = {
            number: signal.signal(number, handler)
            for number, handler in (
                (signal.SIGINT, self._note),
                (signal.SIGTERM, self._note),
                (signal.SIGHUP, signal.SIG_IGN),
            )
        }
        signal.set_wakeup_fd(self._write)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    def wait(self, seconds: float) -> bool:
        """Wait so many seconds at most. Returns whether a signal has come."""
        if not self._came:
            self._poll.poll(seconds * 1000)
        return self._came

    def _note(self, *_: object) -> None:
        self._came = True


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)
