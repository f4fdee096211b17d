"""The last lines of panes, with their scrollback. Dead panes can be read, too."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.errors import MultiplexerError
from cafleet.panes.script import Reply, ask
from cafleet.panes.sgr import RESET, attributes, is_blank, only_sgr

# Blank lines at the end are dropped after the reading, so more is read than is wanted.
_OVERREAD = 1000
_LARGEST_START = 2**31 - 1


def capture(
    socket: str, panes: Sequence[str], *, lines: int, ansi: bool
) -> dict[str, str | MultiplexerError]:
    """Read the last ``lines`` (≥ 1) drawn lines of each pane in one call."""
    start = min(lines + _OVERREAD, _LARGEST_START)
    escapes = "-e " if ansi else ""
    replies = ask(
        socket,
        panes,
        ("pane_dead", "pane_height", "history_size"),
        then=lambda pane: f"capture-pane -p {escapes}-S -{start} -t '{pane}'",
    )
    return {
        pane: _content(reply, lines, start) if isinstance(reply, Reply) else reply
        for pane, reply in replies.items()
    }


def _content(reply: Reply, lines: int, start: int) -> str:
    values = reply.values
    if values["pane_dead"] == "1":
        return last_drawn(reply.printed, lines, dead=True)
    drawn = int(values["pane_height"]) + min(start, int(values["history_size"]))
    # A hook of the user's may print lines after the drawn rows.
    return last_drawn("\n".join(reply.printed.split("\n")[:drawn]), lines)


def last_drawn(printed: str, count: int, *, dead: bool = False) -> str:
    """Return the last ``count`` lines that ``capture-pane`` printed, without blank lines at the end.

    At the foot of a ``dead`` pane tmux tells that it is: what the program said may be far above.

    tmux writes an attribute once and lets it stand over line ends. The lines that are kept begin
    with those that were set further up, and leave none set behind them.
    """
    rows = _without_blanks(only_sgr(printed).split("\n"))
    if dead and rows:
        rows = [*_without_blanks(rows[:-1]), rows[-1]]
    first = max(len(rows) - count, 0)
    kept = attributes("\n".join(rows[:first])) + "\n".join(rows[first:])
    return kept + RESET if attributes(kept) else kept


def _without_blanks(rows: list[str]) -> list[str]:
    """The rows up to the last one with something on it."""
    count = len(rows)
    while count and is_blank(rows[count - 1]):
        count -= 1
    return rows[:count]
