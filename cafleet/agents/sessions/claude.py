"""Claude Code: a file of JSON lines for each session, and a file that each process keeps."""

from __future__ import annotations

import glob
import os
import re

import msgspec

from cafleet.agents.sessions.json_lines import document, head, tail
from cafleet.agents.sessions.record import (
    Activity,
    Session,
    Turn,
    as_dict,
    as_list,
    as_text,
)

_ACTIVITIES = {"busy": Activity.WORKING, "waiting": Activity.WAITING, "idle": Activity.IDLE}
_SESSION_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
# How many records are read when nobody knows which one it is; each costs at most a megabyte.
_MOST_RECORDS = 50


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """What a running Claude Code says of itself: the session that its screen shows, and its state.

    ``waiting_for`` is its own word for what a person has to answer, empty if nothing.
    """

    session_id: str
    activity: Activity | None
    waiting_for: str


def process_file(base: str, pid: int) -> str:
    """The file that a running process keeps below the configuration folder ``base``."""
    return os.path.join(base, "sessions", f"{pid}.json")


def of_process(base: str, pid: int, started: str) -> Process | None:
    """What the process ``pid`` says of itself below the configuration folder ``base``.

    ``started`` is the process's start in clock ticks since the boot (``proc_pid_stat(5)``, field
    22): a file that a killed process left behind is not taken for that of a later one.
    """
    found = document(process_file(base, pid))
    if found is None or found.get("pid") != pid or found.get("procStart") != started:
        return None
    session_id = as_text(found.get("sessionId"))
    if not _SESSION_ID.fullmatch(session_id):
        return None
    return Process(
        session_id=session_id,
        activity=_ACTIVITIES.get(as_text(found.get("status"))),
        waiting_for=as_text(found.get("waitingFor")),
    )


def find_record(base: str, session_id: str) -> str | None:
    """The file of a session: its folder's name is shortened and hashed for long paths, its own is
    the id."""
    if not _SESSION_ID.fullmatch(session_id):
        return None
    pattern = os.path.join(glob.escape(base), "projects", "*", f"{session_id}.jsonl")
    found = glob.glob(pattern)
    return found[0] if len(found) == 1 else None


def newest_records(base: str) -> list[str]:
    """The records that were written last, newest first."""
    pattern = os.path.join(glob.escape(base), "projects", "*", "*.jsonl")
    return sorted(glob.glob(pattern), key=_written_at, reverse=True)[:_MOST_RECORDS]


def _written_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def first_texts(path: str) -> tuple[str, ...]:
    """The texts that a user has submitted in the first part of a record."""
    return tuple(text for row in head(path) if (text := _submitted(row)))


def read(path: str) -> Session:
    """The end of a session's record.

    It does not tell whether a turn runs, because a turn that is interrupted early leaves no row. The
    process tells that: see :func:`of_process`.
    """
    rows = [row for row in tail(path) if row.get("isSidechain") is not True]
    submitted = [text for row in rows if (text := _submitted(row))]
    folders = [as_text(row.get("cwd")) for row in rows if row.get("cwd")]
    return Session(
        session_id=os.path.basename(path).removesuffix(".jsonl"),
        folder=folders[-1] if folders else None,
        submitted=tuple(submitted),
        turns=tuple(turn for row in rows if (turn := _turn(row)) is not None),
        activity=None,
    )


def _submitted(row: dict[str, object]) -> str:
    if row.get("type") == "queue-operation" and row.get("operation") == "enqueue":
        return as_text(row.get("content"))
    return _said(row) if _is_from_a_person(row) else ""


def _is_from_a_person(row: dict[str, object]) -> bool:
    return (
        row.get("type") == "user"
        and as_dict(row.get("origin")).get("kind") == "human"
        and not row.get("isMeta")
        and not row.get("isCompactSummary")
    )


def _turn(row: dict[str, object]) -> Turn | None:
    at = as_text(row.get("timestamp"))
    if _is_from_a_person(row):
        return Turn(at=at, role="user", text=_said(row))
    if row.get("type") != "assistant":
        return None
    parts = map(as_dict, as_list(as_dict(row.get("message")).get("content")))
    tools = tuple(_tool(part) for part in parts if part.get("type") == "tool_use")
    text = _said(row)
    return Turn(at=at, role="assistant", text=text, tools=tools) if text or tools else None


def _said(row: dict[str, object]) -> str:
    content = as_dict(row.get("message")).get("content")
    if isinstance(content, str):
        return content
    parts = map(as_dict, as_list(content))
    return "\n".join(as_text(part.get("text")) for part in parts if part.get("type") == "text")


def _tool(part: dict[str, object]) -> str:
    given = as_dict(part.get("input"))
    first = next((value for value in given.values() if isinstance(value, str)), "")
    return f"{as_text(part.get('name'))}: {first}"
