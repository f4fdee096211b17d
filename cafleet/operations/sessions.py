"""The session that a member's agent can take up again, found by its record."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec

from cafleet.agents.sessions import claude, codex, opencode
from cafleet.courier.session_witness import find_session
from cafleet.errors import NoHomeError
from cafleet.operations.agent_start import stored_folder
from cafleet.records import CodingAgent, Launch
from cafleet.screens import Process
from cafleet.settings import home_folder

_START = re.compile(r"\[cafleet start (\d+):(\d+):(\d+) (\S{1,8})\]\s*\Z")


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """``session_id`` is null where no session can be taken up; ``reason`` says why or how."""

    session_id: str | None
    reason: str


def session_of(
    launch: Launch, *, fleet_id: int, database_id: str, processes: tuple[Process, ...]
) -> Found:
    """The session of a member's last start. ``processes`` are those of its agent, if it runs."""
    shown = find_session(launch.coding_agent, processes)
    if shown is not None:
        found = shown.session.session_id if _has_record(launch, shown.session.session_id) else None
        return _found(found, "its pane showed this session")
    owner = (str(fleet_id), str(launch.member_id), database_id[:8])
    match launch.coding_agent:
        case CodingAgent.CLAUDE:
            return _of_claude(launch, owner)
        case CodingAgent.CODEX:
            return _found(_of_codex(launch, owner), "its record begins with our start line")
        case CodingAgent.OPENCODE:
            return _found(_of_opencode(launch, owner), "its record has our start line")


def _found(session_id: str | None, reason: str) -> Found:
    if session_id is None:
        return Found(session_id=None, reason="no record of its session was found")
    return Found(session_id=session_id, reason=reason)


def _of_claude(launch: Launch, owner: tuple[str, str, str]) -> Found:
    if launch.session_id is None:
        return Found(session_id=None, reason="the id of its session is not known")
    path = claude.find_record(launch.agent_base, launch.session_id)
    if path is None:
        return _found(None, "")
    owners = _owners(claude.first_texts(path))
    if owners and owner not in owners:
        return Found(session_id=None, reason="the record of its session is another member's")
    return _found(launch.session_id, "its record is there")


def _of_codex(launch: Launch, owner: tuple[str, str, str]) -> str | None:
    folder = stored_folder(launch.working_directory)
    for path in codex.newest_records(launch.agent_base):
        if owner in _owners(codex.first_texts(path)[:1]):
            session = codex.read(path)
            if session is not None and _is_same(session.folder, folder):
                return session.session_id
    return None


def _of_opencode(launch: Launch, owner: tuple[str, str, str]) -> str | None:
    path = _opencode_database()
    if path is None:
        return None
    folder = os.path.realpath(stored_folder(launch.working_directory))
    for each in opencode.session_ids(path, folder):
        session = opencode.read(path, each)
        if session is not None and owner in _owners(session.submitted):
            return session.session_id
    if launch.session_id is not None and opencode.read(path, launch.session_id) is not None:
        return launch.session_id
    return None


def _has_record(launch: Launch, session_id: str) -> bool:
    match launch.coding_agent:
        case CodingAgent.CLAUDE:
            return claude.find_record(launch.agent_base, session_id) is not None
        case CodingAgent.CODEX:
            return codex.find_record(launch.agent_base, session_id) is not None
        case CodingAgent.OPENCODE:
            return True


def _owners(texts: Iterable[str]) -> set[tuple[str, str, str]]:
    """Whose start lines end these texts: fleet, member and the beginning of the database's id."""
    matches = [match for text in texts if (match := _START.search(text))]
    return {(match[1], match[2], match[4]) for match in matches}


def _is_same(one: str | None, other: str) -> bool:
    return one is not None and os.path.realpath(one) == os.path.realpath(other)


def _opencode_database() -> str | None:
    try:
        return opencode.database(home_folder(), os.environ.get("XDG_DATA_HOME"))
    except NoHomeError:
        return None
