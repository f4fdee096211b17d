"""A pass types only into the agent that it has seen at rest."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from cafleet.broker import deliveries
from cafleet.courier import delivery_pass
from cafleet.panes import multiplexer
from cafleet.records import Backend, DeliveryState
from cafleet.store.guard import open_database
from tests.harness.crew import CrewMaker
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for


def test_a_shell_that_takes_the_agents_place_before_the_paste_is_given_nothing(
    crew: CrewMaker,
    registry: Registry,
    own_runtime: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fleet = crew.make("alice")
    seat = fleet.recipient
    real = multiplexer(Backend.TMUX, crew.server.socket)

    class Interrupted:
        """The real one, before whose paste the agent ends."""

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def paste(self, *asked: Any) -> Any:
            seat.recording.tell(crash=True)
            wait_for(
                lambda: crew.server.ask(seat.pane, "#{pane_current_command}") == "sh",
                "a shell runs in the pane",
            )
            return real.paste(*asked)

    monkeypatch.setattr(delivery_pass, "multiplexer", lambda *_: Interrupted())
    message_id = registry.message(2, seat.member_id, "touch made", delivery_state="queued")
    with closing(open_database(str(registry.path))) as conn:
        delivery_pass.Pass(conn).run(deliveries.owing(conn, fleet_id=1))
        [found] = deliveries.states(conn, message_ids=[message_id]).values()
    assert (found.state, "another program" in str(found.reason)) == (DeliveryState.HELD, True)
    assert "[cafleet msg" not in crew.server.screen(seat.pane)
