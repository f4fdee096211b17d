"""When to look again at a pane that could not be typed into."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from cafleet.records import OwingPane

HELD_SECONDS = 1.0
HELD_LONG_SECONDS = 5.0
LONG_SECONDS = 60.0
UNREACHABLE_SECONDS = 30.0
# A call of a server that hangs takes seconds to give up, and until then has its answer as soon as
# the server goes on. One such call at a time is cheap, and misses little.
UNANSWERED_SECONDS = 1.0
# How often the servers of unreachable panes are asked whether they are others by now.
SERVER_SECONDS = 1.0


class _Waiting(msgspec.Struct, kw_only=True):
    place: tuple[str, str | None]
    since: float
    next_at: float = 0.0
    server: object = None
    unreachable: bool = False
    failed: bool = False


class Schedule:
    """Times are seconds of one monotonic clock, which the caller reads.

    ``server_at`` tells, by its socket, one server of a multiplexer from the next at the same place.
    """

    def __init__(self, server_at: Callable[[str | None], object]) -> None:
        self._server_at = server_at
        self._waiting: dict[int, _Waiting] = {}

    def due(self, rows: Sequence[OwingPane], now: float) -> list[OwingPane]:
        """Whom to serve now: those with something new, with a new pane or server, or whose time has
        come. Members without a row are forgotten."""
        owing = {row.member_id for row in rows}
        for member_id in self._waiting.keys() - owing:
            del self._waiting[member_id]
        return [row for row in rows if self._is_due(row, now)]

    def begin(self, row: OwingPane, now: float) -> None:
        """Remember where a member was when it was looked at; it may be elsewhere at the end."""
        place = (row.mux_pane_id, row.mux_socket)
        waiting = self._waiting.get(row.member_id)
        if waiting is None or waiting.place != place:
            waiting = _Waiting(place=place, since=now)
            self._waiting[row.member_id] = waiting
        waiting.server = self._server_at(row.mux_socket)

    def note(
        self,
        rows: Sequence[OwingPane],
        served: Collection[int],
        now: float,
        *,
        failed: Collection[int] = (),
        unanswered: Collection[int] = (),
    ) -> None:
        """Set the time of the next look at the members that were served and are still owed.

        Those where it ``failed`` have something new for as long as it fails, which is no reason to
        hurry. Where the server has ``unanswered`` calls, the panes may be well.
        """
        for row in rows:
            waiting = self._waiting.get(row.member_id)
            if waiting is None or row.member_id not in served:
                continue
            waiting.failed = row.member_id in failed
            waiting.unreachable = bool(row.unreachable)
            if row.member_id in unanswered:
                pause = UNANSWERED_SECONDS
            elif waiting.unreachable:
                pause = UNREACHABLE_SECONDS
            else:
                pause = HELD_SECONDS if now - waiting.since < LONG_SECONDS else HELD_LONG_SECONDS
            waiting.next_at = now + pause

    def pause(self, now: float, longest: float, *, busy: Collection[int] = ()) -> float:
        """Seconds until the next member that is not ``busy`` has to be asked for, ``longest`` at most."""
        times = [
            waiting.next_at - now
            for member_id, waiting in self._waiting.items()
            if member_id not in busy
        ]
        return max(0.0, min([longest, *times]))

    def has_unreachable(self) -> bool:
        return any(waiting.unreachable for waiting in self._waiting.values())

    def _is_due(self, row: OwingPane, now: float) -> bool:
        waiting = self._waiting.get(row.member_id)
        if waiting is None or waiting.place != (row.mux_pane_id, row.mux_socket):
            return True
        if (row.untried and not waiting.failed) or waiting.next_at <= now:
            return True
        return waiting.unreachable and waiting.server != self._server_at(row.mux_socket)
