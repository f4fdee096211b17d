"""All panes of a server: position, size and tag."""

from __future__ import annotations

from cafleet.errors import MultiplexerError
from cafleet.panes.identity import CREATING_OPTION, DIRECTOR_OPTION
from cafleet.panes.interface import Spot
from cafleet.panes.pictures import TAG_OPTION
from cafleet.panes.runner import LIMIT, run
from cafleet.panes.script import Marks

_NAMES = (
    "pane_id",
    "pane_index",
    "pane_width",
    "pane_height",
    "pane_active",
    "session_id",
    "session_name",
    "window_id",
    "window_active_clients",
    "window_width",
    "window_height",
    "window_zoomed_flag",
    "pane-border-status",
    TAG_OPTION,
    CREATING_OPTION,
    DIRECTOR_OPTION,
)


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
        columns=int(values["pane_width"]),
        height=int(values["pane_height"]),
        active=values["pane_active"] == "1",
        session_id=values["session_id"],
        session=values["session_name"],
        window=values["window_id"],
        shown=values["window_active_clients"] not in ("", "0"),
        width=int(values["window_width"]),
        room=int(values["window_height"]) - titled,
        zoomed=values["window_zoomed_flag"] == "1",
        tag=values[TAG_OPTION],
        creating=bool(values[CREATING_OPTION]),
        director=bool(values[DIRECTOR_OPTION]),
    )
