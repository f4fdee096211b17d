"""All panes of a server: where each one is, how large, and what tag it carries."""

from __future__ import annotations

import msgspec

from cafleet.errors import MultiplexerError
from cafleet.panes.pictures import TAG_OPTION
from cafleet.panes.runner import LIMIT, run
from cafleet.panes.script import Marks

_NAMES = (
    "pane_id",
    "pane_index",
    "pane_height",
    "session_id",
    "window_id",
    "window_width",
    "window_height",
    "window_zoomed_flag",
    "pane-border-status",
    TAG_OPTION,
)


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """A pane and its window; ``index`` is its number in there. Sizes are in cells, ``room`` is without
    the rows of the panes' titles."""

    pane: str
    index: int
    height: int
    session_id: str
    window: str
    width: int
    room: int
    zoomed: bool
    tag: str


def survey(socket: str, *, limit: float = LIMIT) -> list[Spot]:
    """Each pane once, those of a window in the order of their layout.

    Raises:
        MultiplexerError: the server cannot be reached.
    """
    marks = Marks.draw()
    answer = run(socket, ["list-panes", "-a", "-F", marks.format(_NAMES)], limit=limit)
    if answer.status:
        raise MultiplexerError(f"tmux refused to list its panes ({answer.err}); see its log")
    # A window that is linked into several sessions is listed for each of them.
    spots: dict[str, Spot] = {}
    for record in marks.records(answer.out):
        spot = _spot(dict(zip(_NAMES, record, strict=False)))
        spots.setdefault(spot.pane, spot)
    return list(spots.values())


def _spot(values: dict[str, str]) -> Spot:
    titled = values["pane-border-status"] in ("top", "bottom")
    return Spot(
        pane=values["pane_id"],
        index=int(values["pane_index"]),
        height=int(values["pane_height"]),
        session_id=values["session_id"],
        window=values["window_id"],
        width=int(values["window_width"]),
        room=int(values["window_height"]) - titled,
        zoomed=values["window_zoomed_flag"] == "1",
        tag=values[TAG_OPTION],
    )
