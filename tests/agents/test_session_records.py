"""The real agents' session records: what they prove while the agents work and rest."""

from __future__ import annotations

import sqlite3

import pytest

from cafleet.agents.sessions import Activity, Session, opencode
from cafleet.courier.observing import Observation, Target, look_at
from cafleet.courier.session_witness import SessionWitness, find_session, has_submitted
from cafleet.panes import Multiplexer, multiplexer
from cafleet.records import CodingAgent, ScreenState
from tests.agents.stage import Member, Stage
from tests.agents.test_notices import at_work
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.agents


def seen(stage: Stage, member: Member) -> tuple[Multiplexer, Target, Observation]:
    target = stage.target(member)
    mux = multiplexer(target.backend, target.socket)
    return mux, target, look_at(mux, [target])[target.pane]


def session_of(stage: Stage, member: Member) -> Session:
    if stage.agent is CodingAgent.OPENCODE:
        path = opencode.database(stage.cafleet.environment["HOME"])
        for session_id in opencode.session_ids(path, str(stage.work)):
            session = opencode.read(path, session_id)
            if session is not None and session.submitted[0].startswith(member.opening):
                return session
        raise AssertionError("there is no session of the member")
    _, _, observation = seen(stage, member)
    found = find_session(stage.agent, observation.processes)
    assert found is not None
    return found.session


def testimony(stage: Stage, member: Member) -> ScreenState | None:
    _, target, observation = seen(stage, member)
    return SessionWitness()(target, observation)


def test_what_was_submitted_is_in_the_record(stage: Stage, member: Member) -> None:
    sent = stage.send(member, "remember the word pomegranate")
    assert sent.state == "submitted"
    stage.wait_for_rest(member)
    # The record holds a text before its answer.
    wait_for(lambda: session_of(stage, member).turns[-1].role == "assistant", "it is answered")
    session = session_of(stage, member)
    ours = [text for text in session.submitted if text.startswith(sent.head)]
    assert ours
    assert ours[0].endswith("pomegranate") or ours[0].endswith("pomegranate ")
    assert [turn.role for turn in session.turns[-2:]] == ["user", "assistant"]
    assert session.turns[-1].text == "Understood."
    _, _, observation = seen(stage, member)
    assert has_submitted(
        stage.agent, observation.processes, f"{sent.head}\nremember the word pomegranate "
    )
    assert not has_submitted(stage.agent, observation.processes, f"{sent.head}\nremember the word")


def test_a_turn_that_runs_is_work_and_one_that_ended_is_not(stage: Stage, member: Member) -> None:
    if stage.agent is not CodingAgent.OPENCODE:
        # An agent writes down a moment after its screen that it rests.
        wait_for(lambda: testimony(stage, member) is None, "nothing is against rest")
    with at_work(stage, member):
        assert session_of(stage, member).activity is Activity.WORKING
        if stage.agent is not CodingAgent.OPENCODE:
            _, target, observation = seen(stage, member)
            assert SessionWitness()(target, observation) is ScreenState.WORKING
    stage.wait_for_rest(member)
    wait_for(
        lambda: session_of(stage, member).activity is Activity.IDLE, "the record shows the end"
    )


def test_reading_does_not_disturb_opencode(stage: Stage, member: Member) -> None:
    if stage.agent is not CodingAgent.OPENCODE:
        pytest.skip("the others keep their records in files of lines")
    path = opencode.database(stage.cafleet.environment["HOME"])
    for _ in range(50):
        opencode.session_ids(path, str(stage.work))
    assert stage.send(member, "after fifty reads").state == "submitted"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as conn:
        assert conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)
