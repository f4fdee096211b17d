"""The session of a member's agent, found by the record that the agent itself keeps.

Never by guess: a record counts if the agent's process names it, if its id was kept, or if a text that
was submitted in it begins or ends with a line of ours to this member.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

import msgspec

from cafleet.agents.sessions import Session, claude, codex, opencode
from cafleet.courier.payloads import poll_request
from cafleet.courier.session_witness import find_session
from cafleet.errors import NoHomeError
from cafleet.operations.agent_start import stored_folder
from cafleet.records import CodingAgent, Launch
from cafleet.screens import Process
from cafleet.settings import home_folder

_START = re.compile(r"\[cafleet start (\d+):(\d+):(\d+) (\S{1,8})\]\s*\Z")
_NO_RECORD = "no record of its session was found"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """``session_id`` is null where no session can be taken up; ``reason`` says why or how.
    ``session`` is what its record holds."""

    session_id: str | None
    reason: str
    session: Session | None = None


def session_of(
    launch: Launch, *, fleet_id: int, database_id: str, processes: tuple[Process, ...]
) -> Found:
    """The session of a member's last start. ``processes`` are those of its agent, if it runs."""
    shown = find_session(launch.coding_agent, processes)
    if shown is not None:
        if _kept(launch, shown.session.session_id) is None:
            return Found(session_id=None, reason="its session has no record yet")
        return _found(shown.session, "its pane showed this session")
    owner = _Owner(fleet_id=fleet_id, member_id=launch.member_id, database=database_id[:8])
    kept = None if launch.session_id is None else _kept(launch, launch.session_id)
    if kept is not None and not owner.is_refused(kept):
        return _found(kept.session, "its record is there")
    folder = os.path.realpath(stored_folder(launch.working_directory))
    for record in _newest(launch, folder):
        if owner.owns(record):
            return _found(record.session, "its record has a line of ours to this member")
    return Found(session_id=None, reason=_NO_RECORD)


def _found(session: Session, reason: str) -> Found:
    return Found(session_id=session.session_id, reason=reason, session=session)


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """A record of a session. ``first_texts`` are those that were submitted first."""

    session: Session
    first_texts: tuple[str, ...]


class _Owner(msgspec.Struct, frozen=True, kw_only=True):
    """A member, as our lines in the records name it."""

    fleet_id: int
    member_id: int
    database: str

    def owns(self, record: _Record) -> bool:
        """Whether the record is this member's by its start line, or without one by a later line of ours."""
        owners = _owners(record.first_texts)
        if owners:
            return owners == {self}
        return any(map(self._is_to_it, record.session.submitted))

    def is_refused(self, record: _Record) -> bool:
        """Whether the start line of the record names another member."""
        owners = _owners(record.first_texts)
        return bool(owners) and self not in owners

    def _is_to_it(self, text: str) -> bool:
        return bool(
            re.match(rf"\[cafleet msg \d+ to {self.member_id} \(", text)
        ) or text.startswith(poll_request(self.member_id).rstrip())


def _owners(texts: Iterable[str]) -> set[_Owner]:
    """Whose start lines end these texts."""
    matches = [match for text in texts if (match := _START.search(text))]
    return {
        _Owner(fleet_id=int(match[1]), member_id=int(match[2]), database=match[4])
        for match in matches
    }


def _kept(launch: Launch, session_id: str) -> _Record | None:
    """The record of the session that was kept for a member, if it is there still."""
    match launch.coding_agent:
        case CodingAgent.CLAUDE:
            path = claude.find_record(launch.agent_base, session_id)
            return None if path is None else _of_claude(path)
        case CodingAgent.CODEX:
            path = codex.find_record(launch.agent_base, session_id)
            return None if path is None else _of_codex(path)
        case CodingAgent.OPENCODE:
            database = _opencode_database()
            return None if database is None else _of_opencode(database, session_id)


def _newest(launch: Launch, folder: str) -> Iterator[_Record]:
    """The records of sessions in a folder, the newest first."""
    found: Iterable[_Record | None]
    match launch.coding_agent:
        case CodingAgent.CLAUDE:
            found = map(_of_claude, claude.newest_records(launch.agent_base))
        case CodingAgent.CODEX:
            found = map(_of_codex, codex.newest_records(launch.agent_base))
        case CodingAgent.OPENCODE:
            database = _opencode_database()
            ids = [] if database is None else opencode.session_ids(database, folder)
            found = (_of_opencode(database or "", each) for each in ids)
    for record in found:
        if record is not None and _is_in(record.session, folder):
            yield record


def _of_claude(path: str) -> _Record:
    return _Record(session=claude.read(path), first_texts=claude.first_texts(path)[:1])


def _of_codex(path: str) -> _Record | None:
    session = codex.read(path)
    if session is None:
        return None
    return _Record(session=session, first_texts=codex.first_texts(path)[:1])


def _of_opencode(database: str, session_id: str) -> _Record | None:
    session = opencode.read(database, session_id)
    if session is None:
        return None
    # Only the newest messages are read there, and the start line may be further back than they reach.
    return _Record(session=session, first_texts=opencode.first_texts(database, session_id))


def _is_in(session: Session, folder: str) -> bool:
    # opencode has chosen by folder already.
    return session.folder is None or os.path.realpath(session.folder) == folder


def _opencode_database() -> str | None:
    try:
        return opencode.database(home_folder(), os.environ.get("XDG_DATA_HOME"))
    except NoHomeError:
        return None
