"""Pictures of panes: what is on the screen, whose it is, and whether it would take input."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.errors import MultiplexerError
from cafleet.panes.script import Reply, ask
from cafleet.panes.sgr import only_sgr
from cafleet.screens import Picture

TAG_OPTION = "@cafleet"

_NAMES = (
    "session_name",
    "window_id",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "pane_current_command",
    "pane_dead",
    "pane_in_mode",
    "pane_input_off",
    TAG_OPTION,
)


def take(socket: str, panes: Sequence[str]) -> dict[str, Picture | MultiplexerError]:
    """One picture of each pane, all from one call."""
    replies = ask(socket, panes, _NAMES, then=lambda pane: f"capture-pane -p -e -t '{pane}'")
    return {
        pane: _picture(reply) if isinstance(reply, Reply) else reply
        for pane, reply in replies.items()
    }


def _picture(reply: Reply) -> Picture:
    values = reply.values
    return Picture(
        screen=only_sgr(reply.printed.removesuffix("\n")),
        columns=int(values["pane_width"]),
        rows=int(values["pane_height"]),
        cursor_x=int(values["cursor_x"]),
        cursor_y=int(values["cursor_y"]),
        command=values["pane_current_command"],
        tag=values[TAG_OPTION],
        session=values["session_name"],
        window=values["window_id"],
        dead=values["pane_dead"] == "1",
        # More than one mode can be open on top of each other; tmux counts them.
        in_mode=values["pane_in_mode"] not in ("", "0"),
        input_off=values["pane_input_off"] == "1",
    )
