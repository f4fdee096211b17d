"""What is sent through the web reaches the panes, by the same courier as from the command line."""

from __future__ import annotations

import pytest

from tests.harness.crew import CrewMaker
from tests.harness.fleet import Fleet
from tests.harness.loops import loops, settled, stop_loop, wait_for_owner
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for
from tests.harness.web import Stream, serving

ALICE, BOB = 3, 4
SEND = "/api/messages/send"


@pytest.fixture
def two(crew: CrewMaker, registry: Registry) -> Fleet:
    """Alice and Bob; the monitor is pending and its wakes are off."""
    fleet = crew.make("alice", "bob")
    registry.rows("INSERT INTO monitor_runtime (fleet_id, wake_interval_seconds) VALUES (1, 0)")
    return fleet


def message(recipient: int | str, text: str) -> dict[str, object]:
    return {"from_member_id": ALICE, "to_member_id": recipient, "text": text}


def test_a_send_starts_a_courier_that_outlives_the_server(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    with serving(cafleet) as web:
        assert web.get("/api/monitor").ok()["running"] is False
        sent = web.post(SEND, message(BOB, "from the web")).ok()
        assert sent == {"message_id": 1, "status": "input_required"}
        assert settled(registry, 1)["state"] == "submitted"
        assert b"from the web" in two.other.recording.received()
        card = web.get("/api/monitor").ok()
        assert (card["running"], card["pid"]) == (True, wait_for_owner(registry))
        [delivery] = web.get(f"/api/members/{BOB}/inbox").ok()["messages"]
        assert delivery["delivery_state"] == "submitted"
        told = web.get("/api/messages/1/why").ok()
        assert [event["state"] for event in told["events"]] == ["typed", "submitted"]
        assert web.stop() == (0, "")
    assert wait_for_owner(registry) == card["pid"]


def test_a_courier_that_was_stopped_stays_stopped(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    cafleet.run("monitor", "stop", "1").ok()
    with serving(cafleet) as web:
        assert web.post(SEND, message("*", "to all")).ok()["status"] == "completed"
        assert not loops(registry.path.parents[1])
        states = {
            each["to_member_id"]: each["delivery_state"]
            for each in web.get("/api/timeline").ok()["messages"]
        }
        assert states == {1: "queued", 2: "queued", BOB: "queued"}


def test_a_fleet_that_cannot_be_reached_gets_its_messages_stored(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    registry.rows("UPDATE member_placements SET mux_socket = '/nonexistent/socket'")
    with serving(cafleet) as web:
        assert web.post(SEND, message(BOB, "stored")).ok()["message_id"] == 1
        assert not loops(registry.path.parents[1])


def test_the_monitor_is_woken_on_request(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    fleet = crew.make("alice", monitor=True)
    registry.rows("INSERT INTO monitor_runtime (fleet_id, wake_interval_seconds) VALUES (1, 0)")
    with serving(cafleet) as web:
        process = cafleet.start("monitor", "run", "1")
        try:
            wait_for(lambda: web.get("/api/monitor").ok()["running"], "the loop runs", seconds=30)
            stream = Stream(web)
            stream.next()
            asked_at = web.ask("POST", "/api/monitor/wake", fleet=1).ok()["wake_requested_at"]
            woken = wait_for(
                lambda: web.get("/api/monitor").ok()["last_wake_at"], "it is woken", seconds=30
            )
            assert woken > asked_at
            assert b"alice" in fleet.monitor.recording.received()
            assert stream.next() > 0
            stream.close()
            interval = {"wake_interval_seconds": 60}
            assert web.send_json("PATCH", "/api/monitor", interval).ok() == interval
            stop_loop(cafleet)
            card = web.get("/api/monitor").ok()
            assert (card["running"], card["last_wake_at"]) == (False, None)
            assert card["wake_interval_seconds"] == 60
        finally:
            process.kill()
            process.communicate()
