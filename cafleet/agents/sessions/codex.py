"""Codex: a rollout file of JSON lines for each session, and a history of submitted texts."""

from __future__ import annotations

import glob
import os
import re

from cafleet.agents.sessions.json_lines import head, tail
from cafleet.agents.sessions.record import (
    Activity,
    Session,
    Turn,
    as_dict,
    as_list,
    as_text,
)

_SESSION_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_ROLLOUTS = os.path.join("sessions", "*", "*", "*", "rollout-*.jsonl")
_MOST_RECORDS = 200
_ENDS = frozenset({"task_complete", "turn_aborted"})


def of_process(pid: int) -> str | None:
    """The rollout that the process ``pid`` holds open, or ``None``.

    Linux tells it below ``/proc``. Two open rollouts are none: nobody knows which one is shown.
    """
    folder = f"/proc/{pid}/fd"
    found = set()
    try:
        for name in os.listdir(folder):
            try:
                path = os.readlink(os.path.join(folder, name))
            except OSError:
                continue
            if os.path.basename(path).startswith("rollout-") and path.endswith(".jsonl"):
                found.add(path)
    except OSError:
        return None
    return found.pop() if len(found) == 1 else None


def find_record(base: str, session_id: str) -> str | None:
    """The rollout of a session below the configuration folder ``base``."""
    if not _SESSION_ID.fullmatch(session_id):
        return None
    found = glob.glob(os.path.join(glob.escape(base), _ROLLOUTS[:-6] + f"{session_id}.jsonl"))
    return found[0] if len(found) == 1 else None


def newest_records(base: str) -> list[str]:
    """The newest rollouts, newest first: their names begin with the time of their start."""
    found = glob.glob(os.path.join(glob.escape(base), _ROLLOUTS))
    return sorted(found, key=os.path.basename, reverse=True)[:_MOST_RECORDS]


def first_texts(path: str) -> tuple[str, ...]:
    """The texts that a user has submitted in the first part of a rollout."""
    events = [as_dict(row.get("payload")) for row in head(path) if row.get("type") == "event_msg"]
    return tuple(text for event in events if (text := _said(event, "UserMessage")))


def read(path: str) -> Session | None:
    """The end of a session's rollout, or ``None`` where its first line does not name a session."""
    first = next(iter(head(path)), {})
    meta = as_dict(first.get("payload"))
    session_id = as_text(meta.get("id"))
    if first.get("type") != "session_meta" or not session_id:
        return None
    rows = tail(path)
    events = [as_dict(row.get("payload")) for row in rows if row.get("type") == "event_msg"]
    said = [text for event in events if (text := _said(event, "UserMessage"))]
    return Session(
        session_id=session_id,
        folder=as_text(meta.get("cwd")) or None,
        submitted=(*said, *_queued(path, session_id)),
        turns=tuple(turn for row in rows if (turn := _turn(row)) is not None),
        activity=_activity(events),
    )


def _queued(path: str, session_id: str) -> list[str]:
    """The texts in the history: it has a queued one at once, the rollout only when it is answered."""
    base, between, _ = path.rpartition("/sessions/")
    if not between:
        return []
    history = tail(os.path.join(base, "history.jsonl"))
    return [as_text(row.get("text")) for row in history if row.get("session_id") == session_id]


def _activity(events: list[dict[str, object]]) -> Activity | None:
    for event in reversed(events):
        if event.get("type") == "task_started":
            return Activity.WORKING
        if as_text(event.get("type")) in _ENDS:
            return Activity.IDLE
    return None


def _turn(row: dict[str, object]) -> Turn | None:
    at, payload = as_text(row.get("timestamp")), as_dict(row.get("payload"))
    if row.get("type") == "response_item" and payload.get("type") == "function_call":
        tool = f"{as_text(payload.get('name'))}: {as_text(payload.get('arguments'))}"
        return Turn(at=at, role="assistant", text="", tools=(tool,))
    if row.get("type") == "event_msg":
        if text := _said(payload, "UserMessage"):
            return Turn(at=at, role="user", text=text)
        if text := _said(payload, "AgentMessage"):
            return Turn(at=at, role="assistant", text=text)
    return None


def _said(event: dict[str, object], kind: str) -> str:
    item = as_dict(event.get("item"))
    if event.get("type") != "item_completed" or item.get("type") != kind:
        return ""
    parts = map(as_dict, as_list(item.get("content")))
    return "\n".join(text for part in parts if (text := as_text(part.get("text"))))
