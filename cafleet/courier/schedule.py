"""When to look again at a pane that could not be typed into."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from cafleet.records import OwingPane

HELD_SECONDS = 1.0
HELD_LONG_SECONDS = 5.0
LONG_SECONDS = 60.0
UNREACHABLE_SECONDS = 30.0
# A call to a server that hangs gives up after seconds, and has its answer as soon as the server goes on.
# One such call at a time is cheap and misses little.
UNANSWERED_SECONDS = 1.0
# How often we check whether the servers of unreachable panes were replaced.
SERVER_SECONDS = 1.0


class _Waiting(msgspec.Struct, kw_only=True):
    place: tuple[str, str | None]
    since: float
    next_at: float = 0.0
    server: object = None
    unreachable: bool = False
    failed: bool = False


class Schedule:
    """All times are seconds of one monotonic clock, which the caller reads.

    ``server_at`` identifies the server at a socket, so that a restarted one is noticed.
    """

    def __init__(self, server_at: Callable[[str | None], object]) -> None:
        self._server_at = server_at
        self._waiting: dict[int, _Waiting] = {}

    def due(self, rows: Sequence[OwingPane], now: float) -> list[OwingPane]:
        """The members to serve now: something is new, pane or server has changed, or their time has come.
        Members without a row are forgotten."""
        owing = {row.member_id for row in rows}
        for member_id in self._waiting.keys() - owing:
            del self._waiting[member_id]
        return [row for row in rows if self._is_due(row, now)]

    def begin(self, row: OwingPane, now: float) -> None:
        """Remember the pane of a member that is looked at. It may be in another one at the end."""
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
        """Set the time of the next look at members that were served and are still owed something.

        Where serving has ``failed``, news stays news, which is no reason to hurry. Where the server left
        calls ``unanswered``, the panes may be well.
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
        """The seconds until a member that is not ``busy`` is due, at most ``longest``."""
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
