"""A fleet with a real agent comes back after everything was killed, and the agent goes on."""

from __future__ import annotations

import os
import signal

import pytest

from tests.agents.stage import START_SECONDS, Member, Stage
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.agents

FIRST_WORDS = "You were restarted. Poll your messages, then continue what was interrupted."


def kill_all(stage: Stage, member: Member) -> None:
    """Kill tmux and everything in its panes at once."""
    server = stage.server
    panes = [*(seat.pane for seat in stage.fleet.seats), member.pane]
    pids = [int(server.ask(pane, "#{pane_pid}")) for pane in panes]
    for pid in (int(server.ask(member.pane, "#{pid}")), *pids):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "all have ended")


@pytest.mark.parametrize("ending", ["killed", "paused"])
def test_its_session_goes_on(own_stage: Stage, ending: str) -> None:
    stage = own_stage
    stage.model.rules = ()
    opening = f"The word is quince-{stage.agent}."
    member = stage.member(opening)
    wait_for(
        lambda: any(each.finished for each in stage.model.exchanges(opening)),
        "the first turn is answered",
        seconds=START_SECONDS,
    )
    stage.wait_for_rest(member)
    ask = ("member", "transcript", str(member.member_id), "--json")
    # An agent writes its record down a moment after its screen.
    wait_for(lambda: stage.cafleet.run(*ask).exit_code == 0, "something was written down")
    said = stage.cafleet.run(*ask).json()
    assert [turn["role"] for turn in said] == ["user", "assistant"]
    assert said[0]["text"].startswith(opening)
    if ending == "paused":
        here = {"pane": stage.fleet.director.pane, "seconds": 240}
        paused = stage.cafleet.run("fleet", "pause", "1", "--timeout", "120", "--json", **here)
        assert {each["outcome"] for each in paused.json()["members"]} == {"closed"}, paused
    else:
        kill_all(stage, member)
    back = stage.cafleet.run("fleet", "resume", "1", "--json", seconds=240).json()["members"]
    told = {each["member_id"]: each for each in back}
    assert {each["outcome"] for each in back if each["member_id"] != 1} == {"back"}, back
    assert told[member.member_id]["session"] == "resumed", back
    wait_for(
        lambda: any(FIRST_WORDS in turn for turn in stage.model.turns(opening)),
        "the agent is told that it was restarted",
        seconds=START_SECONDS,
    )
