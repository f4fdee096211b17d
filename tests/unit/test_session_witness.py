"""The second witness beside the screen: records of processes that really run."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cafleet.courier.observing import Observation, Target
from cafleet.courier.session_witness import (
    STALE_SECONDS,
    SessionWitness,
    find_session,
    has_submitted,
)
from cafleet.panes import PaneTag
from cafleet.records import Backend, CodingAgent, ScreenState
from cafleet.screens import Look, Picture, Process
from tests.harness.waiting import wait_for

RECORDS = Path(__file__).parents[1] / "records"
SESSION = "44444444-2222-4333-8444-555555555555"
NOTICE = "[cafleet msg 5 to 3 (bob) from 2 (alice) 2026-12-01T00:00:00.000000+00:00]\nplease do it"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which record is whose")


@contextmanager
def running(environment: dict[str, str], *held_open: Path, folder: Path) -> Iterator[Process]:
    """A process with these variables that holds these files open in ``folder``."""
    opened = [path.open("ab") for path in held_open]
    child = subprocess.Popen(
        ["sleep", "600"],
        env={**os.environ, **environment},
        cwd=folder,
        pass_fds=[file.fileno() for file in opened],
    )
    try:
        wait_for(lambda: Path(f"/proc/{child.pid}/comm").read_text() == "sleep\n", "it runs")
        yield process_of(child.pid)
    finally:
        child.kill()
        child.wait()
        for file in opened:
            file.close()


def process_of(pid: int) -> Process:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return Process(pid=pid, name="sleep", words=("sleep", "600"), started=fields[19])


def rows(path: Path, *written: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in written)
    return path


class Claude:
    """A config folder of Claude Code with one session, which ``process`` shows."""

    def __init__(self, base: Path, process: Process) -> None:
        self.process = process
        self._file = base / "sessions" / f"{process.pid}.json"
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self.record = rows(base / "projects" / "-work" / f"{SESSION}.jsonl")
        self.says("idle")

    def says(self, status: str, **more: Any) -> None:
        known = json.loads((RECORDS / "claude-process.json").read_text())
        known |= {"pid": self.process.pid, "procStart": self.process.started, "status": status}
        self._file.write_text(json.dumps(known | more))

    def submits(self, text: str) -> None:
        message = {"role": "user", "content": text}
        rows(self.record, {"type": "user", "origin": {"kind": "human"}, "message": message})


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[Claude]:
    base = tmp_path / "claude-home"
    with running({"CLAUDE_CONFIG_DIR": str(base)}, folder=tmp_path) as process:
        yield Claude(base, process)


def target(agent: CodingAgent) -> Target:
    return Target(
        member_id=3,
        backend=Backend.TMUX,
        pane="%3",
        socket="/tmp/none",
        session="$0",
        window="@0",
        agent=agent,
        tag=PaneTag(database_id="d", fleet_id=1, member_id=3),
    )


def observation(*processes: Process, screen: str = "❯ ") -> Observation:
    picture = Picture(
        screen=screen,
        columns=80,
        rows=24,
        cursor_x=0,
        cursor_y=0,
        command="claude",
        tag="",
        session="$0",
        window="@0",
    )
    look = Look(state=ScreenState.REST, cue="an empty composer")
    return Observation(look=look, picture=picture, processes=processes)


@pytest.mark.parametrize(
    ("status", "said"),
    [("busy", "working"), ("waiting", "awaiting"), ("idle", None), ("something new", None)],
)
def test_claudes_own_status_takes_rest_away(claude: Claude, status: str, said: str | None) -> None:
    claude.says(status)
    witness = SessionWitness()
    assert witness(target(CodingAgent.CLAUDE), observation(claude.process)) == said


def test_a_record_of_another_process_says_nothing(claude: Claude) -> None:
    claude.says("busy", procStart="1")
    witness = SessionWitness()
    assert witness(target(CodingAgent.CLAUDE), observation(claude.process)) is None
    assert witness(target(CodingAgent.CLAUDE), observation()) is None


def test_a_turn_that_was_cut_off_holds_for_two_minutes(claude: Claude) -> None:
    """Both screen and record have to stand still for all of that time."""
    now = [1000.0]
    witness = SessionWitness(clock=lambda: now[0])
    here = target(CodingAgent.CLAUDE)
    claude.says("busy")

    def said(screen: str = "❯ ") -> ScreenState | None:
        return witness(here, observation(claude.process, screen=screen))

    assert said() == "working"
    now[0] += STALE_SECONDS - 1
    assert said() == "working"
    now[0] += 2
    assert said() is None
    assert said("another screen") == "working"
    now[0] += STALE_SECONDS + 1
    claude.submits("something else")
    assert said("another screen") == "working"
    now[0] += STALE_SECONDS + 1
    assert said("another screen") is None
    # A turn that ended and another that began start anew.
    claude.says("idle")
    assert said("another screen") is None
    claude.says("busy")
    assert said("another screen") == "working"


@pytest.mark.parametrize("agent", CodingAgent)
def test_a_record_proves_the_whole_text_alone(tmp_path: Path, agent: CodingAgent) -> None:
    with submitted(tmp_path, agent, NOTICE) as process:
        assert has_submitted(agent, (process,), NOTICE)
        assert has_submitted(agent, (process,), NOTICE + " ")
        for other in (NOTICE[:-3], f"x {NOTICE}", f"{NOTICE} and more", NOTICE.replace("5", "6")):
            assert not has_submitted(agent, (process,), other)
        assert not has_submitted(agent, (), NOTICE)


@contextmanager
def submitted(root: Path, agent: CodingAgent, text: str) -> Iterator[Process]:
    """A process of the agent's whose session record holds ``text``."""
    match agent:
        case CodingAgent.CLAUDE:
            with running({"CLAUDE_CONFIG_DIR": str(root / "c")}, folder=root) as process:
                Claude(root / "c", process).submits(text)
                yield process
        case CodingAgent.CODEX:
            path = root / "x" / "sessions" / "2026" / "12" / "01" / f"rollout-a-{SESSION}.jsonl"
            path.parent.mkdir(parents=True)
            shutil.copy(RECORDS / "codex.jsonl", path)
            item = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
            rows(path, {"type": "event_msg", "payload": {"type": "item_completed", "item": item}})
            with running({"CODEX_HOME": str(root / "x")}, path, folder=root) as process:
                yield process
        case CodingAgent.OPENCODE:
            home = opencode_home(root / "o", root, text)
            with running({"HOME": str(home), "XDG_DATA_HOME": ""}, folder=root) as process:
                yield process


def test_a_turn_of_codex_that_runs_takes_rest_away(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / f"rollout-a-{SESSION}.jsonl"
    path.parent.mkdir()
    shutil.copy(RECORDS / "codex.jsonl", path)
    with running({"CODEX_HOME": str(tmp_path)}, path, folder=tmp_path) as process:
        witness = SessionWitness()
        here, seen = target(CodingAgent.CODEX), observation(process)
        assert witness(here, seen) is None
        rows(path, {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "t9"}})
        assert witness(here, seen) == "working"
        rows(path, {"type": "event_msg", "payload": {"type": "turn_aborted", "turn_id": "t9"}})
        assert witness(here, seen) is None


def test_two_sessions_are_none(tmp_path: Path) -> None:
    paths = [tmp_path / "sessions" / f"rollout-{at}-{SESSION}.jsonl" for at in "ab"]
    paths[0].parent.mkdir()
    for path in paths:
        shutil.copy(RECORDS / "codex.jsonl", path)
    with (
        running({}, paths[0], folder=tmp_path) as one,
        running({}, paths[1], folder=tmp_path) as other,
    ):
        assert find_session(CodingAgent.CODEX, (one,)) is not None
        assert find_session(CodingAgent.CODEX, (one, other)) is None


def opencode_home(home: Path, folder: Path, text: str) -> Path:
    """A home with opencode's database, in which the newest session of ``folder`` holds ``text``."""
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    created = int(time.time() * 1000)
    with sqlite3.connect(path) as conn:
        conn.executescript(
            "CREATE TABLE session (id TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER,"
            " parent_id TEXT);"
            "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
            "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
        )
        conn.execute(
            "INSERT INTO session VALUES ('s', ?, ?, ?, NULL)", (str(folder), created, created)
        )
        conn.execute(
            "INSERT INTO message VALUES ('m', 's', ?, ?)", (created, json.dumps({"role": "user"}))
        )
        part = json.dumps({"type": "text", "text": text})
        conn.execute("INSERT INTO part VALUES ('p', 'm', 's', ?, ?)", (created, part))
    conn.close()
    return home
