"""The coding agents: how each is started, and what its screen says.

Only the agent that is asked for is imported. The judge of screens is `cafleet.agents.judge.judge`;
its module is imported where there is a picture to look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cafleet.records import CodingAgent

if TYPE_CHECKING:
    from cafleet.agents.base import Agent


def agent(name: CodingAgent) -> Agent:
    """The one object for the coding agent ``name``."""
    match name:
        case CodingAgent.CLAUDE:
            from cafleet.agents.claude import Claude

            return Claude()
        case CodingAgent.CODEX:
            from cafleet.agents.codex import Codex

            return Codex()
        case CodingAgent.OPENCODE:
            from cafleet.agents.opencode import Opencode

            return Opencode()


def default_monitor_prompt() -> str:
    """The monitor's spawn prompt for when none is given, its placeholders not yet filled in."""
    from cafleet.agents.assets import read

    return read("monitor-prompt.md")
