"""What `member prompt` types: one text and one Enter, whatever the agent makes of it."""

from __future__ import annotations

import time

import pytest

from tests.harness.crew import CrewMaker
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for


@pytest.mark.parametrize(
    ("command", "left"), [("/new", "for shortcuts"), ("/model", "Do you want")]
)
def test_a_command_of_the_agents_own_gets_one_enter_and_leaves_its_menu_alone(
    crew: CrewMaker, cafleet: Program, registry: Registry, command: str, left: str
) -> None:
    seat = crew.make("alice").recipient
    began = time.monotonic()
    cafleet.run("member", "prompt", "3", command).ok()
    assert time.monotonic() - began < 15
    assert left in crew.server.screen(seat.pane)
    assert seat.recording.typed() == f"{command} \r".encode()
    assert seat.recording.events("approved", "dismissed") == []
    assert registry.value("SELECT count(*) FROM typings") == 0


@pytest.mark.parametrize("command", ["/new", "go on"])
def test_no_second_enter_goes_into_a_turn_that_began_after_the_paste(
    crew: CrewMaker, cafleet: Program, registry: Registry, command: str
) -> None:
    seat = crew.make("alice").recipient
    prompting = cafleet.start("member", "prompt", "3", command)
    wait_for(seat.recording.typed, "it is pasted")
    seat.recording.command(work=60, swallow_enter=1)
    done = cafleet.finish(prompting, seconds=60)
    assert (done.exit_code, "not certain" in done.stderr) == (1, True)
    assert seat.recording.typed().count(b"\r") == 1
