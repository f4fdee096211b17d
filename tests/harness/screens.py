"""The recorded screens of the real agents, and what each of them shows."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from cafleet.records import CodingAgent
from cafleet.screens import Picture, Process

FOLDER = Path(__file__).parents[1] / "screens"
# By the beginning of what had been done, where a recording does not say it itself; the longest that
# fits holds. Claude Code and Codex draw their whole composer at once; opencode had drawn nothing yet.
_EXPECTED = {
    "shell": {"shell"},
    "starting": {"rest", "unknown"},
    "working": {"working"},
    "working-draft": {"working", "draft"},
    "draft": {"draft"},
    "menu": {"draft"},
    "awaiting": {"awaiting"},
    "after-escape": {"rest"},
    "rest": {"rest"},
    "help": {"rest"},
    "palette": {"unknown"},
}


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded screen. ``done`` is what had been done, ``expected`` the states that fit that.

    ``picture`` is without the title and the processes, which older recordings lack: the screen alone
    has to tell."""

    name: str
    agent: CodingAgent
    version: str
    done: str
    picture: Picture
    expected: frozenset[str]
    title: str
    foreground: tuple[Process, ...]

    @property
    def is_rest(self) -> bool:
        return self.expected == {"rest"}

    @property
    def may_be_shell(self) -> bool:
        return "shell" in self.expected

    @property
    def may_rest(self) -> bool:
        return "rest" in self.expected


@cache
def recordings() -> tuple[Recording, ...]:
    """All of them, by name."""
    return tuple(_recording(path) for path in sorted(FOLDER.rglob("*.json")))


def recording(name: str) -> Recording:
    """The one whose file is called so, without its ending."""
    return next(each for each in recordings() if each.name == name)


def _recording(path: Path) -> Recording:
    fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    foreground = tuple(
        Process(pid=at, name=each["name"], words=(each["program"],))
        for at, each in enumerate(fields.get("processes", []))
        if each["foreground"]
    )
    command = "bash" if fields["state"] == "shell" else fields.get("command", fields["agent"])
    picture = Picture(
        screen=fields["screen"],
        columns=fields["columns"],
        rows=fields["rows"],
        cursor_x=fields["cursor"]["x"],
        cursor_y=fields["cursor"]["y"],
        command=command,
        tag="",
        session="$0",
        window="@0",
        # A shell around an agent is told from one in its place by what it runs.
        foreground=foreground if command in {"bash", "dash", "sh"} else (),
    )
    return Recording(
        name=path.stem,
        agent=CodingAgent(fields["agent"]),
        version=fields["version"],
        done=fields["state"],
        picture=picture,
        expected=_expected(fields),
        title=fields.get("title", ""),
        foreground=foreground,
    )


def _expected(fields: dict[str, Any]) -> frozenset[str]:
    if "expected" in fields:
        said = fields["expected"]
        return frozenset([said] if isinstance(said, str) else said)
    done = fields["state"]
    return frozenset(_EXPECTED[max((name for name in _EXPECTED if done.startswith(name)), key=len)])
