"""What a person is about in a real agent's pane is left alone: questions and drafts."""

from __future__ import annotations

from typing import Any

import pytest

from cafleet.records import CodingAgent, ScreenState
from tests.agents.script import Call, Rule, shell
from tests.agents.stage import ANSWER_SECONDS, START_SECONDS, Member, Stage
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.agents

_CHOICES = [
    {"label": "red", "description": "the red one"},
    {"label": "blue", "description": "the blue one"},
]
_QUESTION: dict[str, Any] = {
    "question": "Which colour?",
    "header": "Colour",
    "options": _CHOICES,
}
QUESTIONS = {
    CodingAgent.CLAUDE: Call(
        tool="AskUserQuestion", arguments={"questions": [_QUESTION | {"multiSelect": False}]}
    ),
    CodingAgent.CODEX: Call(
        tool="request_user_input", arguments={"questions": [_QUESTION | {"id": "colour"}]}
    ),
    CodingAgent.OPENCODE: Call(tool="question", arguments={"questions": [_QUESTION]}),
}
# What makes an agent ask, where the argv of a member forbids that.
ASKING = {
    CodingAgent.CLAUDE: ["--permission-mode", "default"],
    CodingAgent.CODEX: ["--agent-arg=--enable=default_mode_request_user_input"],
    CodingAgent.OPENCODE: [],
}
PERMISSIONS = {
    CodingAgent.CLAUDE: shell("touch made-by-tool"),
    CodingAgent.OPENCODE: Call(
        tool="webfetch", arguments={"url": "http://127.0.0.1:9/", "format": "text"}
    ),
}


def asked(stage: Stage, question: Call) -> Member:
    """A member whose model has made it ask, in answer to a notice."""
    stage.model.rules = [Rule(about="ask me", steps=(question,))]
    member = stage.member(None, *ASKING[stage.agent])
    stage.wait_for_rest(member, START_SECONDS)
    sent = stage.send(member, "ask me")
    assert (sent.state, sent.reason) == ("submitted", None)
    stage.wait_for_state(member, ScreenState.AWAITING, ANSWER_SECONDS)
    return member


def leaves_it_open(stage: Stage, member: Member) -> None:
    before, screen = stage.turns(member), stage.server.screen(member.pane)
    for options in ([], ["--urgent"]):
        sent = stage.send(member, "yes, 1, y", *options)
        assert sent.state == "held"
        assert str(sent.reason).startswith("awaiting: ")
    assert stage.cafleet.run("member", "ping", str(member.member_id), "--json").json()["skipped"]
    assert stage.server.screen(member.pane) == screen
    assert stage.turns(member) == before
    stage.keys(member, "Escape")
    stage.wait_for_state(member, ScreenState.REST)
    # Held for as long as the agent works on those that the question has held.
    last = stage.send(member, "after it")
    wait_for(
        lambda: any("after it" in turn for turn in stage.turns(member)[len(before) :]),
        "the last message is a turn",
        seconds=ANSWER_SECONDS,
    )
    told = "\n".join(stage.turns(member)[len(before) :])
    assert told.count("yes, 1, y") == 2
    assert told.endswith("after it")
    wait_for(lambda: stage.state(last.message_id) == "submitted", "the last message is submitted")


def test_a_question_is_left_open(stage: Stage) -> None:
    member = asked(stage, QUESTIONS[stage.agent])
    leaves_it_open(stage, member)
    stage.remove(member)


def test_a_permission_is_left_to_the_person(stage: Stage) -> None:
    if stage.agent not in PERMISSIONS:
        pytest.skip("the argv of a member forbids this agent to ask for permissions")
    member = asked(stage, PERMISSIONS[stage.agent])
    leaves_it_open(stage, member)
    stage.remove(member)


@pytest.mark.parametrize("draft", ["half a thought", "two\nlines", "/", "see @"])
def test_a_draft_is_left_untouched(stage: Stage, member: Member, draft: str) -> None:
    before = len(stage.turns(member))
    if "\n" in draft:
        stage.server.paste(member.pane, draft)
    else:
        stage.write(member, draft)

    def whole() -> str:
        # A menu that opens is drawn in several steps.
        composer = stage.look(member).composer
        return composer if composer.split() == draft.split() else ""

    composer = wait_for(whole, "the draft stands there whole")
    stage.wait_for_state(member, ScreenState.DRAFT)
    held = stage.send(member, "when you are done", "--urgent")
    assert (held.state, str(held.reason).partition(":")[0]) == ("held", "draft")
    assert wait_for(whole, "the draft still stands there") == composer
    # Backspaces do not join lines everywhere, and Ctrl-C in a menu is not the same everywhere.
    stage.keys(member, *(["C-c"] if "\n" in draft else ["BSpace"] * len(draft)))
    assert stage.wait_for_turns(member, before) == [f"{held.head}\nwhen you are done"]
