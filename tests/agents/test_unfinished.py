"""Texts for a real agent that were left in its composer by a process that was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.stage import Member, Stage
from tests.harness.loops import kill_loop, stop_loop, wait_for_owner
from tests.harness.waiting import wait_for
from tests.tmux.faults import FaultyTmux

pytestmark = pytest.mark.agents


def is_pasted(stage: Stage, member: Member, before: str) -> bool:
    """Whether something was pasted into the pane since its mark was this one."""
    return stage.server.ask(member.pane, "#{@cafleet_paste}") != before


def test_what_a_killed_courier_has_left_is_submitted_by_the_next(
    stage: Stage, member: Member
) -> None:
    before = len(stage.turns(member))
    mark = stage.server.ask(member.pane, "#{@cafleet_paste}")
    pending = stage.start_send(member, "left in the composer")
    wait_for(lambda: is_pasted(stage, member, mark), "it is pasted", seconds=30)
    kill_loop(stage.database)
    stage.cafleet.finish(pending)
    follower = stage.send(member, "the next one")
    [left, *_] = stage.wait_for_turns(member, before)
    assert left.endswith("\nleft in the composer")
    wait_for(lambda: not stage.owed(member), "all is told", seconds=60)
    assert stage.state(follower.message_id) == "submitted"
    # The record holds a text before the model is asked.
    wait_for(lambda: "the next one" in "\n".join(stage.turns(member)[before:]), "both are told")
    told = "\n".join(stage.turns(member)[before:])
    assert (told.count("left in the composer"), told.count("the next one")) == (1, 1)


def test_what_a_killed_prompt_has_left_is_submitted_before_the_next_prompt(
    stage: Stage, member: Member, tmp_path: Path
) -> None:
    faults = FaultyTmux.installed(tmp_path / "faults", stage.server)
    before = len(stage.turns(member))
    stop_loop(stage.cafleet)
    words = ["member", "prompt", str(member.member_id)]
    # Two looks, a buffer and the paste come before it.
    env = faults.variables("prompt", "kill-caller", at=5)
    assert stage.cafleet.run(*words, "the first prompt", env=env).exit_code == -9
    stage.cafleet.run(*words, "the second prompt")
    assert stage.wait_for_turns(member, before)[0] == "the first prompt"
    stage.cafleet.run(*words, "the third prompt").ok()
    wait_for(lambda: "the third prompt" in stage.turns(member)[-1], "it arrives", seconds=60)
    assert stage.turns(member)[before:].count("the first prompt") == 1
    assert stage.database.rows("SELECT * FROM typings") == []
    running = stage.cafleet.start("monitor", "run", "1")
    try:
        wait_for_owner(stage.database)
        assert stage.send(member, "after all that").state == "submitted"
    finally:
        running.terminate()
        running.communicate(timeout=30)
