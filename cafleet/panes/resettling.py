"""Moving members' panes that have become too small into windows of the fleet's own.

A small terminal that attaches shrinks the windows that it shows, and so their panes.
Only the given panes are moved, out of windows that they share, and never back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from cafleet.errors import MultiplexerError, PaneLockedError
from cafleet.panes.interface import SMALLEST, Spot
from cafleet.panes.layout import (
    beside_main,
    tallest,
    tiled,
    tiles_are_enough,
    windows_of,
)
from cafleet.panes.locks import layout_lock, pane_lock
from cafleet.panes.runner import run
from cafleet.panes.survey import survey

_LOCK_SECONDS = 1.0


def resettle(
    socket: str, panes: Collection[str], small: Collection[str], *, fleet: str, name: str
) -> list[str]:
    """Move the panes of ``small`` that are still too small. Returns the moved ones.

    ``panes`` are all that may be moved, ``fleet`` is the beginning of the fleet's tags, and new windows get
    ``name``. The active pane of a window that a client shows stays where it is, and so do zoomed windows.

    Raises:
        MultiplexerError: the server cannot be reached.
    """
    moved: list[str] = []
    left = set(small)
    with layout_lock(socket, limit=_LOCK_SECONDS):
        while True:
            found = next_move(survey(socket), panes, left, fleet=fleet, name=name)
            if found is None:
                return moved
            pane, commands = found
            left.discard(pane)
            # Nobody may be typing into it: what shows that a text has arrived would be redrawn.
            with suppress(PaneLockedError), pane_lock(socket, pane, limit=0):
                answer = run(socket, *commands)
                if answer.status:
                    raise MultiplexerError(
                        f"tmux refused to move pane {pane} ({answer.err}); see its message"
                    )
                moved.append(pane)


def next_move(
    spots: Sequence[Spot],
    panes: Collection[str],
    small: Collection[str],
    *,
    fleet: str,
    name: str,
) -> tuple[str, list[tuple[str, ...]]] | None:
    """The next pane to move and the commands for it. ``None`` if no pane can and may be moved."""
    windows = windows_of(spots)
    # The last of a window first, so that the others keep their order.
    for spot in reversed(spots):
        here = windows[spot.window]
        if spot.pane not in small or not spot.is_small or len(here) == 1:
            continue
        if spot.zoomed or (spot.active and spot.shown):
            continue
        if spot.width < SMALLEST[0] or spot.room < SMALLEST[1]:
            # Not even a window of its own would be enough.
            continue
        rest = [each for each in here if each is not spot]
        return spot.pane, [*_away(spot, windows, panes, name), *_tidied(rest, panes, fleet)]
    return None


def _away(
    spot: Spot, windows: Mapping[str, Sequence[Spot]], panes: Collection[str], name: str
) -> list[tuple[str, ...]]:
    """Into a window of members that has room, else into a new one."""
    for window, there in windows.items():
        if window == spot.window or there[0].zoomed or any(p.pane not in panes for p in there):
            continue
        if tiles_are_enough(there, SMALLEST):
            target = tallest(there).pane
            return [("join-pane", "-d", "-v", "-s", spot.pane, "-t", target), tiled(window)]
    end = f"{spot.session_id}:{{end}}"
    return [("break-pane", "-d", "-a", "-n", name, "-s", spot.pane, "-t", end)]


def _tidied(rest: Sequence[Spot], panes: Collection[str], fleet: str) -> list[tuple[str, ...]]:
    """Divide the room among those that stay; a window with a person's pane in it is left alone."""
    if len(rest) < 2 or not all(each.tag.startswith(fleet) for each in rest):
        return []
    if rest[0].pane in panes:
        return [tiled(rest[0].window)]
    return [*beside_main(rest[0])]
