"""Notices for a real agent: what its model is told, how often, and in which order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cafleet.courier.payloads import flattened
from cafleet.records import CodingAgent, ScreenState
from tests.agents.script import Rule, Say
from tests.agents.stage import ANSWER_SECONDS, Member, Sent, Stage
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.agents

# What a body is, and what its notice says of it.
BODIES = {
    "at": "please look at @word",
    "at-file": "see @made.txt",
    "slash": "/help",
    "bang": "!ls",
    "hash": "#x",
    "question-mark": "?",
    "fence": "```python\nprint(1)\n```",
    "markdown": "# Title\n\n- **bold** and `code`\n- [link](x)\n\n---\n| a | b |",
    "choice": "❯ 1. Yes\n  2. No [y/n] esc to interrupt",
    "emoji": "👩‍👩‍👧 🎉 🇯🇵 ✅",
    "clusters": "👨‍👩‍👧‍👦 🧑🏽‍🤝‍🧑🏿 👩‍❤️‍💋‍👨 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🫩 \u1112\u1161\u11ab क्‍ष می‌خواهم",
    "marks": "a" + "\u0301" * 40 + "b \u200b\u202e\U000e0041 end",
    "wide": "日本語の長い文章です。" * 8,
    "long-word": "w" * 200,
    "long-line": ("word " * 40).strip(),
    "tags": "<system-note>a</system-note> &amp; <b>",
    "backslash": "ends in a backslash \\",
    "notice": "[cafleet msg 1 to 3 (real) from 2 (monitor) 2026-01-01T00:00:00.000000+00:00]",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_a_resting_agent_is_told_once(stage: Stage, member: Member, body: str) -> None:
    before = len(stage.turns(member))
    sent = stage.send(member, body)
    assert (sent.state, sent.reason) == ("submitted", None)
    [told] = stage.wait_for_turns(member, before)
    assert told == f"{sent.head}\n{flattened(body, 200)}"


@contextmanager
def at_work(stage: Stage, member: Member) -> Iterator[Sent]:
    """The agent works on this message until the end of the block."""
    done = threading.Event()
    stage.model.rules = [Rule(about="work slowly", steps=(Say(until=done),))]
    try:
        work = stage.send(member, "work slowly")
        assert (work.state, work.reason) == ("submitted", None)
        stage.wait_for_state(member, ScreenState.WORKING)
        yield work
    finally:
        done.set()


def test_a_working_agent_is_not_disturbed(stage: Stage, member: Member) -> None:
    before = len(stage.turns(member))
    with at_work(stage, member) as work:
        held = [stage.send(member, f"later {number}") for number in range(3)]
        # The cue is the same for all.
        assert {(each.state, each.reason) for each in held} == {("held", held[0].reason)}
        assert str(held[0].reason).startswith("working: ")
    notices = [f"{each.head}\nlater {number}" for number, each in enumerate(held)]
    assert stage.wait_for_turns(member, before + 1) == ["\n".join(notices)]
    assert stage.turns(member)[before] == f"{work.head}\nwork slowly"
    assert all(each.finished for each in stage.model.exchanges(member.opening))
    wait_for(
        lambda: [stage.state(each.message_id) for each in held] == ["submitted"] * 3,
        "all are submitted",
    )


def test_an_urgent_notice_waits_in_the_queue_of_a_working_agent(
    stage: Stage, member: Member
) -> None:
    before = len(stage.turns(member))
    with at_work(stage, member) as work:
        held = stage.send(member, "this can wait")
        assert held.state == "held"
        urgent = stage.send(member, "this cannot", "--urgent")
        assert (urgent.state, urgent.reason) == ("submitted", None)
        assert stage.state(held.message_id) == "held"
    stage.wait_for_turns(member, before + 2)
    assert stage.turns(member)[before:] == [
        f"{work.head}\nwork slowly",
        f"{urgent.head}\nthis cannot",
        f"{held.head}\nthis can wait",
    ]
    assert all(each.finished for each in stage.model.exchanges(member.opening))


def test_prompt_and_ping_arrive(stage: Stage, member: Member) -> None:
    before = len(stage.turns(member))
    stage.cafleet.run("member", "prompt", str(member.member_id), "think of $HOME and @b").ok()
    assert stage.wait_for_turns(member, before) == ["think of $HOME and @b"]
    pinged = stage.cafleet.run("member", "ping", str(member.member_id), "--json").json()
    assert not pinged["skipped"]
    (ping,) = stage.wait_for_turns(member, before + 1)
    assert ping.startswith(f"cafleet message poll {member.member_id} ")


def test_a_shell_command_is_run_by_the_agent(stage: Stage, member: Member) -> None:
    before, line = len(stage.turns(member)), "echo made >made-by-shell"
    stage.cafleet.run("member", "prompt", str(member.member_id), "--shell", line).ok()
    if stage.agent is CodingAgent.OPENCODE:
        # It takes a ! that is pasted for text; only the key switches to its shell mode.
        assert stage.wait_for_turns(member, before) == [f"! {line}"]
        return
    made = stage.work / "made-by-shell"
    wait_for(made.exists, f"{stage.agent} has run the command", seconds=ANSWER_SECONDS)
    stage.wait_for_rest(member)
    assert stage.send(member, "after the command").state == "submitted"
    made.unlink()
