"""One stage an agent for the whole run, since the agents take their time to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cafleet.records import CodingAgent
from tests.agents.homes import is_installed
from tests.agents.stage import Member, Stage, staged


def _param(agent: CodingAgent) -> object:
    reason = f"{agent} is not installed; `make test-agents` installs it"
    marks = [
        pytest.mark.skipif(not is_installed(agent), reason=reason),
        pytest.mark.xdist_group(agent),
    ]
    return pytest.param(agent, marks=marks, id=agent)


@pytest.fixture(scope="session", params=[_param(agent) for agent in CodingAgent])
def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    agent: CodingAgent = request.param
    with staged(agent, tmp_path_factory.mktemp(agent)) as stage:
        yield stage


@pytest.fixture(params=[_param(agent) for agent in CodingAgent])
def own_stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    """A stage for one test, which may kill everything on it."""
    with staged(request.param, tmp_path) as stage:
        yield stage


@pytest.fixture
def member(stage: Stage) -> Member:
    """The real agent at rest, owed nothing, its model without rules; the same one if possible."""
    stage.model.rules = ()
    return stage.resting_member()
