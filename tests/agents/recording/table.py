"""The tables of scenes: what is done with which agent, and what its screen then means.

A table is one TOML file an agent. Its ``answers`` say what the stand-in model replies to a turn that
holds a word; each ``tour`` starts the agent once and plays its scenes one after the other. README.md
beside the recorded screens explains the fields.
"""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agents.script import Call, Fail, Reply, Rule, Say, shell

FOLDER = Path(__file__).parent
AGENTS = ("claude", "codex", "opencode")
SIZES = ("200x50", "200x25", "99x16", "60x12")
# What a table may write in place of the states that the judge may give.
EXPECTED = {
    # Keys go elsewhere than into an ordinary composer.
    "held": ("awaiting", "draft", "unknown"),
    "busy": ("awaiting", "draft", "unknown", "working"),
    "queued": ("draft", "working"),
}
_NEVER = threading.Event()


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One screen: the steps that lead to it, what it shows, what it means, the way back to rest."""

    name: str
    do: tuple[str, ...] = ()
    sees: str = ""
    expected: tuple[str, ...]
    undo: tuple[str, ...] = ()
    sizes: tuple[str, ...] = SIZES


@dataclass(frozen=True, kw_only=True)
class Tour:
    """One run of an agent. ``options`` are its own, ``launch`` stands in place of its whole command
    line, ``files`` are merged into those of its home, ``before`` are commands of the shell in its
    work folder, ``ready`` is what it shows when it has started."""

    agent: str
    name: str
    scenes: tuple[Scene, ...]
    rules: tuple[Rule, ...]
    options: tuple[str, ...] = ()
    launch: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    ready: str = ""
    sizes: tuple[str, ...] = SIZES
    term: str = "tmux-256color"


def tours(agent: str) -> Iterator[Tour]:
    """All tours of an agent, in the order of its table."""
    shared = _read(FOLDER / "answers.toml")["answers"]
    table = _read(FOLDER / f"{agent}.toml")
    for entry in table["tour"]:
        answers = {**shared, **table.get("answers", {}), **entry.get("answers", {})}
        rules = tuple(Rule(about=word, steps=_steps(steps)) for word, steps in answers.items())
        taken = ("scenes", "answers")
        entry = {"options": table.get("options", []), **entry}
        given = {name: _frozen(value) for name, value in entry.items() if name not in taken}
        ready = entry.get("ready", table["ready"])
        scenes = tuple(_scene(each) for each in entry["scenes"])
        yield Tour(**{**given, "agent": agent, "ready": ready, "scenes": scenes, "rules": rules})


def _scene(entry: Mapping[str, Any]) -> Scene:
    given = {name: _frozen(value) for name, value in entry.items()}
    expected = entry["expected"]
    if isinstance(expected, str):
        given["expected"] = EXPECTED.get(expected, (expected,))
    return Scene(**given)


def _steps(steps: list[dict[str, Any]]) -> tuple[Reply, ...]:
    return tuple(_reply(step) for step in steps)


def _reply(step: dict[str, Any]) -> Reply:
    match step:
        case {"hang": True}:
            return Say(until=_NEVER)
        case {"shell": command}:
            return shell(command)
        case {"tool": tool}:
            return Call(tool=tool, arguments=step.get("arguments", {}))
        case {"status": _}:
            return Fail(**step)
    said = {name: value for name, value in step.items() if name != "times"}
    return Say(**{**said, "text": step["text"] * step.get("times", 1)})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))
