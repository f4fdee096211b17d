"""The judge of the soak finds what it is there to find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults.crowd import Agent
from tests.faults.kinds import Kind
from tests.faults.posting import Letter
from tests.faults.witness import (
    Change,
    doubts,
    faults_of_address,
    faults_of_claims,
    faults_of_storage,
    faults_of_typing,
)
from tests.harness.journals import PASTE_END, PASTE_START, Recording
from tests.harness.registry import Registry, database_at_head, registry

__all__ = ["database_at_head", "registry"]

MEMBER = 3
NOTICE = "[cafleet msg 7 to 3 (bob) from 1 (Director) 2026-05-05T05:42:11.123456+00:00]\nhello "


def read(data: bytes) -> dict[str, Any]:
    return {"at": 10.0, "event": "bytes", "hex": data.hex()}


def pasted(text: str) -> dict[str, Any]:
    return read(PASTE_START + text.encode() + PASTE_END)


def event(name: str, at: float = 11.0, **details: Any) -> dict[str, Any]:
    return {"at": at, "event": name, **details}


def agent(*events: dict[str, Any], member_id: int = MEMBER, rows: int = 12) -> Agent:
    made = Agent(member_id, Kind(name="plain"), "%1", [], Recording(Path(), "%1"), rows)
    made.events += events
    return made


def typed(*message_ids: int) -> list[Change]:
    return [Change(message_id, MEMBER, 9.0, "typed", "") for message_id in message_ids]


def submitted(message_id: int = 7, at: float = 12.0) -> Change:
    return Change(message_id, MEMBER, at, "submitted", "")


GOOD = (pasted(NOTICE), read(b"\r"), event("submit", text=NOTICE))


def test_what_is_right_is_left_alone() -> None:
    drafted = (event("drafted", text="mine"), event("cleared", text=f"{NOTICE}mine"))
    assert faults_of_typing([agent(*GOOD, *drafted)]) == []
    assert faults_of_claims([*typed(7), submitted()], [agent(*GOOD)]) == []


@pytest.mark.parametrize(
    "events",
    [
        [*GOOD, read(b"\x1b")],
        [*GOOD, read(b"hello")],
        [*GOOD, pasted(NOTICE)],
        [*GOOD, event("approved")],
        [*GOOD, event("dismissed")],
        [*GOOD, event("escape")],
        [*GOOD, event("shell", text="# [cafleet")],
        [pasted(NOTICE), event("submit", text=f"{NOTICE}half a thought")],
        [event("drafted", text="mine"), event("cleared", text="min")],
        [event("drafted", text="mine"), event("cleared", text="")],
    ],
)
def test_a_slip_of_typing_is_found(events: list[dict[str, Any]]) -> None:
    assert len(faults_of_typing([agent(*events)])) == 1


def test_a_notice_in_two_panes_is_found() -> None:
    assert len(faults_of_typing([agent(*GOOD), agent(*GOOD, member_id=4)])) == 1


@pytest.mark.parametrize(
    ("history", "events"),
    [
        ([*typed(7), submitted()], GOOD[:2]),
        ([*typed(7), submitted(at=10.5)], GOOD),
        ([*typed(8), submitted(8)], GOOD),
        ([*typed(7, 8), submitted(7)], GOOD),
    ],
    ids=["never", "too early", "another", "not all"],
)
def test_a_false_claim_is_found(history: list[Change], events: list[dict[str, Any]]) -> None:
    assert len(faults_of_claims(history, [agent(*events)])) == 1


def test_messages_left_out_of_a_payload_count_as_told() -> None:
    heads = [NOTICE.replace("msg 7", f"msg {number}") for number in range(3, 13)]
    text = "[cafleet] 2 older messages: cafleet message poll 4\n" + "\n".join(heads)
    there = agent(pasted(text), event("submit", text=text))
    history = typed(*range(1, 13))
    assert faults_of_claims([*history, submitted(1)], [there]) == []
    assert len(faults_of_claims([*typed(0), *history, submitted(1)], [there])) == 1


def test_an_unsure_notice_needs_a_reason() -> None:
    history = [*typed(7), Change(7, MEMBER, 12.0, "unsure", "")]
    assert doubts(history, [agent(*GOOD)], [13.0])[1] != []
    assert doubts(history, [agent(*GOOD)], [11.0]) == ({"kill (submitted)": 1}, [])
    assert doubts(history, [agent(*GOOD, rows=24)], [11.0])[1] != []
    assert doubts(history, [agent(GOOD[0], rows=24)], [11.0]) == ({"kill (typed)": 1}, [])
    asked = agent()
    asked.spans.append((5.0, 9.5, "question"))
    assert doubts(history, [asked], []) == ({"question (not typed)": 1}, [])


def test_lost_doubled_and_misdirected_messages_are_found(registry: Registry) -> None:
    _, _, one, other = registry.crew("one", "other")
    message_id = registry.message(one, other, "twice")
    registry.message(one, other, "twice")
    letters = [
        Letter(one, other, "twice", False, None),
        Letter(one, other, "lost", False, None, reported=True),
        Letter(one, other, "killed", False, None),
    ]
    assert len(faults_of_storage(registry, letters)) == 2
    there = agent(pasted(NOTICE.replace("msg 7", f"msg {message_id}")), member_id=one)
    assert len(faults_of_address(registry, [there])) == 1
