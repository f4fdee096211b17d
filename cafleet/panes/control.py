"""Writing on a pane and closing it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from cafleet.errors import MultiplexerError, PaneGoneError
from cafleet.panes.identity import CREATING_OPTION, DIRECTOR_OPTION, PaneTag
from cafleet.panes.pictures import TAG_OPTION
from cafleet.panes.runner import LIMIT, run
from cafleet.panes.script import ask, is_pane_id, pane_gone

# The words of tmux for an absent target. set-option has words of its own.
_ABSENT = ("can't find pane", "no such pane")


def set_tag(socket: str, pane: str, tag: PaneTag | None, *, creating: bool, director: bool) -> None:
    """See :meth:`cafleet.panes.interface.Multiplexer.set_tag`."""
    option = ["set-option", "-p", "-t", pane]
    text = None if tag is None else tag.text()
    values = {
        # The tag is removed first and set last. So the other options never stand on a pane without it.
        TAG_OPTION: text,
        CREATING_OPTION: "on" if tag is not None and creating else None,
        DIRECTOR_OPTION: "on" if tag is not None and director else None,
    }
    commands = [
        [*option, "-u", name] if value is None else [*option, name, value]
        for name, value in values.items()
    ]
    _command(socket, pane, *(commands if tag is None else reversed(commands)))


def end_creation(socket: str, panes: Sequence[str]) -> None:
    """See :meth:`cafleet.panes.interface.Multiplexer.end_creation`."""
    for pane in panes:
        with suppress(PaneGoneError):
            _command(socket, pane, ["set-option", "-p", "-u", "-t", pane, CREATING_OPTION])


def kill(socket: str, pane: str, *, missing_ok: bool, limit: float = LIMIT) -> None:
    """See :meth:`cafleet.panes.interface.Multiplexer.kill`."""
    try:
        _command(socket, pane, ["kill-pane", "-t", pane], limit=limit)
    except PaneGoneError:
        if not missing_ok:
            raise


def server_pid(socket: str, pane: str) -> int:
    """See :meth:`cafleet.panes.interface.Multiplexer.server_pid`."""
    reply = ask(socket, [pane], ("pid",))[pane]
    if isinstance(reply, MultiplexerError):
        raise reply
    return int(reply.values["pid"])


def _command(socket: str, pane: str, *commands: Sequence[str], limit: float = LIMIT) -> None:
    # tmux would take anything but an id for the name of a session or window.
    if not is_pane_id(pane):
        raise pane_gone(pane)
    answer = run(socket, *commands, limit=limit)
    if any(sign in answer.err for sign in _ABSENT):
        raise pane_gone(pane)
    if answer.status:
        raise MultiplexerError(f"tmux refused {commands[0][0]} ({answer.err}); see its message")
