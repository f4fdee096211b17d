"""What a member may do under the rules that `setup` and `member create` leave it, each kind alone."""

from __future__ import annotations

import pytest

from cafleet.records import CodingAgent, ScreenState
from tests.agents.script import Call, Rule, shell
from tests.agents.stage import START_SECONDS, Stage
from tests.harness.loops import settled
from tests.harness.program import CAFLEET
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.agents

SKILLS = {
    CodingAgent.CLAUDE: ".claude/skills",
    CodingAgent.CODEX: ".codex/skills",
    CodingAgent.OPENCODE: ".config/opencode/skills",
}


def reading(agent: CodingAgent, path: str) -> Call:
    match agent:
        case CodingAgent.CLAUDE:
            return Call(tool="Read", arguments={"file_path": path})
        case CodingAgent.CODEX:
            return shell(f"cat '{path}'")
        case CodingAgent.OPENCODE:
            return Call(tool="read", arguments={"filePath": path})


def done(stage: Stage, prompt: str, *steps: Call) -> list[str]:
    """What a new member's tools return when its model does these steps at once; it must not ask."""
    stage.model.rules = [Rule(about=prompt, steps=steps)]
    member = stage.member(prompt)

    def results() -> tuple[str, ...]:
        assert stage.look(member).state is not ScreenState.AWAITING, stage.look(member)
        asked = stage.model.exchanges(prompt)
        return asked[-1].asked.results if asked else ()

    wait_for(lambda: len(results()) >= len(steps), "the steps are done", seconds=START_SECONDS)
    stage.remove(member)
    return list(results())


def test_the_pages_of_the_skill_can_be_read(stage: Stage) -> None:
    folder = f"{stage.cafleet.environment['HOME']}/{SKILLS[stage.agent]}/cafleet"
    pages = {"member.md": "# A member", "commands.md": "# Commands"}
    results = done(
        stage, "read your pages", *(reading(stage.agent, f"{folder}/{page}") for page in pages)
    )
    for result, heading in zip(results, pages.values(), strict=True):
        assert heading in result


def test_codex_sends_from_its_sandbox(stage: Stage) -> None:
    if stage.agent is not CodingAgent.CODEX:
        pytest.skip("only Codex has a sandbox of its own")
    outside = f"{stage.cafleet.environment['HOME']}/outside"
    send = f"{CAFLEET} message send --from-member-id 2 --to-member-id 1 'out of the sandbox'"
    # No rule lets a compound out.
    (result,) = done(stage, "send from inside", shell(f"touch {outside}; {send}"))
    assert f"cannot touch '{outside}'" in result
    assert " stored, notice " in result
    assert "no courier runs" not in result
    message = stage.database.value(
        "SELECT message_id FROM messages WHERE text = 'out of the sandbox'"
    )
    assert settled(stage.database, message)["state"] == "submitted"
