"""Waiting for what becomes of a message, and for messages; who may not wait for whom."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.harness.program import Program, Result, assert_refused
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for

SENT = ("message", "send", "--from-member-id", "3", "--to-member-id", "4")


@pytest.fixture
def people(cafleet: Program, registry: Registry) -> Registry:
    """Ann (3), Bob (4) and Carl (5), whose panes are pending: what they are sent is queued."""
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.crew("ann", "bob", "carl")
    for member_id in (3, 4, 5):
        registry.place(member_id, None)
    return registry


def settle(registry: Registry, state: str, reason: str | None = None) -> None:
    registry.rows("UPDATE messages SET delivery_state = ? WHERE type = 'unicast'", state)
    registry.rows(
        "INSERT INTO delivery_events (message_id, at, state, reason) "
        "VALUES (1, '2026-01-01T00:00:00.000000+00:00', ?, ?)",
        state,
        reason,
    )


def waiting(cafleet: Program, registry: Registry, *words: str) -> subprocess.Popen[bytes]:
    """A command that waits, once its wait is on record."""
    before = registry.value("SELECT count(*) FROM waits")
    process = cafleet.start(*words)
    wait_for(lambda: registry.value("SELECT count(*) FROM waits") > before, "it waits", seconds=30)
    return process


def end_of(cafleet: Program, process: subprocess.Popen[bytes]) -> tuple[Result, float]:
    began = time.monotonic()
    return cafleet.finish(process), time.monotonic() - began


MET = [
    ("submitted", "submitted"),
    ("submitted", "seen"),
    ("seen", "seen"),
]


@pytest.mark.parametrize(("wanted", "state"), MET)
def test_a_wait_ends_when_it_is_so(
    people: Registry, cafleet: Program, wanted: str, state: str
) -> None:
    process = cafleet.start(*SENT, "--wait", wanted, "--json", "hello")
    wait_for(lambda: people.value("SELECT count(*) FROM messages") == 1, "it is stored", seconds=30)
    settle(people, state)
    result, took = end_of(cafleet, process)
    assert result.json()["delivery"] == {"state": state, "reason": None}
    assert took < 10


@pytest.mark.parametrize("wanted", ["submitted", "seen", "acked"])
def test_an_ack_meets_every_wait(people: Registry, cafleet: Program, wanted: str) -> None:
    process = cafleet.start(*SENT, "--wait", wanted, "--json", "hello")
    wait_for(lambda: people.value("SELECT count(*) FROM messages") == 1, "it is stored", seconds=30)
    cafleet.run("message", "ack", "1").ok()
    sent = end_of(cafleet, process)[0].json()
    assert sent["delivery"]["state"] == "seen"
    assert sent["message"]["status_state"] == "completed"
    assert people.rows("SELECT * FROM waits") == []


def test_a_broadcast_waits_for_all(people: Registry, cafleet: Program) -> None:
    for member_id in (1, 2):
        people.place(member_id, None)
    words = ("message", "broadcast", "--from-member-id", "3", "--wait", "seen", "--json", "all")
    process = waiting(cafleet, people, *words)
    for member_id in (1, 2, 4):
        cafleet.run("message", "poll", str(member_id), env=people.identity(member_id)).ok()
    time.sleep(0.5)
    assert process.poll() is None
    cafleet.run("message", "poll", "5", env=people.identity(5)).ok()
    assert end_of(cafleet, process)[0].json()["deliveries"] == {"seen": 4}


def test_a_broadcast_that_is_not_met_names_itself(people: Registry, cafleet: Program) -> None:
    words = ("message", "broadcast", "--from-member-id", "3", "--wait", "acked", "--timeout", "0")
    error = cafleet.run(*words, "all").stderr
    # Messages 2 to 5 are its deliveries, and 2 is none: the Director has no placement.
    assert "message 2 is none, not acked, after 0 s; it is stored, do not send it again" in error
    assert "`cafleet message why 1` tells of all of broadcast 1" in error


def test_a_wait_that_is_not_met_in_time_says_so(people: Registry, cafleet: Program) -> None:
    for wanted in ("submitted", "seen", "acked"):
        for seconds in ("0", "1"):
            result = cafleet.run(*SENT, "--wait", wanted, "--timeout", seconds, "hello")
            assert (result.exit_code, result.stdout) == (1, "")
            [error] = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
            assert f"is queued, not {wanted}, after {seconds} s; it is stored, do not" in error
            assert "no courier runs for fleet 1, start it with" in error
            assert error.count("do not send it again") == 1
    assert people.value("SELECT count(*) FROM messages") == 6
    assert people.rows("SELECT * FROM waits") == []
    assert list(people.path.parent.glob("*.wait-*")) == []


@pytest.mark.parametrize(
    ("wanted", "change", "words"),
    [
        ("submitted", "UPDATE messages SET delivery_state = 'unsure'", "unsure"),
        ("submitted", "UPDATE messages SET delivery_state = 'none'", "none"),
        ("seen", "UPDATE members SET status = 'deregistered' WHERE member_id = 4", "queued"),
        ("acked", "UPDATE members SET status = 'deregistered' WHERE member_id = 4", "queued"),
    ],
)
def test_a_wait_without_hope_ends_at_once(
    people: Registry, cafleet: Program, wanted: str, change: str, words: str
) -> None:
    process = cafleet.start(*SENT, "--wait", wanted, "--timeout", "3600", "hello")
    wait_for(lambda: people.value("SELECT count(*) FROM messages") == 1, "it is stored", seconds=30)
    people.rows(change)
    result, took = end_of(cafleet, process)
    assert result.exit_code == 1
    assert f"message 1 is {words} and will never be {wanted}; it is stored" in result.stderr
    assert took < 10


def test_a_wait_ends_when_the_sender_itself_leaves(people: Registry, cafleet: Program) -> None:
    process = cafleet.start(*SENT, "--wait", "acked", "--timeout", "3600", "hello")
    wait_for(lambda: people.value("SELECT count(*) FROM waits") == 1, "it waits", seconds=30)
    [sender_id] = [int(SENT[SENT.index("--from-member-id") + 1])]
    people.rows("UPDATE members SET status = 'deregistered' WHERE member_id = ?", sender_id)
    result, took = end_of(cafleet, process)
    assert result.exit_code == 1
    assert f"member {sender_id} is deregistered" in result.stderr
    assert "message 1 is stored, do not send it again" in result.stderr
    assert took < 10


def test_no_notice_is_due_to_a_member_without_a_placement(
    people: Registry, cafleet: Program
) -> None:
    people.rows("DELETE FROM member_placements")
    assert_refused(cafleet.run(*SENT, "--wait", "submitted", "hi"), 1, "is none and will never be")


def test_message_wait_prints_what_comes_as_poll_does_and_marks_nothing(
    people: Registry, cafleet: Program
) -> None:
    words = ("message", "wait", "4", "--from-member-id", "5", "--json")
    # Not even for the member itself: it may have been put into the background, and forgotten.
    cafleet.environment |= people.identity(4)
    process = waiting(cafleet, people, *words)
    cafleet.run(*SENT, "not from Carl").ok()
    time.sleep(0.5)
    assert process.poll() is None
    people.message(5, 4, "from Carl", delivery_state="queued")
    result, took = end_of(cafleet, process)
    assert [message["text"] for message in result.json()] == ["from Carl"]
    assert took < 10
    states = dict(people.rows("SELECT text, delivery_state FROM messages"))
    assert states == {"not from Carl": "queued", "from Carl": "queued"}
    # What is there already is printed without a wait.
    both = cafleet.run("message", "wait", "4", "--timeout", "0", "--json").json()
    assert len(both) == 2
    assert cafleet.run("message", "wait", "4").stdout == cafleet.run("message", "poll", "4").stdout


def test_message_wait_ends_at_its_timeout_or_when_the_member_leaves(
    people: Registry, cafleet: Program
) -> None:
    assert_refused(cafleet.run("message", "wait", "4", "--timeout", "1"), 1, "has come in 1 s")
    assert_refused(cafleet.run("message", "wait", "99"), 1, "99")
    assert cafleet.run("message", "wait", "4", "--timeout", "-1").exit_code == 2
    process = waiting(cafleet, people, "message", "wait", "4", "--timeout", str(2**63 - 1))
    people.rows("UPDATE members SET status = 'deregistered' WHERE member_id = 4")
    assert_refused(end_of(cafleet, process)[0], 1, "4")


def test_message_wait_ends_when_its_sender_leaves(people: Registry, cafleet: Program) -> None:
    process = waiting(cafleet, people, *message_from(4, 5))
    cafleet.run("member", "delete", "5").ok()
    late, took = end_of(cafleet, process)
    assert took < 10
    again = cafleet.run(*message_from(4, 5))
    assert (late.exit_code, late.stderr) == (again.exit_code, again.stderr)
    assert "member 5" in late.stderr


def test_what_a_sender_has_left_behind_is_still_printed(people: Registry, cafleet: Program) -> None:
    process = waiting(cafleet, people, *message_from(4, 5))
    process.send_signal(signal.SIGSTOP)
    people.message(5, 4, "farewell", delivery_state="queued")
    cafleet.run("member", "delete", "5").ok()
    process.send_signal(signal.SIGCONT)
    assert "farewell" in end_of(cafleet, process)[0].ok().stdout


def acked(sender: int, recipient: int) -> list[str]:
    people = ["--from-member-id", str(sender), "--to-member-id", str(recipient)]
    return ["message", "send", *people, "--wait", "acked", "--timeout", "3600", "--", "hello"]


def timed(words: list[str], seconds: str) -> list[str]:
    return [seconds if word == "3600" else word for word in words]


def message_from(waiter: int, sender: int) -> list[str]:
    return ["message", "wait", str(waiter), "--from-member-id", str(sender), "--timeout", "3600"]


CIRCLES: list[tuple[Sequence[list[str]], list[str], str]] = [
    ([acked(3, 4)], acked(4, 3), "member 4 would wait for 3, who waits for 4, so"),
    ([message_from(3, 4)], message_from(4, 3), "member 4 would wait for 3, who waits for 4, so"),
    (
        [message_from(3, 4), acked(4, 5)],
        acked(5, 3),
        "member 5 would wait for 3, who waits for 4, who waits for 5, so",
    ),
    ([], message_from(3, 3), "member 3 would wait for itself, so"),
    ([], acked(3, 3), "member 3 would wait for itself, so"),
    (
        [acked(3, 4), message_from(4, 5)],
        acked(5, 3),
        "member 5 would wait for 3, who waits for 4, who waits for 5, so",
    ),
]


@pytest.mark.parametrize(("before", "last", "circle"), CIRCLES)
def test_a_wait_that_closes_a_circle_is_refused(
    people: Registry, cafleet: Program, before: Sequence[list[str]], last: list[str], circle: str
) -> None:
    processes = [waiting(cafleet, people, *words) for words in before]
    try:
        refused = cafleet.run(*last)
        assert refused.exit_code == 1
        assert circle in refused.stderr
        if last[1] == "send":
            assert "is stored, do not send it again" in refused.stderr
        assert people.value("SELECT count(*) FROM waits") == len(processes)
    finally:
        kill(processes)
    if not before:
        return
    # A waiter that was killed blocks nobody, and its traces are gone with the next wait.
    ends = cafleet.run(*timed(last, "0"))
    assert circle not in ends.stderr
    assert people.rows("SELECT * FROM waits") == []
    assert list(people.path.parent.glob("*.wait-*")) == []


def test_a_message_that_ends_the_wait_for_it_closes_no_circle(
    people: Registry, cafleet: Program
) -> None:
    receiver = waiting(cafleet, people, *message_from(3, 4))
    # It has seen nothing yet when the sender begins to wait.
    receiver.send_signal(signal.SIGSTOP)
    sender = waiting(cafleet, people, *acked(4, 3))
    receiver.send_signal(signal.SIGCONT)
    assert "hello" in end_of(cafleet, receiver)[0].ok().stdout
    cafleet.run("message", "ack", "1").ok()
    assert end_of(cafleet, sender)[0].exit_code == 0


@pytest.mark.parametrize("words", [acked, message_from])
def test_a_stopped_waiter_whose_time_is_over_blocks_nobody(
    people: Registry, cafleet: Program, words: Callable[[int, int], list[str]]
) -> None:
    stopped = waiting(cafleet, people, *timed(words(3, 4), "3"))
    try:
        stopped.send_signal(signal.SIGSTOP)
        until = datetime.fromisoformat(people.value("SELECT until_at FROM waits"))
        wait_for(lambda: datetime.now(UTC) > until, "the time is over", seconds=30)
        ends = cafleet.run(*timed(words(4, 3), "0"))
        assert "could never end" not in ends.stderr
        # The row goes with its process, which may still have to remove its file.
        assert people.value("SELECT count(*) FROM waits") == 1
    finally:
        stopped.send_signal(signal.SIGCONT)
    assert " 3 s;" in end_of(cafleet, stopped)[0].stderr
    assert people.rows("SELECT * FROM waits") == []


def kill(processes: Sequence[subprocess.Popen[Any]]) -> None:
    for process in processes:
        process.kill()
        process.communicate()


def test_a_terminated_waiter_leaves_nothing(people: Registry, cafleet: Program) -> None:
    process = waiting(cafleet, people, "message", "wait", "4")
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 143
    assert people.rows("SELECT * FROM waits") == []
    assert list(people.path.parent.glob("*.wait-*")) == []


def test_a_timeout_goes_with_a_wait(people: Registry, cafleet: Program) -> None:
    for options in (("--timeout", "3"), ("--wait", "read"), ("--wait", "seen", "--timeout", "x")):
        assert cafleet.run(*SENT, *options, "hello").exit_code == 2
    assert people.value("SELECT count(*) FROM messages") == 0


@pytest.mark.parametrize("sender", ["0", "-1", "99", "9223372036854775808", "9" * 20])
def test_a_wait_for_nobody_is_refused_at_once(
    people: Registry, cafleet: Program, sender: str
) -> None:
    result = cafleet.run("message", "wait", "3", f"--from-member-id={sender}", "--timeout", "60")
    assert_refused(result, 1, f"member {sender} does not exist")
    assert people.rows("SELECT * FROM waits") == []
