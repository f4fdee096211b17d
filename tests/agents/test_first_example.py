"""The first example of the README, done by the real agents: the member does its task and reports."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cafleet.records import CodingAgent
from tests.agents.script import Rule, shell
from tests.agents.stage import START_SECONDS, Stage
from tests.harness.program import CAFLEET
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.agents

README = Path(__file__).parents[2] / "README.md"


def example() -> list[str]:
    """The words of `member create` as the README has them."""
    [block] = re.findall(
        r"## A first fleet.*?```console\n(.*?)```", README.read_text("utf-8"), re.DOTALL
    )
    [create] = re.findall(
        r"^\$ cafleet (member create .*?)(?=^\$ )", block, re.MULTILINE | re.DOTALL
    )
    return shlex.split(create.replace("\\\n", " "))


def test_the_member_of_the_readme_runs_the_tests_and_reports(stage: Stage) -> None:
    words = example()
    words[words.index("--fleet-id") + 1] = str(stage.fleet.fleet_id)
    (stage.work / "Makefile").write_text("test:\n\t@echo 3 passed\nclean:\n\t@echo gone\n")
    newest = stage.database.value("SELECT max(member_id) FROM members")
    # Codex starts a login shell, whose PATH is another.
    program = str(CAFLEET) if stage.agent is CodingAgent.CODEX else "cafleet"
    people = f"--from-member-id {newest + 1} --to-member-id 1"
    steps = [shell("make test"), shell(f"{program} message send {people} '3 passed'")]
    about = f"You are member {newest + 1} of fleet"
    stage.model.rules = [Rule(about=about, steps=tuple(steps))]
    made = stage.cafleet.run(
        *words, "--coding-agent", stage.agent, "--json", pane=stage.fleet.director.pane
    ).json()
    assert made["member_id"] == newest + 1

    def report() -> str:
        rows = stage.database.rows(
            "SELECT text FROM messages WHERE from_member_id = ? AND to_member_id = 1", newest + 1
        )
        return rows[0][0] if rows else ""

    assert wait_for(report, "the member reports", seconds=START_SECONDS) == "3 passed"
    ran = stage.model.exchanges(about)[-1].asked.results[0]
    assert "3 passed" in ran
    stage.cafleet.run("member", "delete", str(newest + 1)).ok()


def test_what_was_not_allowed_is_refused(stage: Stage) -> None:
    if stage.agent is CodingAgent.CODEX:
        pytest.skip("its sandbox decides")
    (stage.work / "Makefile").write_text("test:\n\t@echo 3 passed\nclean:\n\t@echo it is clean\n")
    for allowed, expected in ((("--allow", "make test*"), [True, False]), ((), [False, False])):
        prompt = f"make what is allowed by {len(allowed)} words"
        steps = (shell("make test"), shell("make clean"))
        stage.model.rules = [Rule(about=prompt, steps=steps)]
        member = stage.member(prompt, *allowed)

        def results(prompt: str = prompt) -> list[str]:
            asked = stage.model.exchanges(prompt)
            found = asked[-1].asked.results if asked else ()
            return list(found) if len(found) == 2 else []

        returned = wait_for(results, "both were tried", seconds=START_SECONDS)
        said = ("3 passed", "it is clean")
        assert [each in text for each, text in zip(said, returned, strict=True)] == expected
        stage.remove(member)
