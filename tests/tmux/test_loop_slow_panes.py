"""A pane, a lock or a server that is slow delays nobody but those that it concerns."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.harness.crew import CrewMaker
from tests.harness.fleet import Fleet, Seat
from tests.harness.loops import all_states, running, settled, wait_for_states
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for
from tests.tmux.faults import FaultyTmux
from tests.tmux.sending import frames

ALICE, BOB = 3, 4


@pytest.fixture
def two(crew: CrewMaker, registry: Registry) -> Fleet:
    fleet = crew.make("alice", "bob")
    registry.rows("INSERT INTO monitor_runtime (fleet_id, wake_interval_seconds) VALUES (1, 0)")
    return fleet


def post(registry: Registry, text: str, *, to: int, state: str = "queued") -> int:
    return registry.message(7 - to, to, text, delivery_state=state)


@contextmanager
def slow(seat: Seat) -> Iterator[None]:
    """The agent in the pane draws nothing new."""
    seat.recording.command(draw_delay=1000.0)
    yield
    seat.recording.command(draw_delay=0.0)


def test_a_pane_that_is_slow_after_the_paste_delays_nobody_that_was_served_with_it(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    alice, bob = two.members
    with slow(alice), running(cafleet, registry):
        first = [post(registry, "first", to=to) for to in (ALICE, BOB)]
        assert settled(registry, first[1])["state"] == "submitted"
        again = post(registry, "again", to=BOB)
        assert settled(registry, again)["state"] == "submitted"
        assert all_states(registry)[first[0]] == "typed"
    assert len(frames(bob)) == 2
    assert alice.recording.typed().count(b"first") == 1


def test_what_a_dead_courier_has_left_half_typed_delays_nobody_at_the_start(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    left = post(registry, "left", to=ALICE, state="typed")
    two.recipient.recording.command(type="what a person is writing")
    goes = post(registry, "hello", to=BOB)
    with running(cafleet, registry):
        assert settled(registry, goes)["state"] == "submitted"
        assert all_states(registry)[left] == "typed"
        assert settled(registry, left)["state"] == "unsure"
    assert two.recipient.recording.typed() == b""


def test_a_server_that_hung_is_served_as_soon_as_it_goes_on_and_was_not_pestered(
    two: Fleet,
    crew: CrewMaker,
    cafleet: Program,
    registry: Registry,
    faulty_tmux: FaultyTmux,
) -> None:
    server = int(crew.server.ask(two.other.pane, "#{pid}"))
    with running(cafleet, registry, env=faulty_tmux.variables("calls", "none")) as loop:
        os.kill(server, signal.SIGSTOP)
        try:
            post(registry, "hello", to=BOB)
            assert settled(registry, 1) == {
                "state": "unreachable",
                "reason": "tmux did not answer in time; see whether its server hangs",
            }
            before = faulty_tmux.calls("calls")
            time.sleep(13)
            assert faulty_tmux.calls("calls") - before <= 4
        finally:
            os.kill(server, signal.SIGCONT)
        began = time.monotonic()
        wait_for_states(registry, "submitted")
        assert time.monotonic() - began < 15
        time.sleep(1.0)
        loop.terminate()
        out, err = (stream.decode() for stream in loop.communicate(timeout=30))
    assert len(frames(two.other)) == 1
    assert err.count("the multiplexer does not answer") == 1
    assert out.count("multiplexer: well again") == 1


def test_a_signal_is_answered_at_once_though_tmux_hangs(
    two: Fleet, crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    server = int(crew.server.ask(two.other.pane, "#{pid}"))
    with running(cafleet, registry) as loop:
        os.kill(server, signal.SIGSTOP)
        try:
            post(registry, "hello", to=BOB)
            time.sleep(1)
            began = time.monotonic()
            loop.terminate()
            assert loop.wait(timeout=30) == 0
            assert time.monotonic() - began < 4
        finally:
            os.kill(server, signal.SIGCONT)
    assert all_states(registry) == {1: "queued"}
    assert registry.rows("SELECT pid, last_tick_at FROM monitor_runtime") == [(None, None)]


def test_a_signal_leaves_what_a_slow_pane_has_half_typed_to_the_next_courier(
    two: Fleet, cafleet: Program, registry: Registry
) -> None:
    seat = two.other
    with slow(seat), running(cafleet, registry) as loop:
        post(registry, "hello", to=BOB)
        wait_for(lambda: all_states(registry) == {1: "typed"}, "it is being typed")
        loop.terminate()
        assert loop.wait(timeout=30) == 0
    assert all_states(registry) == {1: "typed"}
    with running(cafleet, registry):
        wait_for_states(registry, "submitted")
    assert len(frames(seat)) == 1
