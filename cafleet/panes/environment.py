"""What tmux puts into the environment of a new pane."""

from __future__ import annotations

from cafleet.errors import MultiplexerError
from cafleet.panes.script import ask


def variable(socket: str, pane: str, name: str) -> str | None:
    """See :meth:`cafleet.panes.interface.Multiplexer.variable`.

    tmux expands a format that is not its own variable from the environment. The session's variables
    override the server's, and can remove one (tmux(1), GLOBAL AND SESSION ENVIRONMENT).
    """
    reply = ask(socket, [pane], [name])[pane]
    if isinstance(reply, MultiplexerError):
        raise reply
    return reply.values[name] or None
