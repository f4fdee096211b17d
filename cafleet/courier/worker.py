"""The part of a loop that touches panes: a thread of its own, so that none of them stops the heart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime

from cafleet import clock
from cafleet.broker import deliveries
from cafleet.broker.monitor import Wake
from cafleet.courier.delivery_pass import Pass
from cafleet.courier.reports import Reports
from cafleet.courier.schedule import Schedule
from cafleet.courier.waking import Waker
from cafleet.errors import CafleetError
from cafleet.store import Connection
from cafleet.store.connection import data_version
from cafleet.store.guard import open_database

# How often the database is asked whether it has changed.
LOOK_SECONDS = 0.25
_AFTER_TROUBLE_SECONDS = 1.0


class Worker(threading.Thread):
    """Delivers what is owed in one fleet and wakes its monitor, until it is told to stop.

    What fails is reported and tried again; the thread ends only on request.
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
        self._wake: Wake | None = None

    def ask_for_wake(self, wake: Wake) -> None:
        """Have the monitor woken as soon as panes can be touched; a second call changes nothing."""
        self._wake = self._wake or wake

    def stop(self, seconds: float) -> None:
        """Begin nothing more, and wait so long for what was begun."""
        self._stopping.set()
        self.join(seconds)

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                with closing(open_database(self._database)) as conn:
                    self._serve(conn)
            except CafleetError as error:
                self._reports.trouble("courier", f"the courier cannot go on: {error}")
                self._stopping.wait(_AFTER_TROUBLE_SECONDS)

    def _serve(self, conn: Connection) -> None:
        schedule = Schedule()
        waker = Waker(conn, fleet_id=self._fleet_id, reports=self._reports, now=self._now)
        seen_version: int | None = None
        pause = 0.0
        while not self._stopping.wait(pause):
            version = data_version(conn)
            if version != seen_version or schedule.pause(time.monotonic(), 1.0) == 0.0:
                self._deliver(conn, schedule)
                seen_version = version
            if self._wake is not None:
                self._wake_monitor(waker)
            self._reports.mended("courier")
            pause = schedule.pause(time.monotonic(), LOOK_SECONDS)

    def _deliver(self, conn: Connection, schedule: Schedule) -> None:
        rows = deliveries.owing(conn, fleet_id=self._fleet_id)
        due = schedule.due(rows, time.monotonic())
        if not due:
            return
        Pass(conn, now=self._now, report=self._reports.trouble).run(due)
        rows = deliveries.owing(conn, fleet_id=self._fleet_id)
        schedule.note(rows, due, time.monotonic())

    def _wake_monitor(self, waker: Waker) -> None:
        wake, self._wake = self._wake, None
        woken = waker.wake()
        if woken is not None:
            monitor_id, count = woken
            kind = "forced wake" if wake is Wake.FORCED else "wake"
            of = "1 member" if count == 1 else f"{count} members"
            self._reports.say(f"tick -> {kind} monitor {monitor_id} ({of})")
