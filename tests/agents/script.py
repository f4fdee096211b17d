"""What the stand-in model answers, as data."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

SHELL = "shell"
"""The tool that runs a ``command``, whatever an agent calls it."""


@dataclass(frozen=True, kw_only=True)
class Say:
    """An answer in words, not ``until`` an event, where there is one."""

    text: str = "Understood."
    until: threading.Event | None = None


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a tool, by the agent's own name for it and its arguments, or of :data:`SHELL`."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


Reply = Say | Call


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What is answered to a turn that holds ``about``: one step at once, and one to the result of
    each tool call. The answer after the last step is a plain one."""

    about: str
    steps: tuple[Reply, ...]


def shell(command: str) -> Call:
    return Call(tool=SHELL, arguments={"command": command})
