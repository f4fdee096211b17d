"""Each real agent at work in a git work tree of its own: it is trusted, and can commit."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cafleet.records import CodingAgent, ScreenState
from tests.agents.homes import is_installed
from tests.agents.script import Rule, shell
from tests.agents.stage import START_SECONDS, Stage, staged
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.agents

COMMIT = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m second"


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture(params=CodingAgent)
def there(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """A stage whose folder of work is a repository. In /tmp Codex may write everything."""
    if not is_installed(request.param):
        pytest.skip(f"{request.param} is not installed; `make test-agents` installs it")
    with (
        TemporaryDirectory(dir="/var/tmp") as folder,
        staged(request.param, Path(folder)) as stage,
    ):
        git(stage.work, "init", "-q")
        git(stage.work, "commit", "-q", "--allow-empty", "-m", "first")
        yield stage


def test_it_commits_in_its_tree_and_reaches_no_hook(there: Stage) -> None:
    prompt = "commit something"
    hook = f"{there.work}/.git/hooks/post-commit"
    steps = [shell(COMMIT), shell(f"touch {hook}"), shell(f"touch {there.work}/.git/config")]
    there.model.rules = [Rule(about=prompt, steps=steps)]
    member = there.member(prompt, "--worktree", "b", "--allow", "git *")

    def committed() -> bool:
        assert there.look(member).state is not ScreenState.AWAITING, there.look(member)
        asked = there.model.exchanges(prompt)
        return bool(asked) and len(asked[-1].asked.results) == len(steps)

    wait_for(committed, "the steps are done", seconds=START_SECONDS)
    assert git(there.work, "log", "-1", "--format=%s", "b") == "second"
    assert not Path(hook).exists()
    results = there.model.exchanges(prompt)[-1].asked.results
    if there.agent is CodingAgent.CODEX:
        assert all("cannot touch" in each for each in results[1:]), results
    done = there.cafleet.run("member", "delete", str(member.member_id), "--remove-worktree").ok()
    assert "work tree removed" in done.stdout
    assert git(there.work, "log", "-1", "--format=%s", "b") == "second"


def test_a_tree_of_a_repository_that_is_not_trusted_is_asked_for(
    there: Stage, tmp_path: Path
) -> None:
    if there.agent is CodingAgent.OPENCODE:
        pytest.skip("opencode trusts every folder")
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    git(stranger, "init", "-q")
    git(stranger, "commit", "-q", "--allow-empty", "-m", "first")
    member = there.member("hello", "--worktree", "b", "--cwd", str(stranger))
    there.wait_for_state(member, ScreenState.AWAITING, START_SECONDS)
