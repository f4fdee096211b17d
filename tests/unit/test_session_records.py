"""The agents' own records of their sessions: what is read, and what is not known."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cafleet.agents.sessions import Activity, claude, codex, opencode
from cafleet.agents.sessions.json_lines import TAIL_BYTES, tail

RECORDS = Path(__file__).parents[1] / "records"


def lines(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def human(text: str, **extra: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"type": "user", "origin": {"kind": "human"}, "message": message, **extra}


class TestClaude:
    def test_what_a_person_submitted_is_read_and_nothing_else(self) -> None:
        session = claude.read(str(RECORDS / "claude.jsonl"))
        # Once when it was queued, once when its turn began.
        assert session.submitted == ("hello FIRST turn", "QUEUED one", "QUEUED one")
        assert session.folder == "/home/uu/ws1"
        assert session.activity is None

    def test_turns_have_their_tools(self) -> None:
        turns = claude.read(str(RECORDS / "claude.jsonl")).turns
        assert turns[1].text == "Understood from the stand-in model."
        tools = [turn.tools for turn in turns if turn.tools]
        assert tools == [("Bash: touch made-by-tool && echo done",)]

    def test_other_rows_of_the_user_are_not_submitted(self, tmp_path: Path) -> None:
        rows = [
            human("real"),
            human("of a sub-agent", isSidechain=True),
            human("a note", isMeta=True),
            human("a summary", isCompactSummary=True),
            {"type": "user", "message": {"content": [{"type": "text", "text": "interrupted"}]}},
            human("x") | {"origin": {"kind": "task"}},
        ]
        assert claude.read(str(lines(tmp_path / "a.jsonl", rows))).submitted == ("real",)

    def test_a_process_is_known_by_id_and_start(self, tmp_path: Path) -> None:
        folder = tmp_path / "sessions"
        folder.mkdir()
        shutil.copy(RECORDS / "claude-process.json", folder / "27915.json")
        found = claude.of_process(str(tmp_path), 27915, "466719")
        assert found is not None
        assert found.session_id == "44444444-2222-4333-8444-555555555555"
        assert found.activity is Activity.IDLE
        # What a killed process left behind says nothing of a later one with its id.
        assert claude.of_process(str(tmp_path), 27915, "466720") is None
        shutil.copy(folder / "27915.json", folder / "7.json")
        assert claude.of_process(str(tmp_path), 7, "466719") is None

    @pytest.mark.parametrize("session_id", ["", "../a", "a/b", "*", "a" * 65])
    def test_an_odd_session_id_names_no_file(self, tmp_path: Path, session_id: str) -> None:
        lines(tmp_path / "projects/a/b.jsonl", [])
        assert claude.find_record(str(tmp_path), session_id) is None

    def test_the_folder_may_have_any_name(self, tmp_path: Path) -> None:
        base = tmp_path / "odd [a] *"
        path = lines(base / "projects/-home-x-0a1b2c/abc.jsonl", [])
        assert claude.find_record(str(base), "abc") == str(path)
        lines(base / "projects/other/abc.jsonl", [])
        assert claude.find_record(str(base), "abc") is None


class TestCodex:
    def test_what_was_submitted_is_read(self) -> None:
        session = codex.read(str(RECORDS / "codex.jsonl"))
        assert session is not None
        # The environment that Codex puts before it is no text of the user.
        assert session.submitted == ("START with flags",)
        assert session.folder == "/home/uu/ws1"

    def test_queued_texts_are_in_the_history(self, tmp_path: Path) -> None:
        rows = [{"type": "session_meta", "payload": {"id": "s1", "cwd": "/w"}}]
        path = lines(tmp_path / "sessions/2026/12/01/rollout-x-s1.jsonl", rows)
        history = [{"session_id": "s1", "text": "ours"}, {"session_id": "s2", "text": "another's"}]
        lines(tmp_path / "history.jsonl", history)
        session = codex.read(str(path))
        assert session is not None
        assert session.submitted == ("ours",)

    @pytest.mark.parametrize(
        ("events", "activity"),
        [
            ([], None),
            (["task_started"], Activity.WORKING),
            (["task_started", "task_complete"], Activity.IDLE),
            (["task_started", "turn_aborted"], Activity.IDLE),
            (["task_started", "task_complete", "task_started"], Activity.WORKING),
            (["token_count"], None),
        ],
    )
    def test_a_turn_that_has_begun_and_not_ended_is_work(
        self, tmp_path: Path, events: list[str], activity: Activity | None
    ) -> None:
        rows: list[Any] = [{"type": "session_meta", "payload": {"id": "s1", "cwd": "/w"}}]
        rows += [{"type": "event_msg", "payload": {"type": event}} for event in events]
        session = codex.read(str(lines(tmp_path / "r.jsonl", rows)))
        assert session is not None
        assert session.activity is activity

    def test_a_process_holds_its_rollout_open(self, tmp_path: Path) -> None:
        path = lines(tmp_path / "rollout-1.jsonl", [])
        with path.open():
            assert codex.of_process(os.getpid()) == str(path)
            other = lines(tmp_path / "rollout-2.jsonl", [])
            with other.open():
                assert codex.of_process(os.getpid()) is None
        assert codex.of_process(os.getpid()) is None
        assert codex.of_process(2**31 - 1) is None


class TestOpencode:
    @pytest.fixture
    def database(self, tmp_path: Path) -> str:
        path = tmp_path / "opencode.db"
        conn = sqlite3.connect(path)
        conn.executescript(
            "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, time_updated INTEGER);"
            "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
            "CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);"
        )
        rows = json.loads((RECORDS / "opencode.json").read_text("utf-8"))
        for each in rows["session"]:
            values = (each["id"], None, each["directory"], each["time_updated"])
            conn.execute("INSERT INTO session VALUES (?, ?, ?, ?)", values)
        for each in rows["message"]:
            data = json.dumps(each["data"])
            values = (each["id"], each["session_id"], each["time_created"], data)
            conn.execute("INSERT INTO message VALUES (?, ?, ?, ?)", values)
        for each in rows["part"]:
            values = (each["id"], each["message_id"], json.dumps(each["data"]))
            conn.execute("INSERT INTO part VALUES (?, ?, ?)", values)
        conn.commit()
        conn.close()
        return str(path)

    def test_sessions_of_a_folder_newest_first(self, database: str) -> None:
        assert opencode.session_ids(database, "/home/uu/ws1") == ["ses_003", "ses_002", "ses_001"]
        assert opencode.session_ids(database, "/home/uu/ws2") == []

    def test_what_was_submitted_is_read(self, database: str) -> None:
        session = opencode.read(database, "ses_001")
        assert session is not None
        assert session.submitted == ("SLOW12 base", "QUEUED one")
        assert session.turns[1].text == "Understood from the stand-in model."

    def test_a_message_without_an_answer_is_work(self, database: str) -> None:
        ended = opencode.read(database, "ses_003")
        assert ended is not None
        assert ended.activity is Activity.IDLE
        conn = sqlite3.connect(database)
        user = json.dumps({"role": "user"})
        conn.execute("INSERT INTO message VALUES ('msg_z', 'ses_003', 1999999999999, ?)", (user,))
        conn.commit()
        begun = opencode.read(database, "ses_003")
        assert begun is not None
        assert begun.activity is Activity.WORKING
        answer = json.dumps({"role": "assistant", "time": {"created": 1}})
        conn.execute(
            "INSERT INTO message VALUES ('msg_zz', 'ses_003', 1999999999999, ?)", (answer,)
        )
        conn.commit()
        conn.close()
        answering = opencode.read(database, "ses_003")
        assert answering is not None
        assert answering.activity is Activity.WORKING

    def test_a_tool_is_named_with_its_command(self, database: str) -> None:
        session = opencode.read(database, "ses_002")
        assert session is not None
        assert session.turns[0].tools == ("bash: touch made-by-tool && echo done",)

    def test_it_never_writes(self, database: str) -> None:
        before = Path(database).read_bytes()
        os.chmod(database, 0o400)
        opencode.read(database, "ses_001")
        assert Path(database).read_bytes() == before
        assert sorted(os.listdir(os.path.dirname(database))) == ["opencode.db"]


class TestWhatIsNotKnown:
    def test_a_line_that_is_still_being_written_is_not_there_yet(self, tmp_path: Path) -> None:
        path = lines(tmp_path / "a.jsonl", [human("whole")])
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(human("half"))[:-1])
            file.flush()
            assert claude.read(str(path)).submitted == ("whole",)
            file.write("}\n")
        assert claude.read(str(path)).submitted == ("whole", "half")

    def test_of_a_huge_record_the_end_is_read(self, tmp_path: Path) -> None:
        rows = [human(f"{number} {'x' * 10_000}") for number in range(300)]
        path = lines(tmp_path / "a.jsonl", rows)
        assert path.stat().st_size > 2 * TAIL_BYTES
        submitted = claude.read(str(path)).submitted
        assert submitted[-1].startswith("299 ")
        assert 90 < len(submitted) < 110

    def test_a_first_line_that_begins_where_the_end_begins_is_whole(self, tmp_path: Path) -> None:
        row = json.dumps({"n": "x"}) + "\n"
        last = json.dumps({"pad": "y" * (TAIL_BYTES - len(row) - len('{"pad": ""}\n'))}) + "\n"
        path = tmp_path / "a.jsonl"
        path.write_text("{}\n" + row + last, encoding="utf-8")
        assert [next(iter(found)) for found in tail(str(path))] == ["n", "pad"]

    @pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "unreadable", "empty"])
    def test_there_is_no_record(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "a.jsonl"
        match kind:
            case "folder":
                path.mkdir()
            case "fifo":
                os.mkfifo(path)
            case "unreadable":
                path.symlink_to(tmp_path / "nowhere")
            case "empty":
                path.touch()
        assert claude.read(str(path)).submitted == ()
        assert codex.read(str(path)) is None
        assert opencode.read(str(path), "a") is None
        assert opencode.session_ids(str(path), "a") == []

    @given(data=st.binary(max_size=400))
    def test_garbage_is_not_known(
        self, tmp_path_factory: pytest.TempPathFactory, data: bytes
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "garbage"
        path.write_bytes(data + b"\n")
        assert claude.read(str(path)).submitted == ()
        assert codex.read(str(path)) is None
        assert opencode.read(str(path), "a") is None

    @given(
        rows=st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.sampled_from(["user", "assistant", "event_msg", "session_meta"]),
                    "payload": st.recursive(
                        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                        lambda inner: (
                            st.lists(inner, max_size=3)
                            | st.dictionaries(
                                st.sampled_from(["item", "type", "content", "id", "text"]), inner
                            )
                        ),
                        max_leaves=8,
                    ),
                    "message": st.none()
                    | st.text(max_size=3)
                    | st.lists(st.integers(), max_size=2),
                    "origin": st.none() | st.just({"kind": "human"}),
                }
            ),
            max_size=5,
        )
    )
    @example(
        rows=[
            {"type": "session_meta", "payload": {"id": "0"}},
            {"type": "event_msg", "payload": {"item": None, "type": []}},
        ]
    )
    def test_rows_of_another_form_are_left_out(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
    ) -> None:
        path = lines(tmp_path_factory.getbasetemp() / "odd.jsonl", rows)
        assert claude.read(str(path)).submitted == ()
        codex.read(str(path))
