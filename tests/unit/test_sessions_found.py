"""Whose a session is: by its kept id, by our start line, or by a later line of ours to the member."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from cafleet.agents.sessions import Turn
from cafleet.operations.sessions import session_of
from cafleet.operations.transcript import merged
from cafleet.records import CodingAgent, Launch

DATABASE = "0123456789abcdef"
START = "Do it.\n[cafleet start 1:3:1 01234567]"
OTHERS = [
    "Do it.\n[cafleet start 1:4:1 01234567]",
    "Do it.\n[cafleet start 2:3:1 01234567]",
    "Do it.\n[cafleet start 1:3:1 76543210]",
    "[cafleet start 1:3:1 01234567] is what it was told",
    "see [cafleet msg 7 to 3 (ann) from 1 (Director) then]",
    "[cafleet msg 7 to 33 (ann) from 1 (Director) then]",
]
OURS = [
    START,
    "[cafleet msg 7 to 3 (ann) from 1 (Director) then]\nhello ",
    "cafleet message poll 3 - run this now, act on what is there, then resume any unfinished work",
]


def launch(agent: CodingAgent, base: Path, folder: Path, session_id: str | None = None) -> Launch:
    return Launch(
        member_id=3,
        coding_agent=agent,
        model=None,
        effort=None,
        permission_mode=None,
        working_directory=str(folder),
        agent_base=str(base),
        prompt="Do it.",
        session_id=session_id,
        launched_at="then",
    )


class Records:
    """Writes sessions as an agent does, each with the texts that were submitted in it."""

    def __init__(self, agent: CodingAgent, root: Path) -> None:
        self._agent = agent
        self._root = root
        self._count = 0
        self.base = root / "base"

    def write(self, folder: Path, *texts: str) -> str:
        self._count += 1
        session_id = f"session-{self._count}"
        getattr(self, f"_{self._agent}")(session_id, folder, texts)
        return session_id

    def _lines(self, path: Path, rows: list[dict[str, Any]]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (self._count, self._count))

    def _claude(self, session_id: str, folder: Path, texts: tuple[str, ...]) -> None:
        rows = [
            {
                "type": "user",
                "origin": {"kind": "human"},
                "cwd": str(folder),
                "message": {"role": "user", "content": text},
            }
            for text in texts
        ]
        self._lines(self.base / "projects" / folder.name / f"{session_id}.jsonl", rows)

    def _codex(self, session_id: str, folder: Path, texts: tuple[str, ...]) -> None:
        meta = {"type": "session_meta", "payload": {"id": session_id, "cwd": str(folder)}}
        rows = [meta]
        for text in texts:
            item = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
            payload = {"type": "item_completed", "item": item}
            rows.append({"type": "event_msg", "payload": payload})
        name = f"rollout-2026-05-05T00-00-{self._count:02}-{session_id}.jsonl"
        self._lines(self.base / "sessions/2026/05/05" / name, rows)

    def _opencode(self, session_id: str, folder: Path, texts: tuple[str, ...]) -> None:
        path = self._root / "data/opencode/opencode.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        with sqlite3.connect(path) as conn:
            conn.executescript(
                "CREATE TABLE IF NOT EXISTS session"
                " (id TEXT, directory TEXT, parent_id TEXT, time_created INT, time_updated INT);"
                "CREATE TABLE IF NOT EXISTS message"
                " (id TEXT, session_id TEXT, time_created INT, data TEXT);"
                "CREATE TABLE IF NOT EXISTS part (id TEXT, message_id TEXT, data TEXT)"
            )
            conn.execute(
                "INSERT INTO session VALUES (?, ?, NULL, ?, ?)",
                (session_id, str(folder), -self._count, self._count),
            )
            for number, text in enumerate(texts):
                message = f"{session_id}-{number}"
                conn.execute(
                    "INSERT INTO message VALUES (?, ?, ?, ?)",
                    (message, session_id, number, '{"role":"user"}'),
                )
                conn.execute(
                    "INSERT INTO part VALUES (?, ?, ?)",
                    (message, message, json.dumps({"type": "text", "text": text})),
                )


@pytest.fixture(params=list(CodingAgent))
def agent(request: pytest.FixtureRequest) -> CodingAgent:
    return CodingAgent(request.param)


@pytest.fixture
def records(agent: CodingAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Records:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Records(agent, tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "work"
    found.mkdir()
    return found


def found(agent: CodingAgent, records: Records, folder: Path, kept: str | None = None) -> Any:
    start = launch(agent, records.base, folder, kept)
    return session_of(start, fleet_id=1, database_id=DATABASE, processes=()).session_id


@pytest.mark.parametrize("text", OURS)
def test_a_line_of_ours_tells_whose_it_is(
    agent: CodingAgent, records: Records, folder: Path, text: str
) -> None:
    ours = records.write(folder, text, "something else")
    for other in OTHERS:
        records.write(folder, other)
    assert found(agent, records, folder) == ours


def test_the_newest_of_ones_own_counts(agent: CodingAgent, records: Records, folder: Path) -> None:
    records.write(folder, START)
    cleared = records.write(folder, OURS[1])
    assert found(agent, records, folder) == cleared


def test_nothing_is_guessed(agent: CodingAgent, records: Records, folder: Path) -> None:
    assert found(agent, records, folder) is None
    for other in OTHERS:
        records.write(folder, other)
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    records.write(elsewhere, START)
    assert found(agent, records, folder) is None


def test_the_kept_one_goes_first_unless_it_is_anothers(
    agent: CodingAgent, records: Records, folder: Path
) -> None:
    kept = records.write(folder, "begun by hand")
    anothers = records.write(folder, OTHERS[0])
    newest = records.write(folder, START)
    assert found(agent, records, folder, kept) == kept
    assert found(agent, records, folder, anothers) == newest
    assert found(agent, records, folder, "session-99") == newest


def test_a_session_of_many_is_found_while_it_is_used(
    agent: CodingAgent, records: Records, folder: Path
) -> None:
    for number in range(40):
        records.write(folder, f"number {number}")
    ours = records.write(folder, START)
    assert found(agent, records, folder) == ours


def test_rows_of_one_side_are_one_turn() -> None:
    def turn(role: Any, text: str, *tools: str) -> Turn:
        return Turn(at=text, role=role, text=text, tools=tools)

    rows = [
        turn("user", "a"),
        turn("assistant", "b"),
        turn("assistant", "", "Bash: ls"),
        turn("assistant", "c"),
        turn("user", "d"),
    ]
    assert [(each.role, each.text, each.tools) for each in merged(rows)] == [
        ("user", "a", ()),
        ("assistant", "b\nc", ("Bash: ls",)),
        ("user", "d", ()),
    ]
