"""What tmux puts into the environment of a new pane."""

from __future__ import annotations

from cafleet.errors import MultiplexerError
from cafleet.panes.runner import run
from cafleet.panes.script import is_pane_id, pane_gone

_UNKNOWN = "unknown variable"


def variable(socket: str, pane: str, name: str) -> str | None:
    """See :meth:`cafleet.panes.interface.Multiplexer.variable`.

    A session's own variables come before the server's, and can take one away (tmux(1), GLOBAL AND
    SESSION ENVIRONMENT).
    """
    if not is_pane_id(pane):
        raise pane_gone(pane)
    for where in (["-t", pane], ["-g"]):
        answer = run(socket, ["show-environment", *where, name])
        if answer.status == 0:
            text = answer.out.removesuffix("\n")
            return None if text == f"-{name}" else text.removeprefix(f"{name}=")
        if "can't find" in answer.err:
            raise pane_gone(pane)
        if _UNKNOWN not in answer.err:
            raise MultiplexerError(f"tmux refused show-environment ({answer.err}); see its message")
    return None
