"""What a member may do under the rules that `setup` and `member create` leave it, each kind alone."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cafleet.records import CodingAgent, ScreenState
from tests.agents.homes import is_installed
from tests.agents.script import Call, Rule, shell
from tests.agents.stage import START_SECONDS, Stage, staged
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

    def results() -> list[str]:
        assert stage.look(member).state is not ScreenState.AWAITING, stage.look(member)
        asked = stage.model.exchanges(prompt)
        returned = asked[-1].asked.results if asked else ()
        return list(returned) if len(returned) == len(steps) else []

    returned = wait_for(results, "the steps are done", seconds=START_SECONDS)
    stage.remove(member)
    return returned


def test_the_pages_of_the_skill_can_be_read(stage: Stage) -> None:
    reads_its_pages(stage)


@pytest.mark.skipif(not is_installed("claude"), reason="claude is not installed")
def test_claude_reads_them_below_a_path_that_a_rule_could_misread(tmp_path: Path) -> None:
    folder = tmp_path / "a (b), [c] *"
    folder.mkdir()
    with staged(CodingAgent.CLAUDE, folder) as stage:
        reads_its_pages(stage)


def test_a_member_knows_itself_by_the_variables_of_its_pane(stage: Stage) -> None:
    # Codex starts a login shell, whose PATH is another, and this way it runs in its sandbox.
    program = str(CAFLEET) if stage.agent is CodingAgent.CODEX else "cafleet"
    calls = [f"{program} whoami", f"{program} whoami --json"]
    bare, told = done(stage, "who are you", *map(shell, calls))
    assert "of fleet 1, Director 1; by the variable" in bare
    assert '"evidence":"variable"' in told


def reads_its_pages(stage: Stage) -> None:
    folder = f"{stage.cafleet.environment['HOME']}/{SKILLS[stage.agent]}/cafleet"
    pages = {"member.md": "# A member", "commands.md": "# Commands"}
    results = done(
        stage, "read your pages", *(reading(stage.agent, f"{folder}/{page}") for page in pages)
    )
    for result, heading in zip(results, pages.values(), strict=True):
        assert heading in result


@pytest.mark.skipif(not is_installed("codex"), reason="codex is not installed")
def test_codex_sends_from_its_sandbox() -> None:
    # In /tmp everything may be written, in the sandbox too.
    with (
        TemporaryDirectory(dir="/var/tmp") as folder,
        staged(CodingAgent.CODEX, Path(folder)) as stage,
    ):
        outside = f"{folder}/home/outside"
        send = f"{CAFLEET} message send --from-member-id 2 --to-member-id 1 'out of the sandbox'"
        # No rule lets a compound out.
        (result,) = done(stage, "send from inside", shell(f"touch {outside}; {send}"))
        assert f"cannot touch '{outside}'" in result
        assert "Message 1 stored, notice " in result
        assert "no courier runs" not in result
        assert settled(stage.database, 1)["state"] == "submitted"


@pytest.mark.skipif(not is_installed("opencode"), reason="opencode is not installed")
def test_opencode_refuses_a_redirection_or_a_compound_of_other_commands(tmp_path: Path) -> None:
    poll = "cafleet message poll 2"
    send = "cafleet message send --from-member-id 2 --to-member-id 1"
    with staged(CodingAgent.OPENCODE, tmp_path) as stage:
        results = done(
            stage,
            "try the shell",
            *map(shell, ["ls > listed", f"{poll} && touch touched", f"{poll} | tee teed"]),
            shell(f"{send} 'a -> b'"),
        )
        assert [each.partition(" a rule which prevents")[1] != "" for each in results] == [
            *[True] * 3,
            False,
        ]
        assert "Message 1 stored" in results[3]
        assert not any((stage.work / name).exists() for name in ("listed", "touched", "teed"))
