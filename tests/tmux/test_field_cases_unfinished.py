"""Texts that were left half typed, by a killed process or before a frozen agent: each is settled by
whoever comes next, is submitted once at most, and is never glued to another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cafleet.broker import monitor
from cafleet.clock import stamp
from cafleet.courier import submission
from cafleet.courier.reports import Reports
from cafleet.courier.waking import Waker
from cafleet.store.guard import open_database
from tests.harness.crew import CrewMaker
from tests.harness.fleet import Fleet, Seat, wait_until_resting
from tests.harness.loops import all_states, running, settled, wait_for_states
from tests.harness.program import Program
from tests.harness.registry import NOW, Registry
from tests.harness.waiting import wait_for
from tests.tmux.faults import FaultyTmux
from tests.tmux.sending import frames

ALICE = 3
UNSHOWN = "an earlier text was typed into the pane and has not shown there"
# Of a prompt, a ping and a wake: two looks, a buffer, the paste, a look, a buffer, the Enter, a look.
# A wake takes a picture of the fleet before its paste.
PASTE, ENTER, LAST = 4, 7, 8
ROOT = Path(__file__).parents[2]


@pytest.fixture
def fleet(crew: CrewMaker, registry: Registry) -> Fleet:
    made = crew.make("alice", monitor=True)
    registry.rows("INSERT INTO monitor_runtime (fleet_id, wake_interval_seconds) VALUES (1, 0)")
    return made


@pytest.fixture
def launched(crew: CrewMaker, registry: Registry, tmp_path: Path) -> Fleet:
    """A fleet whose member is the child of a launcher."""
    launcher = tmp_path / "launcher" / "claude"
    launcher.parent.mkdir()
    real = crew.recorders.programs / "claude"
    launcher.write_text(
        f"#!{sys.executable}\n"
        "import subprocess, sys\n"
        f"sys.exit(subprocess.call([{str(real)!r}, *sys.argv[1:]]))\n"
    )
    launcher.chmod(0o755)
    fleet = crew.make(monitor=True)
    member_id = registry.member(1, "alice")
    seat = crew.seat(1, member_id, fleet.director.pane, program=str(launcher))
    wait_until_resting(crew.server, seat.pane)
    registry.rows("INSERT INTO monitor_runtime (fleet_id, wake_interval_seconds) VALUES (1, 0)")
    return Fleet(fleet_id=1, director=fleet.director, monitor=fleet.monitor, members=(seat,))


def post(registry: Registry, text: str, to: int = ALICE) -> int:
    return registry.message(1, to, text, delivery_state="queued")


def is_held(registry: Registry, message_id: int) -> bool:
    found = settled(registry, message_id)
    return found == {"state": "held", "reason": UNSHOWN}


def left_over(registry: Registry) -> list[tuple[Any, ...]]:
    return registry.rows("SELECT kind, state FROM typings")


# --- T03: an agent that hangs


def test_an_agent_that_hangs_gets_one_text_and_takes_all_when_it_goes_on(
    fleet: Fleet, crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    seat = fleet.recipient
    seat.recording.command(hang=True)
    with running(cafleet, registry):
        first = post(registry, "the first one")
        assert settled(registry, first, seconds=60)["state"] == "unsure"
        second = post(registry, "the second one")
        wait_for(lambda: is_held(registry, second), "the second waits", seconds=30)
        said = cafleet.run("message", "why", str(second)).ok().stdout
        assert "the agent may hang" in said
        # Whoever types by hand is kept from it as well.
        prompted = cafleet.run("member", "prompt", str(seat.member_id), "hello")
        assert (prompted.exit_code, UNSHOWN in prompted.stderr) == (1, True)
        pinged = cafleet.run("member", "ping", str(seat.member_id), "--json").json()
        assert (pinged["skipped"], UNSHOWN in pinged["reason"]) == (True, True)
        # A pane of another size looks different, though nothing has drawn in it.
        crew.server.run("resize-pane", "-t", seat.pane, "-x", "100")
        crew.server.run("resize-pane", "-t", seat.pane, "-x", "90")
        third = post(registry, "the third one")
        assert settled(registry, third)["state"] == "held"
        time.sleep(7)
        assert (all_states(registry)[second], all_states(registry)[third]) == ("held", "held")
        seat.recording.command(hang=False)
        wait_for_states(registry, "submitted", seconds=60)
    texts = "".join(frames(seat))
    assert [texts.count(f"the {each} one") for each in ("first", "second", "third")] == [1, 1, 1]
    assert left_over(registry) == []
    events = registry.rows(
        "SELECT state FROM delivery_events WHERE message_id = ? ORDER BY event_id", first
    )
    assert events == [("typed",), ("unsure",), ("submitted",)]


def test_a_courier_that_is_killed_before_a_hanging_agent_leaves_no_second_text(
    fleet: Fleet, crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    seat = fleet.recipient
    seat.recording.command(hang=True)
    with running(cafleet, registry) as loop:
        first = post(registry, "the first one")
        wait_for(lambda: seat.pane in pasted(crew), "it is pasted", seconds=30)
        loop.kill()
        loop.wait()
    assert all_states(registry)[first] == "typed"
    with running(cafleet, registry):
        second = post(registry, "the second one")
        assert settled(registry, first, seconds=60)["state"] == "unsure"
        wait_for(lambda: is_held(registry, second), "the second waits", seconds=30)
        seat.recording.command(hang=False)
        wait_for_states(registry, "submitted", seconds=60)
    texts = "".join(frames(seat))
    assert (texts.count("the first one"), texts.count("the second one")) == (1, 1)


@pytest.mark.parametrize("late", [False, True], ids=["before the paste", "after the paste"])
def test_a_stopped_agent_behind_a_launcher_gets_each_text_once(
    late: bool, launched: Fleet, crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    seat = launched.recipient
    agent = child_of(int(crew.server.ask(seat.pane, "#{pane_pid}")))
    try:
        with running(cafleet, registry):
            if not late:
                os.kill(agent, signal.SIGSTOP)
            first = post(registry, "the first one")
            if late:
                wait_for(lambda: seat.pane in pasted(crew), "it is pasted", seconds=30)
                os.kill(agent, signal.SIGSTOP)
            found = settled(registry, first, seconds=60)["state"]
            assert found == ("unsure" if late else "held")
            second = post(registry, "the second one")
            assert settled(registry, second)["state"] == "held"
            os.kill(agent, signal.SIGCONT)
            wait_for_states(registry, "submitted", seconds=60)
    finally:
        os.kill(agent, signal.SIGCONT)
    texts = "".join(frames(seat))
    assert (texts.count("the first one"), texts.count("the second one")) == (1, 1)


@pytest.mark.slow
def test_a_session_record_proves_what_the_screen_does_not_show(
    fleet: Fleet, crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    seat = fleet.recipient
    agent = int(crew.server.ask(seat.pane, "#{pane_pid}"))
    seat.recording.command(hang=True)
    with running(cafleet, registry):
        first = post(registry, "the first one")
        assert settled(registry, first, seconds=60)["state"] == "unsure"
        [(text,)] = registry.rows("SELECT text FROM typings")
        write_record(Path(cafleet.environment["HOME"]) / ".claude", agent, text)
        wait_for_states(registry, "submitted", seconds=60)
    assert events_of(registry, first)[-1] == ("submitted", "session record")
    assert b"\r" not in seat.recording.typed()
    seat.recording.command(hang=False)


def events_of(registry: Registry, message_id: int) -> list[tuple[Any, ...]]:
    return registry.rows(
        "SELECT state, evidence FROM delivery_events WHERE message_id = ? ORDER BY event_id",
        message_id,
    )


def write_record(base: Path, process: int, text: str) -> None:
    """A session of Claude Code that the process shows, in which a person submitted ``text``."""
    session = "44444444-2222-4333-8444-555555555555"
    started = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    own = {"pid": process, "procStart": started, "sessionId": session, "status": "idle"}
    row = {
        "type": "user",
        "origin": {"kind": "human"},
        "message": {"role": "user", "content": text},
    }
    for path, content in (
        (base / "projects" / "-work" / f"{session}.jsonl", row),
        (base / "sessions" / f"{process}.json", own),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content) + "\n")


def child_of(process: int) -> int:
    [child] = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return int(child)


def pasted(crew: CrewMaker) -> str:
    """The panes into which a text of ours was pasted."""
    return crew.server.run("list-panes", "-a", "-F", "#{?#{@cafleet_paste},#{pane_id},}")


# --- T20: a menu that opens after the paste


def test_a_menu_that_opened_after_the_paste_gets_no_enter_and_the_text_gets_its_own_later(
    fleet: Fleet, cafleet: Program, registry: Registry
) -> None:
    seat = fleet.recipient
    seat.recording.command(question_after_paste=0.5)
    with running(cafleet, registry):
        first = post(registry, "the first one")
        assert settled(registry, first)["state"] == "unsure"
        second = post(registry, "the second one")
        assert settled(registry, second)["state"] == "held"
        assert b"\r" not in seat.recording.typed()
        seat.recording.command(question=False, question_after_paste=None)
        wait_for_states(registry, "submitted", seconds=40)
    assert seat.recording.events("approved", "dismissed") == []
    texts = "".join(frames(seat))
    assert (texts.count("the first one"), texts.count("the second one")) == (1, 1)


def test_a_text_that_a_person_clears_blocks_nobody(
    fleet: Fleet, cafleet: Program, registry: Registry
) -> None:
    seat = fleet.recipient
    seat.recording.command(draft_after_paste=0.5)
    with running(cafleet, registry):
        first = post(registry, "the first one")
        assert settled(registry, first)["state"] == "unsure"
        seat.recording.command(clear=True, draft_after_paste=None)
        second = post(registry, "the second one")
        wait_for(lambda: all_states(registry)[second] == "submitted", "it goes", seconds=40)
    assert all_states(registry)[first] == "unsure"
    assert "the first one" not in "".join(seat.recording.submits())
    assert left_over(registry) == []


def test_an_agent_that_swallows_enters_gets_few_and_the_text_goes_in_the_end(
    fleet: Fleet, cafleet: Program, registry: Registry
) -> None:
    seat = fleet.recipient
    seat.recording.command(swallow_enter=1)
    with running(cafleet, registry):
        first = post(registry, "the first one")
        assert settled(registry, first)["state"] == "unsure"
        assert seat.recording.typed().count(b"\r") == 3
        seat.recording.command(swallow_enter=0)
        # Nothing has changed on the screen, so the next Enter takes its time.
        wait_for_states(registry, "submitted", seconds=60)
    assert seat.recording.typed().count(b"\r") == 4


# --- T16: a crash in the middle


def test_a_row_that_cannot_be_read_costs_its_member_alone(
    crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    fleet = crew.make("alice", "bob")
    registry.rows("INSERT INTO monitor_runtime (fleet_id, wake_interval_seconds) VALUES (1, 0)")
    for seat in fleet.members:
        registry.rows(
            "INSERT INTO typings (member_id, kind, text, mux_pane_id, program, token, typed_at, state)"
            " VALUES (?, ?, 'x', ?, 'claude', 'f', ?, 'unsure')",
            seat.member_id,
            "song" if seat is fleet.recipient else "prompt",
            seat.pane,
            stamp(NOW),
        )
    with running(cafleet, registry) as loop:
        bad, good = post(registry, "hello"), post(registry, "hello", to=4)
        wait_for(lambda: all_states(registry)[good] == "submitted", "it goes", seconds=40)
        assert all_states(registry)[bad] == "queued"
        loop.terminate()
        err = loop.communicate(timeout=30)[1].decode()
    assert err.count("typings.kind holds 'song' where member_id is 3") == 1
    assert fleet.recipient.recording.typed() == b""


def at_each_call(cafleet: Program, faults: FaultyTmux, words: list[str]) -> Iterator[int]:
    """Run a command that types, killed before each of its calls of tmux; which one it was."""
    for call in range(1, LAST + 1):
        env = faults.variables(f"call-{call}", "kill-caller", at=call)
        done = cafleet.run(*words, env=env)
        assert done.exit_code == -9, (call, done.stdout, done.stderr)
        yield call


def command(seat: Seat, kind: str) -> list[str]:
    return ["member", kind, str(seat.member_id), *(["one more"] if kind == "prompt" else [])]


@pytest.mark.parametrize("kind", ["prompt", "ping"])
def test_a_killed_command_is_settled_by_the_next_one_without_a_courier(
    fleet: Fleet,
    cafleet: Program,
    registry: Registry,
    faulty_tmux: FaultyTmux,
    crew: CrewMaker,
    kind: str,
) -> None:
    seat = fleet.recipient
    words = command(seat, kind)
    text = "one more" if kind == "prompt" else "cafleet message poll"
    expected = 0
    for call in at_each_call(cafleet, faulty_tmux, words):
        assert left_over(registry) == ([(kind, "typed")] if call > 2 else []), call
        cafleet.run("member", "prompt", str(seat.member_id), f"next {call}").ok()
        expected += call > PASTE
        texts = "".join(frames(seat))
        assert texts.count(text) == expected, call
        assert texts.count(f"next {call} ") == 1, call
        assert left_over(registry) == [], call
        wait_until_resting(crew.server, seat.pane)


@pytest.mark.parametrize("kind", ["prompt", "ping"])
def test_a_killed_command_is_settled_by_the_courier(
    fleet: Fleet,
    cafleet: Program,
    registry: Registry,
    faulty_tmux: FaultyTmux,
    crew: CrewMaker,
    kind: str,
) -> None:
    seat = fleet.recipient
    words = command(seat, kind)
    env = faulty_tmux.variables(kind, "kill-caller", at=PASTE + 1)
    assert cafleet.run(*words, env=env).exit_code == -9
    assert left_over(registry) == [(kind, "typed")]
    with running(cafleet, registry):
        message_id = post(registry, "hello")
        wait_for(lambda: all_states(registry)[message_id] == "submitted", "it goes", seconds=30)
    assert left_over(registry) == []
    assert [len(text) > 0 for text in frames(seat)] == [True, True]


_WAKE = """
import sys
import time
from contextlib import closing
from cafleet.courier.reports import Reports
from cafleet.courier.waking import Waker
from cafleet.store.guard import open_database
with closing(open_database(sys.argv[1])) as conn:
    print(Waker(fleet_id=1, reports=Reports()).wake(conn))
"""


@pytest.mark.parametrize("call", range(1, LAST + 2))
def test_a_killed_wake_is_one_try_and_settled_by_the_courier(
    call: int, fleet: Fleet, cafleet: Program, registry: Registry, faulty_tmux: FaultyTmux
) -> None:
    registry.rows("UPDATE monitor_runtime SET wake_requested_at = 'x'")
    env = faulty_tmux.variables("wake", "kill-caller", at=call)
    done = subprocess.run(
        [sys.executable, "-c", _WAKE, str(registry.path)],
        env={**cafleet.environment, **env},
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == -9
    with running(cafleet, registry, "--interval", "0"):
        message_id = post(registry, "hello", to=2)
        wait_for(lambda: all_states(registry)[message_id] == "submitted", "it goes", seconds=40)
        wait_for(lambda: left_over(registry) == [], "nothing is left", seconds=30)
    wakes = "".join(frames(fleet.monitor)).count("[cafleet] tick")
    [(tries, outcome)] = registry.rows("SELECT wake_attempts, wake_outcome FROM monitor_runtime")
    if call <= 3:
        # The request ended with the claim of the loop, and nothing was typed.
        assert (wakes, tries, outcome) == (0, 0, None)
    elif call <= PASTE + 1:
        assert (wakes, tries, outcome) == (0, 1, "unproven")
    else:
        assert (wakes, tries, outcome) == (1, 0, "landed")


# --- T04: wakes whose proof fails


class Wakes:
    """A fleet whose monitor is woken by hand, at times that are given."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        registry.rows("UPDATE monitor_runtime SET wake_interval_seconds = 600, started_at = 'x'")

    def tick(self, seconds: float) -> bool | None:
        """As a loop does it so much later: whether a wake landed, ``None`` where none is due."""
        now = NOW + timedelta(seconds=seconds)
        with closing(open_database(str(self.registry.path))) as conn:
            row = monitor.runtime(conn, fleet_id=1)
            assert row is not None
            if monitor.wake_due(row, now=now) is None:
                return None
            waker = Waker(fleet_id=1, reports=Reports(), now=lambda: now)
            return waker.wake(conn) is not None

    def outcome(self) -> tuple[Any, ...]:
        [row] = self.registry.rows(
            "SELECT wake_attempts, wake_outcome, wake_reason FROM monitor_runtime"
        )
        return row


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks are for agents that answer at once."""
    for name in ("PASTE_SECONDS", "PROOF_SECONDS", "SLOW_SECONDS"):
        monkeypatch.setattr(submission, name, 0.5)


@pytest.mark.usefixtures("own_runtime", "impatient")
def test_a_wake_without_proof_goes_out_at_doubling_intervals(
    fleet: Fleet, registry: Registry
) -> None:
    """Four simulated hours of a monitor that loses each wake, with a look every minute."""
    fleet.monitor.recording.command(lose_pastes=True)
    wakes = Wakes(registry)
    tried = [minute for minute in range(4 * 60) if wakes.tick(60 * minute) is False]
    assert tried == [0, 10, 30, 70, 130, 190]
    assert len(fleet.monitor.recording.events("lost")) == len(tried)
    missing = "the composer is empty and the text is not on the screen"
    assert wakes.outcome() == (6, "unproven", missing)
    fleet.monitor.recording.command(lose_pastes=False)
    registry.rows("UPDATE monitor_runtime SET wake_requested_at = 'x'")
    assert wakes.tick(60 * 200) is True
    assert wakes.outcome() == (0, "landed", None)
    later = [minute for minute in range(200, 231) if wakes.tick(60 * minute) is not None]
    assert later == [210, 220, 230]


@pytest.mark.usefixtures("own_runtime", "impatient")
def test_no_second_wake_is_typed_while_the_first_may_still_stand(
    fleet: Fleet, cafleet: Program, registry: Registry
) -> None:
    fleet.monitor.recording.command(draw_delay=1000.0)
    wakes = Wakes(registry)
    assert wakes.tick(0) is False
    for minute in range(10, 60):
        registry.rows("UPDATE monitor_runtime SET wake_requested_at = 'x'")
        assert wakes.tick(60 * minute) is False
    assert wakes.outcome() == (1, "waiting", UNSHOWN)
    status = cafleet.run("monitor", "status", "1").ok().stdout
    assert f"wake_attempts: 1\nwake_outcome: waiting: {UNSHOWN}\n" in status
    told = cafleet.run("monitor", "status", "1", "--json").json()
    assert list(told)[-3:] == ["wake_attempted_at", "wake_attempts", "wake_outcome"]
    assert (told["wake_attempts"], told["wake_outcome"]) == (1, f"waiting: {UNSHOWN}")
    fleet.monitor.recording.command(draw_delay=0.0)
    wait_for(fleet.monitor.recording.typed, "it was typed")
    # The next due look settles the first one; a wake of its own has to wait for its time.
    assert wakes.tick(60 * 60) is False
    assert wakes.outcome() == (0, "landed", None)
    assert "".join(frames(fleet.monitor)).count("[cafleet] tick") == 1
    assert wakes.tick(60 * 60 + 1) is None
