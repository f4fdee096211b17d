"""What the readers of all agents' session records return."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec


class Activity(StrEnum):
    """What the agent does by its own account."""

    WORKING = "working"
    WAITING = "waiting"
    IDLE = "idle"


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What one side said: ``at`` as the agent wrote it, ``tools`` one line for each tool call."""

    at: str
    role: Literal["user", "assistant"]
    text: str
    tools: tuple[str, ...] = ()


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation, as far as the end of its record shows it.

    ``submitted`` holds the texts that a person or CAFleet has submitted, oldest first, with those
    that still wait in the agent's queue. Tool results, summaries and texts of sub-agents are not
    among them. ``activity`` is null where the record does not tell.
    """

    session_id: str
    folder: str | None
    submitted: tuple[str, ...]
    turns: tuple[Turn, ...]
    activity: Activity | None


def as_text(value: object) -> str:
    """``value`` if it is text, else the empty string."""
    return value if isinstance(value, str) else ""


def as_dict(value: object) -> dict[str, object]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """``value`` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []
