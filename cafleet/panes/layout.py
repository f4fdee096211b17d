"""Choose where a new pane goes: beside the Director, else into a window of the fleet's own.

Only windows whose panes all belong to the fleet are divided and arranged. A window with a pane of
the user's, or a zoomed one, stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cafleet.panes.interface import Spot
from cafleet.panes.script import pane_gone

# The size that a member's pane should have (columns, rows).
COMFORTABLE = (80, 15)


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """The command that opens the pane, its target, where the pane is right after it (a target as
    well), and the commands that then arrange the window."""

    command: tuple[str, ...]
    target: str
    opened: str
    arrangement: tuple[tuple[str, ...], ...] = ()


def choose(spots: Sequence[Spot], beside: str, *, fleet: str, name: str) -> Position:
    """Choose the position of a fleet's next pane. ``fleet`` is the beginning of the fleet's tags.

    A new window gets ``name``.

    Raises:
        PaneGoneError: ``beside`` is no pane of the server.
    """
    here = next((spot for spot in spots if spot.pane == beside), None)
    if here is None:
        raise pane_gone(beside)
    windows = windows_of(spots)
    if _is_ours(windows[here.window], fleet, here) and _half_is_enough(windows[here.window]):
        return _beside_main(windows[here.window])
    for window, panes in windows.items():
        if (
            window != here.window
            and _is_ours(panes, fleet)
            and tiles_are_enough(panes, COMFORTABLE)
        ):
            return _divide("-v", tallest(panes), arrangement=(tiled(window),))
    return _at_the_end(here, name)


def alone(spots: Sequence[Spot], session: str, *, name: str) -> Position:
    """A window of its own, called ``name``, in the ``session`` if it is there, else in the first one."""
    return _at_the_end(next((spot for spot in spots if spot.session == session), spots[0]), name)


def _at_the_end(here: Spot, name: str) -> Position:
    end = f"{here.session_id}:{{end}}"
    return Position(command=("new-window", "-a", "-n", name), target=end, opened=end)


def _divide(direction: str, spot: Spot, *, arrangement: tuple[tuple[str, ...], ...]) -> Position:
    return Position(
        command=("split-window", direction),
        target=spot.pane,
        opened=f"{spot.window}.{spot.index + 1}",
        arrangement=arrangement,
    )


def _is_ours(panes: Sequence[Spot], fleet: str, main: Spot | None = None) -> bool:
    """Whether the fleet may arrange the window.

    The ``main`` pane, if one is given, has to stand first, where ``main-vertical`` expects it. It
    may be untagged: a caller's pane that takes the place of a Director's that is gone.
    """
    if panes[0].zoomed or main not in (None, panes[0]):
        return False
    return all(p.tag.startswith(fleet) or (p is main and not p.tag) for p in panes)


def _half_is_enough(panes: Sequence[Spot]) -> bool:
    window, members = panes[0], len(panes)
    half = window.width // 2
    # One column is the border between the halves, and one row the border between two members.
    narrower = min(half, window.width - half - 1)
    lowest = (window.room - (members - 1)) // members
    return narrower >= COMFORTABLE[0] and lowest >= COMFORTABLE[1]


def windows_of(spots: Sequence[Spot]) -> dict[str, list[Spot]]:
    """The panes by window, each window's in the order of its layout."""
    windows: dict[str, list[Spot]] = {}
    for spot in spots:
        windows.setdefault(spot.window, []).append(spot)
    return windows


def tiled(window: str) -> tuple[str, ...]:
    """The command that makes all panes of a window about equally large."""
    return ("select-layout", "-t", window, "tiled")


def beside_main(main: Spot) -> tuple[tuple[str, ...], ...]:
    """The commands that give the first pane half of its window and share the rest among the others."""
    return (
        ("select-layout", "-t", main.window, "main-vertical"),
        # Not the window's option main-pane-width, which is the user's.
        ("resize-pane", "-t", main.pane, "-x", str(main.width // 2)),
    )


def tiles_are_enough(panes: Sequence[Spot], size: tuple[int, int]) -> bool:
    """Whether each pane keeps ``size`` (columns, rows) when one more joins their window.

    The rule is that of tmux's layout ``tiled`` (layout_set_tiled).
    """
    window, wanted = panes[0], len(panes) + 1
    rows = columns = 1
    while rows * columns < wanted:
        rows += 1
        if rows * columns < wanted:
            columns += 1
    width = (window.width - (columns - 1)) // columns
    height = (window.room - (rows - 1)) // rows
    return width >= size[0] and height >= size[1]


def _beside_main(panes: Sequence[Spot]) -> Position:
    main, members = panes[0], panes[1:]
    arrangement = beside_main(main)
    if not members:
        return _divide("-h", main, arrangement=arrangement)
    return _divide("-v", tallest(members), arrangement=arrangement)


def tallest(panes: Sequence[Spot]) -> Spot:
    """The tallest pane. Of equally tall ones it is the last, which keeps the order."""
    return max(reversed(panes), key=lambda spot: spot.height)
