"""A picture of a pane as a recording holds it, with what ran in the pane."""

from __future__ import annotations

import re
import subprocess
from typing import Any

from tests.agents.recording.actor import Actor

_SEPARATOR = "\x1f"
_FIELDS = (
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "cursor_flag",
    "pane_current_command",
    "pane_title",
    "pane_dead",
)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SESSION = re.compile(r"(?<=ses_)[0-9A-Za-z]{26}")


def shot(actor: Actor) -> dict[str, Any]:
    """What the pane shows at this instant, and who runs in it."""
    form = _SEPARATOR.join(f"#{{{field}}}" for field in _FIELDS)
    answer = actor.server.run(
        "display-message", "-p", "-t", actor.pane, form,
        ";", "capture-pane", "-p", "-e", "-t", actor.pane,
    )  # fmt: skip
    told, _, screen = answer.partition("\n")
    width, height, x, y, visible, command, title, dead = told.split(_SEPARATOR)
    return {
        "columns": int(width),
        "rows": int(height),
        "cursor": {"x": int(x), "y": int(y), "visible": visible == "1"},
        "command": command,
        "title": title,
        "dead": dead == "1",
        "processes": _processes(actor),
        "screen": screen.rstrip("\n"),
    }


def neutral(fields: dict[str, Any], home: str) -> dict[str, Any]:
    """The recording without the paths and ids of this machine and run, each as long as before.

    ``home`` has ten characters, as many as ``/home/user``.
    """
    return {name: _neutral(value, home) for name, value in fields.items()}


def _neutral(value: Any, home: str) -> Any:
    if isinstance(value, str):
        value = value.replace(home, "/home/user").replace(home.replace("/", "-"), "-home-user")
        value = _UUID.sub("01234567-89ab-cdef-0123-456789abcdef", value)
        return _SESSION.sub("0123456789abcdefABCDEFGHIJ", value)
    if isinstance(value, list):
        return [_neutral(each, home) for each in value]
    if isinstance(value, dict):
        return {name: _neutral(each, home) for name, each in value.items()}
    return value


def _processes(actor: Actor) -> list[dict[str, Any]]:
    """The processes on the pane's terminal, oldest first: how deep below the pane's own process,
    the names that the system and their command line give, whether they have the foreground."""
    tty = actor.server.ask(actor.pane, "#{pane_tty}").removeprefix("/dev/")
    answer = subprocess.run(
        ["ps", "-t", tty, "-o", "pid=,ppid=,pgid=,tpgid=,comm=,args=", "--sort=start_time"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    found: list[dict[str, Any]] = []
    depths: dict[str, int] = {}
    for line in answer.splitlines():
        pid, parent, group, foreground, name, *words = line.split(None, 5)
        depths[pid] = depths.get(parent, -1) + 1
        program = words[0].split(None, 1)[0].rpartition("/")[2] if words else ""
        shown = {"depth": depths[pid], "name": name, "program": program}
        found.append({**shown, "foreground": group == foreground})
    return found
