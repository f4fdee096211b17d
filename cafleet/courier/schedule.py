"""When to look again at a pane that could not be typed into."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cafleet.store.rows import OwingRow

HELD_SECONDS = 1.0
HELD_LONG_SECONDS = 5.0
LONG_SECONDS = 60.0
UNREACHABLE_SECONDS = 30.0


class _Waiting(msgspec.Struct, kw_only=True):
    place: tuple[str, str | None]
    since: float
    next_at: float


class Schedule:
    """Times are seconds of one monotonic clock, which the caller reads."""

    def __init__(self) -> None:
        self._waiting: dict[int, _Waiting] = {}

    def due(self, rows: Sequence[OwingRow], now: float) -> list[int]:
        """The members to serve now: those with something new, with a new pane, or whose time has come."""
        owing = {row.member_id for row in rows}
        for member_id in self._waiting.keys() - owing:
            del self._waiting[member_id]
        return [row.member_id for row in rows if self._is_due(row, now)]

    def note(self, rows: Sequence[OwingRow], served: Sequence[int], now: float) -> None:
        """Set the time of the next look at the members that were served and are still owed."""
        for row in rows:
            if row.member_id not in served:
                continue
            place = (row.mux_pane_id, row.mux_socket)
            waiting = self._waiting.get(row.member_id)
            if waiting is None or waiting.place != place:
                waiting = _Waiting(place=place, since=now, next_at=now)
                self._waiting[row.member_id] = waiting
            if row.unreachable:
                pause = UNREACHABLE_SECONDS
            else:
                pause = HELD_SECONDS if now - waiting.since < LONG_SECONDS else HELD_LONG_SECONDS
            waiting.next_at = now + pause

    def pause(self, now: float, longest: float) -> float:
        """Seconds until the next member is due, ``longest`` at most."""
        times = [waiting.next_at - now for waiting in self._waiting.values()]
        return max(0.0, min([longest, *times]))

    def _is_due(self, row: OwingRow, now: float) -> bool:
        waiting = self._waiting.get(row.member_id)
        if row.untried or waiting is None:
            return True
        return waiting.place != (row.mux_pane_id, row.mux_socket) or waiting.next_at <= now
