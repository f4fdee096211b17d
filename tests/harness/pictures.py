"""Pictures of panes, taken by the tests themselves."""

from __future__ import annotations

from cafleet.screens import Picture
from tests.harness.tmux import TmuxServer

_FIELDS = ("pane_width", "pane_height", "cursor_x", "cursor_y", "pane_current_command")


def picture(server: TmuxServer, pane: str) -> Picture:
    """What ``pane`` shows now, without a tag and in no mode."""
    answer = server.ask(pane, ",".join(f"#{{{field}}}" for field in _FIELDS))
    *numbers, command = answer.split(",")
    columns, rows, cursor_x, cursor_y = map(int, numbers)
    return Picture(
        screen=server.run("capture-pane", "-e", "-p", "-t", pane),
        columns=columns,
        rows=rows,
        cursor_x=cursor_x,
        cursor_y=cursor_y,
        command=command,
        tag="",
        session="",
        window="",
    )
