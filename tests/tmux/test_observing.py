"""A look at a pane: two pictures, the processes, and a witness beside the screen."""

from __future__ import annotations

from contextlib import closing

import pytest

from cafleet.broker import fleets, members
from cafleet.courier.observing import Observation, Target, look_at, look_for_rest, target_of
from cafleet.panes import multiplexer
from cafleet.records import Backend, ScreenState
from cafleet.store.connection import connect
from tests.harness.crew import CrewMaker
from tests.harness.fleet import Seat
from tests.harness.waiting import wait_for


def target(crew: CrewMaker, seat: Seat) -> Target:
    with closing(connect(str(crew.registry.path))) as conn:
        member = members.get(conn, member_id=seat.member_id)
        found = target_of(member, fleets.database_id(conn))
    assert found is not None
    return found


@pytest.mark.parametrize("said", [*ScreenState, None])
def test_a_witness_can_only_take_rest_away(crew: CrewMaker, said: ScreenState | None) -> None:
    [seat] = crew.make("one").members
    mux = multiplexer(Backend.TMUX, crew.server.socket)
    here = target(crew, seat)
    heard: list[int] = []

    def witness(asked: Target, _: Observation) -> ScreenState | None:
        heard.append(asked.member_id)
        return said

    vetoes = {ScreenState.WORKING, ScreenState.AWAITING}
    for look in (look_at, look_for_rest):
        observation = look(mux, [here], witness=witness)[seat.pane]
        assert observation.look.state is (said if said in vetoes else ScreenState.REST)
        assert ("session record" in observation.look.cue) == (said in vetoes)
        assert [process.words[1] for process in observation.processes] == [
            str(crew.recorders.programs / "claude")
        ]
    assert set(heard) == {seat.member_id}

    heard.clear()
    seat.recording.command(question=True)
    wait_for(
        lambda: look_at(mux, [here])[seat.pane].look.state is ScreenState.AWAITING, "a question"
    )
    assert look_at(mux, [here], witness=witness)[seat.pane].look.state is ScreenState.AWAITING
    assert heard == []
