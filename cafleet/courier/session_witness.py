"""An agent's own session record as a second witness beside its screen.

A record can veto rest and prove that a text was submitted. It never causes typing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import msgspec

from cafleet.agents.paths import config_folder
from cafleet.agents.sessions import Activity, Session, claude, codex, opencode
from cafleet.courier.observing import Observation, Target
from cafleet.panes.processes import environment_of, folder_of
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Process

# A record of a running turn is ignored once it and a screen at rest have not changed for this long.
# A turn that a crash has cut off stays open in its record for ever.
STALE_SECONDS = 120.0

_VETOES = {Activity.WORKING: ScreenState.WORKING, Activity.WAITING: ScreenState.AWAITING}


class _Standstill(msgspec.Struct, frozen=True, kw_only=True):
    """A screen and a record that have not changed ``since`` a moment of the monotonic clock."""

    screen: str
    record: tuple[int, int]
    since: float


class SessionWitness:
    """Asks the records of the agents whose processes can be seen in their panes.

    Claude Code names its session in a file for its process id. Codex holds its rollout open. opencode does
    neither, so it has no such witness.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._standstills: dict[str, _Standstill] = {}

    def __call__(self, target: Target, observation: Observation) -> ScreenState | None:
        """*Working* or *awaiting* where the record says so, else ``None``."""
        found = find_session(target.agent, observation.processes)
        if found is None or found.session.activity not in _VETOES:
            self._standstills.pop(target.pane, None)
            return None
        if self._has_stood_still(target, observation, found.path):
            return None
        return _VETOES[found.session.activity]

    def _has_stood_still(self, target: Target, observation: Observation, path: str) -> bool:
        now = self._clock()
        screen = "" if observation.picture is None else observation.picture.screen
        before = self._standstills.get(target.pane)
        current = _Standstill(screen=screen, record=_stamp(path), since=now)
        if before is None or (before.screen, before.record) != (current.screen, current.record):
            self._standstills[target.pane] = current
            return False
        return now - before.since >= STALE_SECONDS


def has_submitted(agent: CodingAgent, processes: tuple[Process, ...], text: str) -> bool:
    """Whether a session of the agent's ``processes`` shows ``text`` as submitted, from its beginning.

    The text has to be one that nobody else can have written, such as a notice with its message's id
    and time. Then it proves itself, whichever session of opencode holds it.
    """
    wanted = " ".join(text.split())
    return any(
        " ".join(submitted.split()) == wanted
        for session in _sessions(agent, processes)
        for submitted in session.submitted
    )


def _sessions(agent: CodingAgent, processes: tuple[Process, ...]) -> Iterator[Session]:
    """The sessions that may be the processes', each read when it is asked for."""
    if agent is CodingAgent.OPENCODE:
        for process in processes:
            yield from _of_opencode(process)
    elif found := find_session(agent, processes):
        yield found.session


class FoundSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session and the file of its record."""

    path: str
    session: Session


def find_session(agent: CodingAgent, processes: tuple[Process, ...]) -> FoundSession | None:
    """The session that one of the agent's ``processes`` shows, or ``None`` where that is not known.

    Two sessions are none: nobody knows which of them the pane shows.
    """
    match agent:
        case CodingAgent.CLAUDE:
            found = [_of_claude(process) for process in processes]
        case CodingAgent.CODEX:
            found = [_of_codex(process) for process in processes]
        case CodingAgent.OPENCODE:
            return None
    known = {each.path: each for each in found if each is not None}
    return known.popitem()[1] if len(known) == 1 else None


def _of_claude(process: Process) -> FoundSession | None:
    base = config_folder(CodingAgent.CLAUDE, environment_of(process) or {})
    own = None if base is None else claude.of_process(base, process.pid, process.started)
    if base is None or own is None:
        return None
    # A session has no record before its first text.
    path = claude.find_record(base, own.session_id) or claude.process_file(base, process.pid)
    session = claude.read(path)
    session = msgspec.structs.replace(session, activity=own.activity, session_id=own.session_id)
    return FoundSession(path=path, session=session)


def _of_codex(process: Process) -> FoundSession | None:
    path = codex.of_process(process.pid)
    session = None if path is None else codex.read(path)
    return None if path is None or session is None else FoundSession(path=path, session=session)


def _of_opencode(process: Process) -> Iterator[Session]:
    """The sessions of the folder that the process works in, the newest first."""
    variables, folder = environment_of(process) or {}, folder_of(process)
    if folder is None or not variables.get("HOME"):
        return
    path = opencode.database(variables["HOME"], variables.get("XDG_DATA_HOME"))
    for each in opencode.session_ids(path, folder):
        session = opencode.read(path, each)
        if session is not None:
            yield session


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
