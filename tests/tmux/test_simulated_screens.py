"""The simulated agents look like the real ones to the program's own judge."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cafleet.agents.judge import judge
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Look
from demo.screens import AGENTS
from tests.harness.fleet import wait_until_resting
from tests.harness.journals import Recorders
from tests.harness.pictures import picture
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

NOTICE = "[cafleet msg 1 to 3 (y) from 2 (x) 2026-01-01T00:00:00.000000+00:00]\n❯ 1. body ⏎ more"


@dataclass(frozen=True)
class Watched:
    """One pane and how the judge sees it."""

    server: TmuxServer
    agent: str
    pane: str

    def look(self) -> Look:
        return judge(picture(self.server, self.pane), CodingAgent(self.agent))

    def becomes(self, state: ScreenState, composer: str = "") -> None:
        seen = {"look": self.look()}

        def is_so() -> bool:
            seen["look"] = self.look()
            # A row that was broken after a blank ends without it.
            held = seen["look"].composer.replace("\n", " ")
            return seen["look"].state is state and held == composer.replace("\n", " ")

        wait_for(is_so, f"{self.agent} is seen as {state}; now {seen}", seconds=5)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(("columns", "rows"), [(60, 12), (100, 30), (200, 50)])
def test_every_state_is_seen(
    agent: str, columns: int, rows: int, tmux_server: TmuxServer, recorders: Recorders
) -> None:
    command = [str(recorders.programs / agent), "--", "You are member 3."]
    pane = tmux_server.session("main", command, columns=columns, rows=rows)
    recording = recorders.of(pane)
    watched = Watched(tmux_server, agent, pane)
    wait_until_resting(tmux_server, pane)
    watched.becomes(ScreenState.REST)
    assert "You are member 3." in watched.look().transcript

    draft = "a longer draft " * 6 + "ends"
    recording.command(type=draft)
    watched.becomes(ScreenState.DRAFT, draft)
    recording.command(clear=True)
    watched.becomes(ScreenState.REST)

    tmux_server.paste(pane, NOTICE + " ")
    watched.becomes(ScreenState.DRAFT, NOTICE)
    tmux_server.enter(pane)
    watched.becomes(ScreenState.REST)
    assert "body ⏎ more" in watched.look().transcript

    recording.command(work=60)
    watched.becomes(ScreenState.WORKING)
    tmux_server.paste(pane, "meanwhile ")
    watched.becomes(ScreenState.WORKING, "meanwhile")
    tmux_server.enter(pane)
    watched.becomes(ScreenState.WORKING)
    recording.command(restart=True)
    watched.becomes(ScreenState.REST)

    recording.command(question=True)
    watched.becomes(ScreenState.AWAITING)
    recording.command(question=False)
    watched.becomes(ScreenState.REST)
    recording.command(crash=True)
    watched.becomes(ScreenState.SHELL)
