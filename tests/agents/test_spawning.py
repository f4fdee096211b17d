"""The argv of each agent against the real program: its model is told the prompt, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from cafleet.records import CodingAgent
from tests.agents.script import Call, Rule, shell
from tests.agents.stage import START_SECONDS, Member, Stage, staged
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.agents

PROMPTS = {
    "option": "--help",
    "short-option": "-p and nothing else",
    "dashes": "-- --",
    "quotes": 'it\'s "quoted" and \\ $HOME `id` $(id) ${PATH} #{pane_id} ; true;',
    "lines": "first line\n  indented\n\n\tafter a tab and an empty line",
    "unicode": "日本語 👩‍👩‍👧 ﹙é﹚ «—»",
}


def started(stage: Stage, prompt: str) -> Member:
    member = stage.member(prompt.replace("{", "{{").replace("}", "}}"))
    wait_for(
        lambda: any(
            opening.rpartition("\n[cafleet start ")[0].strip() == prompt.strip()
            for opening in stage.model.openings()
        ),
        f"{prompt!r} arrives",
        seconds=START_SECONDS,
    )
    return member


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=list(PROMPTS))
def test_the_prompt_is_the_first_turn(stage: Stage, prompt: str) -> None:
    stage.model.rules = ()
    member = started(stage, prompt)
    stage.remove(member)


def test_a_prompt_of_fifty_kilobytes_is_read_from_its_file(stage: Stage) -> None:
    lines = [f"{at}: do what line {at} of this long task says" for at in range(1_000)]
    prompt = "\n".join(["THE-BEGINNING", *lines, "THE-END"])
    assert len(prompt.encode()) > 40_000
    newest = stage.database.value("SELECT max(member_id) FROM members")
    path = f"{stage.database.path}.prompt-{newest + 1}.txt"
    stage.model.rules = [Rule(about="Read the file", steps=readings(stage.agent, path))]
    opening = f"Read the file {path} now"
    member = stage.member(prompt)

    def results() -> str:
        asked = stage.model.exchanges(opening)
        return "\n".join(asked[-1].asked.results) if asked else ""

    wait_for(lambda: "THE-END" in results(), f"{path} is read", seconds=START_SECONDS)
    assert "THE-BEGINNING" in results()
    assert Path(path).stat().st_mode & 0o777 == 0o600
    stage.remove(member)
    assert not Path(path).exists()


def readings(agent: CodingAgent, path: str) -> tuple[Call, ...]:
    """How this agent reads the beginning and the end of a file."""
    match agent:
        case CodingAgent.CLAUDE:
            parts = ({"limit": 10}, {"offset": 990})
            return tuple(Call(tool="Read", arguments={"file_path": path, **part}) for part in parts)
        case CodingAgent.CODEX:
            return shell(f"head -n 5 '{path}'"), shell(f"tail -n 5 '{path}'")
        case CodingAgent.OPENCODE:
            parts = ({"limit": 10}, {"offset": 990})
            return tuple(Call(tool="read", arguments={"filePath": path, **part}) for part in parts)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24)])
def test_a_small_terminal(stage: Stage, tmp_path: Path, columns: int, rows: int) -> None:
    with staged(stage.agent, tmp_path, columns=columns, rows=rows) as small:
        member = small.resting_member()
        assert small.server.ask(member.pane, "#{pane_width}x#{pane_height}") == "80x24"
        short = small.send(member, "a short one")
        assert (short.state, short.reason) == ("submitted", None)
        assert small.wait_for_turns(member, 1) == [f"{short.head}\na short one"]
        long = small.send(member, "word " * 60)
        assert (long.state, long.reason) == ("submitted", None)
        assert small.wait_for_turns(member, 2) == [f"{long.head}\n{('word ' * 60)[:200]}…"]
