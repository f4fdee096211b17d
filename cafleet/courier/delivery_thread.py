"""The part of a courier that touches panes. It has threads of its own, so that no pane delays the
heartbeat."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from queue import SimpleQueue

from cafleet import clock
from cafleet.broker import deliveries, monitor
from cafleet.broker.monitor import Claim, Wake
from cafleet.courier.delivery_pass import Ending, Pass
from cafleet.courier.reports import Reports
from cafleet.courier.resettling import Resettler
from cafleet.courier.schedule import SERVER_SECONDS, Schedule
from cafleet.courier.session_notes import SessionNotes
from cafleet.courier.session_witness import SessionWitness
from cafleet.courier.shutdown import Shutdown, ShutdownError
from cafleet.courier.waking import Waker
from cafleet.errors import CafleetError
from cafleet.records import OwingPane
from cafleet.store import Connection
from cafleet.store.guard import open_database

# How often the thread looks at the passes that run. Members that are done at about the same time are
# then served together, with as few calls as one of them.
_LOOK_SECONDS = 0.25
# The shortest sleep between two looks, however much is due.
_SHORTEST_PAUSE = 0.05
_LONGEST_PAUSE = 60.0
_AFTER_TROUBLE_SECONDS = 1.0


class DeliveryThread(threading.Thread):
    """Delivers what is owed in one fleet and wakes its monitor, until it is told to stop.

    It sleeps until there is news or a member is due. A pass, in a thread of its own, serves the due
    members of one server and finishes each as soon as it can. So a slow pane or server delays no other
    member. What fails is reported and tried again. The thread ends only on request.
    """

    def __init__(
        self,
        database: str,
        claim: Claim,
        reports: Reports,
        *,
        now: Callable[[], datetime] = clock.utc_now,
    ) -> None:
        super().__init__(name=f"courier-{claim.fleet_id}", daemon=True)
        self._database = database
        self._claim = claim
        self._reports = reports
        self._now = now
        self._halt = Shutdown()
        self._stopping = threading.Event()
        self._news = threading.Event()
        self._wake_wanted = False
        self._waking: threading.Thread | None = None
        self._witness = SessionWitness()
        self._waker = Waker(
            fleet_id=claim.fleet_id,
            reports=reports,
            now=now,
            halt=self._halt,
            witness=self._witness,
        )
        self._resettler = Resettler(claim.fleet_id)
        self._resettling: threading.Thread | None = None
        self._session_notes = SessionNotes(claim.fleet_id)
        self._noting: threading.Thread | None = None
        self._busy: set[int] = set()
        self._ended: SimpleQueue[tuple[int, Ending]] = SimpleQueue()
        self._schedule = Schedule(_server_at)
        self._servers_at = 0.0

    def tell_news(self) -> None:
        """The database has changed."""
        self._news.set()

    def ask_for_wake(self) -> None:
        """Wake the monitor as soon as panes can be touched, if a wake is still due then."""
        self._wake_wanted = True
        self._news.set()

    def stop(self, seconds: float) -> None:
        """Begin nothing more, and wait at most so many seconds for what is being typed."""
        self._stopping.set()
        self._news.set()
        self._halt.end(seconds)

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                with closing(open_database(self._database)) as conn:
                    self._begin(self._owing(conn))
                    self._serve(conn)
            except CafleetError as error:
                self._reports.trouble("courier", f"the courier cannot go on: {error}")
                self._stopping.wait(_AFTER_TROUBLE_SECONDS)

    def _serve(self, conn: Connection) -> None:
        while not self._stopping.is_set():
            news = self._news.wait(self._pause())
            self._news.clear()
            if self._stopping.is_set():
                return
            endings = self._collect()
            self._wake_monitor()
            if news or endings or self._is_due():
                rows = self._owing(conn)
                self._note(rows, endings)
                self._begin(rows)
                self._resettle(waited_for=bool(rows) or _is_alive(self._waking))
            self._note_sessions()
            self._reports.mended("courier")

    def _pause(self) -> float:
        """The seconds until something is due, if there is no news before."""
        longest = _LONGEST_PAUSE
        if self._busy:
            longest = _LOOK_SECONDS
        elif self._schedule.has_unreachable():
            longest = SERVER_SECONDS
        pause = self._schedule.pause(time.monotonic(), longest, busy=self._busy)
        return max(_SHORTEST_PAUSE, pause)

    def _is_due(self) -> bool:
        now = time.monotonic()
        if self._schedule.has_unreachable() and now >= self._servers_at:
            self._servers_at = now + SERVER_SECONDS
            return True
        return self._schedule.pause(now, _LONGEST_PAUSE, busy=self._busy) <= 0

    def _owing(self, conn: Connection) -> Sequence[OwingPane]:
        return deliveries.owing(conn, fleet_id=self._claim.fleet_id)

    def _begin(self, rows: Sequence[OwingPane]) -> None:
        """Start a pass for each server with due members.

        Members with an earlier text in their pane get a pass of their own, since settling may take seconds.
        """
        now = time.monotonic()
        passes: dict[tuple[str | None, bool], list[OwingPane]] = {}
        for row in self._schedule.due(rows, now):
            if row.member_id not in self._busy:
                self._schedule.begin(row, now)
                left = bool(row.typed or row.unsure)
                passes.setdefault((row.mux_socket, left), []).append(row)
        for here in passes.values():
            self._busy.update(row.member_id for row in here)
            threading.Thread(target=self._deliver, args=(here,), daemon=True).start()

    def _deliver(self, owing: Sequence[OwingPane]) -> None:
        left = {row.member_id for row in owing}

        def ended(member_id: int, ending: Ending) -> None:
            left.discard(member_id)
            self._ended.put((member_id, ending))

        def work(conn: Connection) -> None:
            report = self._reports.trouble
            Pass(
                conn,
                now=self._now,
                halt=self._halt,
                report=report,
                ended=ended,
                witness=self._witness,
            ).run(owing)

        try:
            self._attempt("delivery", work)
        finally:
            for member_id in list(left):
                ended(member_id, Ending.FAILED)

    def _collect(self) -> dict[int, Ending]:
        """The members that passes have finished, and how each ended."""
        endings: dict[int, Ending] = {}
        while not self._ended.empty():
            member_id, ending = self._ended.get()
            endings[member_id] = ending
        self._busy -= endings.keys()
        if Ending.UNANSWERED in endings.values():
            self._reports.trouble(
                "multiplexer", "the multiplexer does not answer; what is owed there waits for it"
            )
        elif Ending.SERVED in endings.values():
            self._reports.mended("multiplexer")
        return endings

    def _note(self, rows: Sequence[OwingPane], endings: Mapping[int, Ending]) -> None:
        """Note what is still owed to the members that passes have finished."""
        self._schedule.note(
            rows,
            endings.keys(),
            time.monotonic(),
            failed=[each for each, ending in endings.items() if ending is Ending.FAILED],
            unanswered=[each for each, ending in endings.items() if ending is Ending.UNANSWERED],
        )

    def _wake_monitor(self) -> None:
        if self._wake_wanted and not _is_alive(self._waking):
            self._wake_wanted = False
            work = ("wake of the monitor", self._wake)
            self._waking = threading.Thread(target=self._attempt, args=work, daemon=True)
            self._waking.start()

    def _resettle(self, *, waited_for: bool) -> None:
        """Move panes that are too small to be typed into."""
        if waited_for and self._resettler.is_due() and not _is_alive(self._resettling):
            work = ("resettling of panes", self._resettler.look)
            self._resettling = threading.Thread(target=self._attempt, args=work, daemon=True)
            self._resettling.start()

    def _note_sessions(self) -> None:
        if self._session_notes.is_due() and not _is_alive(self._noting):
            work = ("noting of sessions", self._session_notes.look)
            self._noting = threading.Thread(target=self._attempt, args=work, daemon=True)
            self._noting.start()

    def _wake(self, conn: Connection) -> None:
        row = monitor.runtime(conn, fleet_id=self._claim.fleet_id)
        # A wake may have gone out since this one was asked for, or another courier have taken over.
        if row is None or not self._claim.holds(row):
            return
        wake = monitor.wake_due(row, now=self._now())
        woken = None if wake is None else self._waker.wake(conn)
        if woken is not None:
            monitor_id, count = woken
            kind = "forced wake" if wake is Wake.FORCED else "wake"
            of = "1 member" if count == 1 else f"{count} members"
            self._reports.say(f"tick -> {kind} monitor {monitor_id} ({of})")

    def _attempt(self, subject: str, work: Callable[[Connection], None]) -> None:
        """Do work on panes with a connection of its own. Report what stops it."""
        try:
            with closing(open_database(self._database)) as conn:
                work(conn)
        except ShutdownError:
            return
        except CafleetError as error:
            self._reports.trouble(subject, f"{subject} failed and is tried again: {error}")
        else:
            self._reports.mended(subject)


def _is_alive(thread: threading.Thread | None) -> bool:
    return thread is not None and thread.is_alive()


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
