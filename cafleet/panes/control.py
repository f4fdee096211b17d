"""Writing on a pane and closing it."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.errors import MultiplexerError, PaneGoneError
from cafleet.panes.identity import PaneTag
from cafleet.panes.pictures import TAG_OPTION
from cafleet.panes.runner import LIMIT, run
from cafleet.panes.script import is_pane_id, pane_gone

# How tmux words that a target is absent; set-option has a wording of its own.
_ABSENT = ("can't find pane", "no such pane")


def set_tag(socket: str, pane: str, tag: PaneTag | None) -> None:
    """See :meth:`cafleet.panes.interface.Multiplexer.set_tag`."""
    value = ["-u", TAG_OPTION] if tag is None else [TAG_OPTION, tag.text()]
    _command(socket, pane, ["set-option", "-p", "-t", pane, *value], LIMIT)


def kill(socket: str, pane: str, *, missing_ok: bool, limit: float = LIMIT) -> None:
    """See :meth:`cafleet.panes.interface.Multiplexer.kill`."""
    try:
        _command(socket, pane, ["kill-pane", "-t", pane], limit)
    except PaneGoneError:
        if not missing_ok:
            raise


def _command(socket: str, pane: str, words: Sequence[str], limit: float) -> None:
    # Anything but an id would be looked up as the name of a session or a window.
    if not is_pane_id(pane):
        raise pane_gone(pane)
    answer = run(socket, words, limit=limit)
    if any(sign in answer.err for sign in _ABSENT):
        raise pane_gone(pane)
    if answer.status:
        raise MultiplexerError(f"tmux refused {words[0]} ({answer.err}); see its message")
