"""A real agent that is restarted goes on in its session: its model is told of what was said before."""

from __future__ import annotations

import os
import signal

import pytest

from tests.agents.stage import START_SECONDS, Stage
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.agents

FIRST_WORDS = "You were restarted. Poll your messages, then continue what was interrupted."


def test_its_session_goes_on_after_a_crash(stage: Stage) -> None:
    stage.model.rules = ()
    opening = f"The word is kumquat-{stage.agent}."
    member = stage.member(opening)
    wait_for(
        lambda: any(each.finished for each in stage.model.exchanges(opening)),
        "the first turn is answered",
        seconds=START_SECONDS,
    )
    stage.wait_for_rest(member)
    server = stage.server
    os.kill(int(server.ask(member.pane, "#{pane_pid}")), signal.SIGKILL)
    wait_for(lambda: server.ask(member.pane, "#{pane_dead}") == "1", "the agent has ended")
    done = stage.cafleet.run(
        "member",
        "restart",
        str(member.member_id),
        "--json",
        pane=stage.fleet.director.pane,
        seconds=120,
    ).json()
    assert done["session"] == "resumed", done
    wait_for(
        lambda: any(FIRST_WORDS in turn for turn in stage.model.turns(opening)),
        "the agent is told that it was restarted",
        seconds=START_SECONDS,
    )
