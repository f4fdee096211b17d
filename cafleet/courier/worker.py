"""The part of a loop that touches panes: threads of its own, so that none of them stops the heart."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime

from cafleet import clock
from cafleet.broker import deliveries, monitor
from cafleet.broker.monitor import Wake
from cafleet.courier.delivery_pass import Pass
from cafleet.courier.reports import Reports
from cafleet.courier.schedule import SERVER_SECONDS, Schedule
from cafleet.courier.waking import Waker
from cafleet.errors import CafleetError
from cafleet.store import Connection
from cafleet.store.connection import data_version
from cafleet.store.guard import open_database
from cafleet.store.rows import OwingRow

# How often the database is asked whether it has changed.
LOOK_SECONDS = 0.25
# However much is due, the thread sleeps so long between two looks.
_SHORTEST_PAUSE = 0.05
_AFTER_TROUBLE_SECONDS = 1.0


class _Task(threading.Thread):
    """Work on panes, with a connection of its own; ``error`` is what stopped it, if anything did."""

    def __init__(self, database: str, work: Callable[[Connection], None]) -> None:
        super().__init__(daemon=True)
        self._database = database
        self._work = work
        self.error: CafleetError | None = None

    def run(self) -> None:
        try:
            with closing(open_database(self._database)) as conn:
                self._work(conn)
        except CafleetError as error:
            self.error = error


class _Batch(_Task):
    """A pass over some members; ``failed`` are those whose rows could not be read."""

    def __init__(
        self,
        database: str,
        member_ids: Sequence[int],
        now: Callable[[], datetime],
        reports: Reports,
    ) -> None:
        super().__init__(database, self._deliver)
        self.member_ids = member_ids
        self.failed: list[int] = []
        self._now = now
        self._reports = reports

    def _deliver(self, conn: Connection) -> None:
        one = Pass(conn, now=self._now, report=self._reports.trouble)
        self.failed = one.run(self.member_ids)


class Worker(threading.Thread):
    """Delivers what is owed in one fleet and wakes its monitor, until it is told to stop.

    Members are served in batches, one thread for those of one server, so that a pane or a server
    that is slow to answer keeps nobody else waiting. What fails is reported and tried again; the
    thread ends only on request.
    """

    def __init__(
        self,
        database: str,
        fleet_id: int,
        reports: Reports,
        *,
        now: Callable[[], datetime] = clock.utc_now,
    ) -> None:
        super().__init__(name=f"courier-{fleet_id}", daemon=True)
        self._database = database
        self._fleet_id = fleet_id
        self._reports = reports
        self._now = now
        self._stopping = threading.Event()
        self._wake_wanted = threading.Event()
        self._waker = Waker(fleet_id=fleet_id, reports=reports, now=now)
        self._waking: _Task | None = None
        self._batches: list[_Batch] = []
        self._schedule = Schedule(_server_at)

    def ask_for_wake(self) -> None:
        """Have the monitor woken as soon as panes can be touched, if that still is due then."""
        self._wake_wanted.set()

    def stop(self, seconds: float) -> None:
        """Begin nothing more, and wait so long for what was begun."""
        ends = time.monotonic() + seconds
        self._stopping.set()
        self.join(seconds)
        for task in [*self._batches, *([self._waking] if self._waking else [])]:
            task.join(max(0.0, ends - time.monotonic()))

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                with closing(open_database(self._database)) as conn:
                    self._serve(conn)
            except CafleetError as error:
                self._reports.trouble("courier", f"the courier cannot go on: {error}")
                self._stopping.wait(_AFTER_TROUBLE_SECONDS)

    def _serve(self, conn: Connection) -> None:
        version: int | None = None
        not_before = servers_at = pause = 0.0
        while not self._stopping.wait(pause):
            seen, version = version, data_version(conn)
            ended = self._collect(conn)
            if ended:
                seen = None
            if any(batch.error for batch in ended):
                not_before = time.monotonic() + _AFTER_TROUBLE_SECONDS
            self._wake_monitor()
            now = time.monotonic()
            busy = [member_id for batch in self._batches for member_id in batch.member_ids]
            due_in = self._schedule.pause(now, LOOK_SECONDS, busy=busy)
            ask_servers = self._schedule.has_unreachable() and now >= servers_at
            if now < not_before:
                version = seen
            elif version != seen or due_in <= 0 or ask_servers:
                servers_at = now + SERVER_SECONDS
                self._begin(deliveries.owing(conn, fleet_id=self._fleet_id), busy)
            self._reports.mended("courier")
            pause = max(_SHORTEST_PAUSE, due_in)

    def _begin(self, rows: Sequence[OwingRow], busy: Sequence[int]) -> None:
        """Start a batch for each server that has members who are due."""
        servers: dict[str | None, list[int]] = {}
        for row in self._schedule.due(rows, time.monotonic()):
            if row.member_id not in busy:
                self._schedule.begin(row, time.monotonic())
                servers.setdefault(row.mux_socket, []).append(row.member_id)
        for member_ids in servers.values():
            batch = _Batch(self._database, member_ids, self._now, self._reports)
            self._batches.append(batch)
            batch.start()

    def _collect(self, conn: Connection) -> list[_Batch]:
        """Note what the batches that have ended leave owed; they."""
        ended = [batch for batch in self._batches if not batch.is_alive()]
        if not ended:
            return []
        rows = deliveries.owing(conn, fleet_id=self._fleet_id)
        for batch in ended:
            self._batches.remove(batch)
            failed = batch.failed if batch.error is None else batch.member_ids
            self._schedule.note(rows, batch.member_ids, time.monotonic(), failed=failed)
            self._tell("delivery", batch)
        return ended

    def _wake_monitor(self) -> None:
        if self._waking is not None and not self._waking.is_alive():
            self._tell("wake of the monitor", self._waking)
            self._waking = None
        if self._waking is None and self._wake_wanted.is_set():
            self._wake_wanted.clear()
            self._waking = _Task(self._database, self._wake)
            self._waking.start()

    def _wake(self, conn: Connection) -> None:
        row = monitor.runtime(conn, fleet_id=self._fleet_id)
        # A wake may have gone out since this one was asked for, or another loop have taken over.
        if row is None or row.pid != os.getpid():
            return
        wake = monitor.wake_due(row, now=self._now())
        woken = None if wake is None else self._waker.wake(conn)
        if woken is not None:
            monitor_id, count = woken
            kind = "forced wake" if wake is Wake.FORCED else "wake"
            of = "1 member" if count == 1 else f"{count} members"
            self._reports.say(f"tick -> {kind} monitor {monitor_id} ({of})")

    def _tell(self, subject: str, task: _Task) -> None:
        if task.error is None:
            self._reports.mended(subject)
        else:
            self._reports.trouble(subject, f"{subject} failed and is tried again: {task.error}")


def _server_at(socket: str | None) -> object:
    """The identity of a server's socket, ``None`` where there is none."""
    if socket is None:
        return None
    try:
        status = os.stat(socket)
    except OSError:
        return None
    # The number of a removed file is soon given to the next one.
    return status.st_dev, status.st_ino, status.st_mtime_ns
