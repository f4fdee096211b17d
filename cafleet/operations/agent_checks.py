"""The section of `doctor` on coding agents: which assets are where, and whether they are in order."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet import __version__
from cafleet.agents.installer import find_damage
from cafleet.agents.paths import AgentPaths, locate, variable_of
from cafleet.broker.assets import DamagedInstall
from cafleet.errors import CafleetError, NoHomeError
from cafleet.operations.findings import (
    AgentFindings,
    AgentsFindings,
    InstallState,
    SupersededInstall,
)
from cafleet.records import AssetInstall, CodingAgent

DEFAULT = "default"


def check_agents(
    installs: Sequence[AssetInstall], damaged: Sequence[DamagedInstall]
) -> AgentsFindings:
    """Judge each agent by the recorded ``installs``, and by its files where these are recorded."""
    agents = [_check(agent, installs, damaged) for agent in CodingAgent]
    current = {(agent.coding_agent, agent.path) for agent in agents}
    return AgentsFindings(
        ok=all(agent.error is None for agent in agents),
        cli_version=__version__,
        agents=agents,
        superseded=[
            SupersededInstall(
                coding_agent=row.coding_agent,
                path=row.path,
                recorded_version=row.cafleet_version,
                installed_at=row.installed_at,
            )
            for row in installs
            if (row.coding_agent, row.path) not in current
        ],
    )


def _check(
    agent: CodingAgent, installs: Sequence[AssetInstall], damaged: Sequence[DamagedInstall]
) -> AgentFindings:
    try:
        paths = locate(agent)
    except CafleetError as failure:
        return AgentFindings(
            coding_agent=agent,
            path=None,
            source="HOME" if isinstance(failure, NoHomeError) else variable_of(agent),
            recorded_version=None,
            installed_at=None,
            state=InstallState.ERROR,
            error=str(failure),
        )
    key = (agent, paths.base)
    row = next((row for row in installs if (row.coding_agent, row.path) == key), None)
    fault = next((each.fault for each in damaged if (each.coding_agent, each.path) == key), None)
    state, error = InstallState.NOT_INSTALLED, None
    if row is not None:
        state, error = _judge(row, paths)
    elif fault is not None:
        state, error = InstallState.ERROR, fault
    return AgentFindings(
        coding_agent=agent,
        path=paths.base,
        source=DEFAULT if paths.is_default else paths.variable,
        recorded_version=None if row is None else row.cafleet_version,
        installed_at=None if row is None else row.installed_at,
        state=state,
        error=error,
    )


def _judge(row: AssetInstall, paths: AgentPaths) -> tuple[InstallState, str | None]:
    cure = f"run `cafleet setup --coding-agent {row.coding_agent}`"
    if row.cafleet_version != __version__:
        return InstallState.STALE, (
            f"installed by cafleet {row.cafleet_version or 'of no version'}, and this is "
            f"{__version__}; {cure}"
        )
    try:
        damaged = find_damage(paths, row.coding_agent)
    except CafleetError as failure:
        return InstallState.ERROR, str(failure)
    if damaged is not None:
        return InstallState.ERROR, f"{damaged} is missing or not as it was installed; {cure}"
    return InstallState.OK, None
