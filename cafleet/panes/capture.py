"""The text of panes: the last lines that were drawn, scrollback included."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cafleet.errors import MultiplexerError, PaneGoneError
from cafleet.panes.script import Reply, ask

# Blank lines at the end are dropped after the reading, so more is read than is wanted.
_OVERREAD = 1000
_LARGEST_START = 2**31 - 1

# What `capture-pane -e` writes besides text: SGR; in later versions also hyperlinks (OSC 8); and
# the shifts to and from the line drawing characters.
_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_ESCAPES = re.compile(r"\x1b\[[0-9;:]*m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x0e\x0f]")
_RESET = "\x1b[0m"


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
    rows = printed.split("\n")
    while rows and not _ESCAPES.sub("", rows[-1]).strip():
        rows.pop()
    first = max(len(rows) - count, 0)
    kept = _attributes("\n".join(rows[:first])) + "\n".join(rows[first:])
    return kept + _RESET if _attributes(kept) else kept


def _attributes(text: str) -> str:
    """The SGR sequences that hold at the end of ``text``, at most one for each kind of colour."""
    held: dict[str, str] = {}
    for match in _SGR.finditer(text):
        codes = match[1]
        if codes in ("", "0"):
            held.clear()
            continue
        kind = _kind(codes)
        held.pop(kind, None)
        if codes not in ("39", "49", "59"):
            held[kind] = match[0]
    return "".join(held.values())


def _kind(codes: str) -> str:
    first = re.split("[;:]", codes, maxsplit=1)[0]
    if re.fullmatch("3[0-9]|9[0-7]", first):
        return "foreground"
    if re.fullmatch("4[0-9]|10[0-7]", first):
        return "background"
    return "underline" if first in ("58", "59") else codes
