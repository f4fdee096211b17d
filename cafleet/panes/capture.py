"""The text of panes: the last lines that were drawn, scrollback included."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.errors import MultiplexerError, PaneGoneError
from cafleet.panes.script import Reply, ask
from cafleet.panes.sgr import RESET, attributes, is_blank, only_sgr

# Blank lines at the end are dropped after the reading, so more is read than is wanted.
_OVERREAD = 1000
_LARGEST_START = 2**31 - 1


def capture(
    socket: str, panes: Sequence[str], *, lines: int, ansi: bool
) -> dict[str, str | MultiplexerError]:
    """The last ``lines`` (≥ 1) drawn lines of each pane, all from one call."""
    start = min(lines + _OVERREAD, _LARGEST_START)
    escapes = "-e " if ansi else ""
    replies = ask(
        socket,
        panes,
        ("pane_dead",),
        then=lambda pane: f"capture-pane -p {escapes}-S -{start} -t '{pane}'",
    )
    return {pane: _content(pane, reply, lines) for pane, reply in replies.items()}


def _content(pane: str, reply: Reply | MultiplexerError, lines: int) -> str | MultiplexerError:
    if isinstance(reply, MultiplexerError):
        return reply
    if reply.values["pane_dead"] == "1":
        return PaneGoneError(f"the program in pane {pane} has ended; start it again")
    return last_drawn(reply.printed, lines)


def last_drawn(printed: str, count: int) -> str:
    """The last ``count`` lines of what ``capture-pane`` printed, blank ones at the end left out.

    tmux writes an attribute once and lets it stand over line ends. The lines that are kept begin
    with those that were set further up, and leave none set behind them.
    """
    rows = only_sgr(printed).split("\n")
    while rows and is_blank(rows[-1]):
        rows.pop()
    first = max(len(rows) - count, 0)
    kept = attributes("\n".join(rows[:first])) + "\n".join(rows[first:])
    return kept + RESET if attributes(kept) else kept
