"""Pictures of panes: the screen, the tag, and whether the pane takes input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cafleet.errors import MultiplexerError
from cafleet.panes.processes import Terminal, in_foreground
from cafleet.panes.script import Reply, ask
from cafleet.panes.sgr import only_sgr
from cafleet.screens import Picture, Process

TAG_OPTION = "@cafleet"
PASTE_OPTION = "@cafleet_paste"

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
    "pane_title",
    "pane_pid",
    "pane_tty",
    "pid",
    TAG_OPTION,
    PASTE_OPTION,
)


def take(socket: str, panes: Sequence[str]) -> dict[str, Picture | MultiplexerError]:
    """Take a picture of each pane, all in one call."""
    replies = ask(socket, panes, _NAMES, then=lambda pane: f"capture-pane -p -e -t '{pane}'")
    taken = {pane: reply for pane, reply in replies.items() if isinstance(reply, Reply)}
    seen = in_foreground([_terminal(reply.values) for reply in taken.values()])
    pictures = {
        pane: _picture(reply, foreground)
        for (pane, reply), foreground in zip(taken.items(), seen, strict=True)
    }
    return {
        pane: reply if isinstance(reply, MultiplexerError) else pictures[pane]
        for pane, reply in replies.items()
    }


def _terminal(values: Mapping[str, str]) -> Terminal:
    return Terminal(
        device=values["pane_tty"], pid=_number(values["pane_pid"]), parent=_number(values["pid"])
    )


def _number(text: str) -> int:
    """A process id, or 0 if there is none, for instance in a dead pane."""
    return int(text) if text.isdecimal() else 0


def _picture(reply: Reply, foreground: tuple[Process, ...] | None) -> Picture:
    values = reply.values
    rows = int(values["pane_height"])
    # tmux prints each row of the screen. A hook of the user's may print lines after them.
    screen = "\n".join(reply.printed.removesuffix("\n").split("\n")[:rows])
    return Picture(
        screen=only_sgr(screen),
        columns=int(values["pane_width"]),
        rows=rows,
        cursor_x=int(values["cursor_x"]),
        cursor_y=int(values["cursor_y"]),
        command=values["pane_current_command"],
        tag=values[TAG_OPTION],
        session=values["session_name"],
        window=values["window_id"],
        dead=values["pane_dead"] == "1",
        # tmux counts its modes: one can be open on top of another.
        in_mode=values["pane_in_mode"] not in ("", "0"),
        input_off=values["pane_input_off"] == "1",
        pid=_number(values["pane_pid"]),
        title=values["pane_title"],
        foreground=foreground,
        last_paste=values[PASTE_OPTION],
    )
