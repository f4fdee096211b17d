"""What the stand-in model is asked and what it answers, as data."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from typing import Any, Protocol

SHELL = "shell"
"""The tool that runs a ``command``, whatever an agent calls it."""


@dataclass(frozen=True)
class Asked:
    """A conversation as an agent sends it with every question.

    ``turns`` are the texts of its user, oldest first, none when this is no question of the
    conversation; ``results`` what tools have returned, and ``results_since`` how many of those came
    after the last turn.
    """

    turns: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    results_since: int = 0


@dataclass(frozen=True, kw_only=True)
class Say:
    """An answer in words, not ``until`` an event, where there is one.

    ``pause`` is the seconds between one word and the next, and ``thought`` what the model is said to
    have thought before, where the protocol has a place for it. ``tokens`` is what it says that the
    question was long, and ``headers`` are added to those of the answer.
    """

    text: str = "Understood."
    until: threading.Event | None = None
    pause: float = 0.0
    thought: str = ""
    tokens: int = 5
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def pieces(self) -> list[str]:
        """The text as it is streamed, in one piece if there is no pause."""
        return re.findall(r"\S+\s*", self.text) if self.pause else [self.text]


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a tool, by the agent's own name for it and its arguments, or of :data:`SHELL`."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Fail:
    """An error of the endpoint. Status 0 closes the connection without a word."""

    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)


Reply = Say | Call | Fail


class Conduct(Protocol):
    def answer(self, asked: Asked) -> Reply | None:
        """What is answered to a question; None if it is for another conduct to answer."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What is answered to a turn that holds ``about``: one step at once, and one to the result of
    each tool call. The answer after the last step is a plain one."""

    about: str
    steps: tuple[Reply, ...]

    def answer(self, asked: Asked) -> Reply | None:
        said = asked.turns[-1] if asked.turns else ""
        if self.about in said and asked.results_since < len(self.steps):
            return self.steps[asked.results_since]
        return None


def shell(command: str) -> Call:
    return Call(tool=SHELL, arguments={"command": command})
