"""What commands refuse after their guard, and what they print, on members that have no pane."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.harness.database import Database
from tests.harness.program import CAFLEET, Program, assert_refused

NOW = "2026-05-05T05:42:11.123456+00:00"
SEND = ("message", "send", "--from-member-id", "2", "--to-member-id", "3")


@pytest.fixture
def registry(database: Database) -> Database:
    """Fleet 1 with Director 1, monitor 2 and member 3; nobody has a placement."""
    database.rows("INSERT INTO fleets (fleet_id, name, created_at) VALUES (1, 'f', ?)", NOW)
    for member_id, name in [(1, "Director"), (2, "monitor"), (3, "bob\rexit")]:
        card: dict[str, object] = {"name": name, "description": "d", "skills": ["s"]}
        if name == "monitor":
            card["cafleet"] = {"kind": "monitor"}
        database.rows(
            "INSERT INTO members (member_id, fleet_id, name, description, status, registered_at,"
            " member_card_json) VALUES (?, 1, ?, 'd', 'active', ?, ?)",
            member_id,
            name,
            NOW,
            json.dumps(card),
        )
    database.rows("UPDATE fleets SET director_member_id = 1")
    return database


def test_without_a_database_every_command_says_how_to_get_one(cafleet: Program) -> None:
    for arguments in [("fleet", "list"), ("member", "list", "1"), ("message", "poll", "1"), SEND]:
        text = ["hi"] if arguments is SEND else []
        assert_refused(cafleet.run(*arguments, *text), 1, "cafleet setup")


@pytest.mark.parametrize("number", ["0", "-1", "-0", str(2**63), str(2**70), "9" * 4301])
def test_an_integer_that_is_no_id_is_an_unknown_one(
    cafleet: Program, registry: Database, number: str
) -> None:
    before = registry.dump()
    for command in [
        ("message", "poll"),
        ("message", "ack"),
        ("message", "show"),
        ("member", "show"),
        ("member", "list"),
        ("member", "delete"),
        ("member", "ping"),
        ("member", "capture"),
        ("fleet", "show"),
        ("fleet", "delete"),
    ]:
        result = cafleet.run(*command, number)
        assert_refused(result, 1, "")
    assert_refused(cafleet.run("member", "prompt", number, "hi"), 1, "")
    for option in ("--from-member-id", "--to-member-id"):
        sides = {"--from-member-id": "2", "--to-member-id": "3"} | {option: number}
        roles = [f"{name}={value}" for name, value in sides.items()]
        assert_refused(cafleet.run("message", "send", *roles, "hi"), 1, "")
    assert registry.dump() == before


@pytest.mark.parametrize("value", ["", " 5", "1_0", "5.0", "-1", "１２", str(2**70), "+5", "05"])
def test_a_bad_length_is_told_before_anything_is_stored(
    cafleet: Program, registry: Database, value: str
) -> None:
    before = registry.dump()
    broadcast = ("message", "broadcast", "--from-member-id", "2")
    for arguments in [(*SEND, "hi"), (*broadcast, "hi"), ("message", "poll", "3")]:
        result = cafleet.run(*arguments, env={"CAFLEET_MAX_TEXT_LEN": value})
        assert_refused(result, 1, f"CAFLEET_MAX_TEXT_LEN is {value!r}")
    assert registry.dump() == before


@pytest.mark.parametrize("blank", ["", "   ", "\n", "\ufeff", "\u3000"])
def test_a_blank_body_is_refused_in_each_form(
    cafleet: Program, registry: Database, tmp_path: Path, blank: str
) -> None:
    before = registry.dump()
    file = tmp_path / "body"
    file.write_bytes(blank.encode())
    assert_refused(cafleet.run(*SEND, "--", blank), 2, "TEXT is blank")
    assert_refused(cafleet.run(*SEND, "--file", str(file)), 1, "is empty or blank")
    assert_refused(cafleet.run(*SEND, "--file=-", stdin=blank.encode()), 1, "stdin is empty")
    assert registry.dump() == before


def test_a_file_that_cannot_be_read_stores_nothing(
    cafleet: Program, registry: Database, tmp_path: Path
) -> None:
    before = registry.dump()
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    os.mkfifo(tmp_path / "fifo")
    for path, reason in {
        str(tmp_path / "missing"): "does not exist",
        str(tmp_path / ("x" * 200)): "does not exist",
        str(tmp_path): "is not a regular file",
        str(tmp_path / "fifo"): "is not a regular file",
        "/dev/null": "is not a regular file",
        str(tmp_path / "latin"): "not valid UTF-8 at byte offset 3",
        "a\nb\x1b[2J": r"the file a\x0ab\x1b[2J does not exist",
    }.items():
        result = cafleet.run(*SEND, "--file", path, env={"COLUMNS": "40", "LC_ALL": "C"})
        assert_refused(result, 1, reason)
    assert_refused(cafleet.run(*SEND, "--file", b"/tmp/none\xff"), 1, r"/tmp/none\udcff does not")
    assert registry.dump() == before


def test_closed_stdin_is_no_body(cafleet: Program, registry: Database) -> None:
    run = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" "$@" <&-', CAFLEET, *SEND, "--file", "-"],
        env=cafleet.environment,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("Error: stdin is closed; ")
    assert registry.value("SELECT count(*) FROM messages") == 0


@pytest.mark.parametrize(
    "data", [b"a\r\nb\rc\n", b"\xef\xbb\xbfx\r\n", b"a\0b", "界\u2028\x1b\x9b".encode()]
)
def test_a_body_is_stored_byte_for_byte(
    cafleet: Program, registry: Database, tmp_path: Path, data: bytes
) -> None:
    file = tmp_path / "body"
    file.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    by_file = cafleet.run(*SEND, "--file", str(file), "--json").json()["message"]
    by_stdin = cafleet.run(*SEND, "--file=-", "--json", stdin=data).json()["message"]
    for sent in (by_file, by_stdin):
        assert hashlib.sha256(sent["text"].encode()).hexdigest() == digest
        shown = cafleet.run("message", "show", str(sent["message_id"]), "--json").json()
        assert shown["message"] == sent
    polled = cafleet.run("message", "poll", "3", "--json").json()
    assert [message["text"].encode() for message in polled] == [data, data]
    text = cafleet.run("message", "poll", "3").ok().stdout
    assert not {"\0", "\r", "\x1b", "\x9b", "\u2028"} & set(text)


def test_after_a_double_dash_everything_is_text(cafleet: Program, registry: Database) -> None:
    for text in ("--json", "- [ ] x", "-1", "--"):
        result = cafleet.run(*SEND, "--json", "--", text)
        assert result.json()["message"]["text"] == text
    assert registry.value("SELECT count(*) FROM messages") == 4


def test_envelopes_are_cut_and_json_is_not(cafleet: Program, registry: Database) -> None:
    body = "界" * 30 + "\x1b[31mred"
    env = {"CAFLEET_MAX_TEXT_LEN": "31", "LC_ALL": "C"}
    sent = cafleet.run(*SEND, body, env=env).ok().stdout.splitlines()
    assert sent[0] == "Message 1 stored, notice none."
    assert sent[1].startswith("[1 | from:2 | ")
    assert sent[2] == "  " + "界" * 30 + r"\x1b…"
    assert cafleet.run("message", "show", "1", "--json", env=env).json()["message"]["text"] == body
    assert registry.value("SELECT text FROM messages") == body


def test_names_cannot_steer_the_terminal(cafleet: Program, registry: Database) -> None:
    assert cafleet.run("member", "show", "3").ok().stdout == "3 bob\\x0dexit active\n"
    roster = cafleet.run("member", "list", "1").ok().stdout
    assert roster.startswith("3 members:\nmember_id  name ")
    assert r"bob\x0dexit" in roster
    assert cafleet.run("member", "list", "1", "--json").json()[2]["name"] == "bob\rexit"


def test_a_reader_that_leaves_does_not_make_a_send_fail(
    cafleet: Program, registry: Database
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        run = subprocess.run(
            [CAFLEET, *SEND, "hi"], env=cafleet.environment, stdout=closed, stderr=subprocess.PIPE
        )
    assert (run.returncode, run.stderr) == (0, b"")
    assert registry.rows("SELECT text FROM messages") == [("hi",)]


def test_a_poll_that_nobody_reads_marks_nothing_seen(cafleet: Program, registry: Database) -> None:
    cafleet.run(*SEND, "hi").ok()
    registry.rows("UPDATE messages SET delivery_state = 'submitted'")
    cafleet.environment |= registry.identity(3)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        subprocess.run([CAFLEET, "message", "poll", "3"], env=cafleet.environment, stdout=closed)
    assert registry.value("SELECT delivery_state FROM messages") == "submitted"
    cafleet.run("message", "poll", "3").ok()
    assert registry.value("SELECT delivery_state FROM messages") == "seen"
