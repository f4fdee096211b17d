"""A team of the real agents at work, each under the rules that `setup` and `member create` leave it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from cafleet.records import CodingAgent, ScreenState
from tests.agents.homes import is_installed
from tests.agents.stage import START_SECONDS
from tests.agents.team import Team, assembled
from tests.agents.teammate import ANSWER, TASK
from tests.harness.loops import settled
from tests.harness.waiting import wait_for

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(
        not all(is_installed(agent) for agent in CodingAgent),
        reason="an agent is not installed; `make test-agents` installs all",
    ),
]

SEVERAL_PASSES = 3.0

# What a Director that was started without more ado may not do without asking its person.
ASKED_FOR = {
    CodingAgent.CLAUDE: "touch made-by-tool",
    CodingAgent.CODEX: "cafleet member prompt {monitor} hello",
    CodingAgent.OPENCODE: "cat /etc/hostname",
}


@pytest.fixture(
    scope="module",
    params=[pytest.param(agent, marks=pytest.mark.xdist_group(agent)) for agent in CodingAgent],
)
def team(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Team]:
    """A Director of each kind that has founded a fleet with one member of each kind, all at rest."""
    director: CodingAgent = request.param
    with assembled(director, tmp_path_factory.mktemp(f"team-of-{director}")) as team:
        team.found()
        yield team


def test_a_round_of_messages(team: Team) -> None:
    tasks = {member: f"{TASK}round {member}" for member in team.members}
    sent = team.order(
        *(
            f"cafleet message send --from-member-id 1 --to-member-id {member} '{text}'"
            for member, text in tasks.items()
        )
    )
    assert all(" stored, notice " in result for result in sent), sent
    team.wait_until_done([*tasks.values(), *(f"{ANSWER}round {member}" for member in tasks)])
    for member, text in tasks.items():
        (task,) = team.messages(text)
        (answer,) = team.messages(f"{ANSWER}round {member}")
        assert (task.sender, task.recipient) == (1, member)
        assert (answer.sender, answer.recipient) == (member, 1)
        assert "submitted" in task.events
        told = "\n".join(team.turns(member))
        assert (
            len(
                re.findall(
                    rf"\[cafleet msg {task.message_id} to {member} \(.+?\) from 1 \(Director\) ",
                    told,
                )
            )
            == 1
        )
        # The Director may have found it while it looked for another.
        told = "\n".join(team.turns(1))
        notices = told.count(f"[cafleet msg {answer.message_id} to 1 (Director) from {member} ")
        assert notices == ("submitted" in answer.events)


def test_a_broadcast(team: Team) -> None:
    (sent,) = team.order(f"cafleet message broadcast --from-member-id 1 '{TASK}everybody'")
    others = [team.monitor, *team.members]
    assert f"recipients={len(others)}" in sent
    team.wait_until_done([f"{TASK}everybody"] * len(others) + [f"{ANSWER}everybody"] * len(others))
    assert sorted(each.recipient for each in team.messages(f"{TASK}everybody")) == others
    assert sorted(each.sender for each in team.messages(f"{ANSWER}everybody")) == others


def test_the_monitor_watches_when_it_is_woken(team: Team) -> None:
    before = len(team.turns(team.monitor))
    team.database.rows("UPDATE monitor_runtime SET wake_requested_at = last_tick_at")
    wait_for(
        lambda: any(
            turn.startswith("[cafleet] tick: fleet 1") for turn in team.turns(team.monitor)[before:]
        ),
        "the monitor is woken",
        seconds=START_SECONDS,
    )
    team.wait_for_state(team.agents[team.monitor], ScreenState.REST)
    polled, scanned, listed, pinged = team.results(team.monitor)[-4:]
    assert "Error" not in polled
    assert "=== 1 (Director; kind=director" in scanned
    assert f"{1 + 1 + len(team.members)} members:" in listed
    assert "member" in pinged
    assert "Error" not in pinged


def test_a_question_is_left_to_the_person(team: Team) -> None:
    director = team.agents[1]
    command = ASKED_FOR[director.agent].format(monitor=team.monitor)
    team.begin_order(command)
    team.wait_for_state(director, ScreenState.AWAITING)
    screen = team.server.screen(director.pane)
    people = ["--from-member-id", str(team.monitor), "--to-member-id", "1"]
    sent = team.cafleet.run("message", "send", *people, "--json", "a late word").json()
    message_id = sent["message"]["message_id"]
    held = settled(team.database, message_id)
    assert held["state"] == "held"
    assert str(held["reason"]).startswith("awaiting: ")
    why = team.cafleet.run("message", "why", str(message_id)).ok().stdout
    assert "held (awaiting: " in why.splitlines()[0]
    (shown, *_) = team.cafleet.run("member", "list", "1", "--json").json()
    assert (shown["member_id"], shown["screen"], shown["owed"]) == (1, "awaiting", 1)
    time.sleep(SEVERAL_PASSES)
    assert team.server.screen(director.pane) == screen
    assert team.results_of(command) == []
    # Each of the three takes Enter for "yes, once".
    team.server.enter(director.pane)
    team.wait_for_results(command)
    team.wait_for_state(director, ScreenState.REST)
    team.wait_until_done(["a late word"])
    assert team.messages("a late word")[0].events[0] == "held"
    assert "submitted" in team.messages("a late word")[0].events
