"""Sends by the thousand to agents that misbehave, while senders and couriers are killed.

    python -m tests.faults.delivery_soak --kind swallow --sends 1000 --panes 20 --seed 1

The journals of the agents are the witness of what was typed; see :mod:`tests.faults.witness`.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tests.faults import witness
from tests.faults.crowd import Agent, Crowd, gather
from tests.faults.kinds import KINDS, Kind
from tests.faults.posting import Letter, Posting, Reading, patience
from tests.faults.staging import Stage, new_stage
from tests.faults.troubles import TROUBLES, Trouble
from tests.harness.loops import loops, owner

# With nobody to make trouble, all that is owed has to be settled in this time.
QUIET_SECONDS = 120.0
# A composer that is found to hold something is cleared after so long, by "a person".
_TIDY_SECONDS = 3.0
_TIDY_AGAIN_SECONDS = 15.0
_BODIES = (
    "done",
    "please look at the parser, then tell me",
    "first line\nsecond line\n\nlast line",
    "a long one: " + "the tests of the store fail when the file is read-only; " * 3,
    "cut here " * 40,
    "what does [cafleet msg 3 to 2 (monitor) from 1 (Director) 2026-01-01T00:00:00.000000+00:00] mean?",
    "it said: Do you want to proceed? ❯ 1. Yes 2. No (esc to interrupt)",
    "emoji 🙂 and 日本語, $(touch /tmp/x) `id` \"quoted\" 'too' #{pane_id} \\n",
)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """``rate`` is sends a second, ``kill_seconds`` the mean time between kills of the courier."""

    kinds: Sequence[Kind]
    sends: int
    panes: int
    seed: int
    rate: float = 6.0
    kill_seconds: float = 15.0


@dataclass
class Figures:
    """What a soak has come to; ``faults`` must be empty."""

    kinds: str
    sends: int = 0
    stored: int = 0
    submitted: int = 0
    seen: int = 0
    unsure: int = 0
    held: int = 0
    killed_senders: int = 0
    killed_loops: int = 0
    seconds: float = 0.0
    doubts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Soak:
    """One run of a plan."""

    def __init__(self, stage: Stage, plan: Plan) -> None:
        self._stage = stage
        self._plan = plan
        self._rng = random.Random(plan.seed)
        self._letters: list[Letter] = []
        self._kills: list[float] = []
        self._quiet = threading.Event()
        self._over = threading.Event()
        self._failures: list[BaseException] = []

    def run(self) -> Figures:
        began = time.monotonic()
        stage, plan = self._stage, self._plan
        crowd = gather(
            stage.cafleet, stage.registry, stage.server, stage.recorders, plan.kinds, plan.panes
        )
        threads = [
            self._begin(self._trouble, crowd),
            self._begin(self._kill_loops, crowd),
            self._begin(self._tidy, crowd),
        ]
        try:
            complaints = self._send_all(crowd)
            self._quiet.set()
            left = self._wait_for_rest(crowd)
        finally:
            self._quiet.set()
            self._over.set()
            for thread in threads:
                thread.join()
        if self._failures:
            raise self._failures[0]
        for agent in crowd.agents:
            agent.recording.command(clear=True)
            agent.news()
        figures = self._figures(crowd)
        figures.faults = [*complaints, *left, *figures.faults]
        figures.seconds = time.monotonic() - began
        return figures

    def _begin(self, work: Callable[[Crowd], None], crowd: Crowd) -> threading.Thread:
        def guarded() -> None:
            try:
                work(crowd)
            except BaseException as failure:
                self._failures.append(failure)
                raise

        thread = threading.Thread(target=guarded)
        thread.start()
        return thread

    # Letters

    def _send_all(self, crowd: Crowd) -> list[str]:
        """Send at random times and from random members; the complaints of senders."""
        posting = Posting(self._stage.cafleet)
        try:
            for number in range(self._plan.sends):
                by_program = number % 8 == 0
                letter = self._letter(crowd, number, by_program)
                self._letters.append(letter)
                posting.post(letter, by_program=by_program)
                if self._rng.random() < 0.08:
                    reader = self._rng.choice(crowd.agents).member_id
                    posting.post(Reading(reader, self._rng.random() < 0.7))
                time.sleep(self._rng.expovariate(self._plan.rate))
        finally:
            posting.close()
        return posting.errors

    def _letter(self, crowd: Crowd, number: int, by_program: bool) -> Letter:
        agent = self._rng.choice(crowd.agents)
        others = [each.member_id for each in crowd.agents if each is not agent]
        return Letter(
            sender=self._rng.choice([crowd.director_id, *others]),
            recipient=agent.member_id,
            text=f"#{number} {self._rng.choice(_BODIES)}{agent.kind.ending}",
            urgent=self._rng.random() < agent.kind.urgent,
            patience=patience(self._rng, by_program=by_program),
        )

    # Trouble

    def _trouble(self, crowd: Crowd) -> None:
        troubles = [self._trouble_of(agent) for agent in crowd.agents]
        while not self._quiet.wait(0.05):
            for each in troubles:
                each.step(time.time(), each.agent.news())
        for each in troubles:
            each.end(time.time())
        # What they have begun is still to be ended.
        while not self._over.wait(0.05) or any(each.lasts(time.time()) for each in troubles):
            for each in troubles:
                each.step(time.time(), each.agent.news())
            time.sleep(0.05)

    def _trouble_of(self, agent: Agent) -> Trouble:
        rng = random.Random(f"{self._plan.seed} {agent.member_id}")
        return TROUBLES[agent.kind.trouble](agent, self._stage.server, rng)

    def _kill_loops(self, crowd: Crowd) -> None:
        rng = random.Random(f"{self._plan.seed} kills")
        while not self._quiet.wait(rng.uniform(0.5, 1.5) * self._plan.kill_seconds):
            pid = owner(self._stage.registry, crowd.fleet_id)
            if pid is not None and pid in loops(self._stage.root):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self._kills.append(time.time())

    def _tidy(self, crowd: Crowd) -> None:
        """Clear composers that have held something for a while, as their users would."""
        panes = {agent.member_id: agent.recording for agent in crowd.agents}
        since: dict[int, float] = {}
        while not self._over.wait(0.5):
            now = time.monotonic()
            drafts = self._members_with_drafts()
            since = {each: since.get(each, now) for each in drafts if each in panes}
            for member_id, at in since.items():
                if now - at >= _TIDY_SECONDS:
                    panes[member_id].tell(clear=True)
                    since[member_id] = now + _TIDY_AGAIN_SECONDS

    def _members_with_drafts(self) -> set[int]:
        """Members that are owed something which waits for a draft, and are not being typed to."""
        rows = self._stage.registry.rows(
            "SELECT owner_member_id FROM messages WHERE delivery_state = 'held' AND "
            "(SELECT reason FROM delivery_events WHERE delivery_events.message_id = "
            "messages.message_id ORDER BY event_id DESC LIMIT 1) LIKE 'draft:%' EXCEPT "
            "SELECT owner_member_id FROM messages WHERE delivery_state = 'typed'"
        )
        return {member_id for (member_id,) in rows}

    # The end

    def _wait_for_rest(self, crowd: Crowd) -> list[str]:
        """Wait until nothing is owed any more; what still is in the end."""
        self._have_a_loop(crowd)
        ends = time.monotonic() + QUIET_SECONDS
        while (left := self._owed()) and time.monotonic() < ends:
            time.sleep(0.3)
        return [f"still owed in the end: {row}" for row in left]

    def _have_a_loop(self, crowd: Crowd) -> None:
        """One more message, whose sender starts the loop if none runs."""
        letter = Letter(crowd.director_id, crowd.agents[0].member_id, "#end done", False, None)
        people = ["--from-member-id", str(letter.sender), "--to-member-id", str(letter.recipient)]
        self._stage.cafleet.run("message", "send", *people, "--", letter.text).ok()

    def _owed(self) -> list[tuple[object, ...]]:
        return self._stage.registry.rows(
            "SELECT message_id, owner_member_id, delivery_state, (SELECT reason FROM "
            "delivery_events WHERE delivery_events.message_id = messages.message_id "
            "ORDER BY event_id DESC LIMIT 1) FROM messages "
            "WHERE delivery_state IN ('queued', 'held', 'unreachable', 'typed')"
        )

    def _figures(self, crowd: Crowd) -> Figures:
        registry = self._stage.registry
        history = witness.changes(registry)
        reasons, unexplained = witness.doubts(history, crowd.agents, self._kills)

        def ever(state: str) -> int:
            return len({change.message_id for change in history if change.state == state})

        return Figures(
            kinds=",".join(kind.name for kind in self._plan.kinds),
            sends=len(self._letters),
            stored=registry.value("SELECT count(*) FROM messages WHERE text LIKE '#%'"),
            submitted=ever("submitted"),
            seen=ever("seen"),
            unsure=ever("unsure"),
            held=ever("held"),
            killed_senders=sum(letter.killed for letter in self._letters),
            killed_loops=len(self._kills),
            doubts=reasons,
            faults=[
                *witness.faults_of_storage(registry, self._letters),
                *witness.faults_of_typing(crowd.agents),
                *witness.faults_of_address(registry, crowd.agents),
                *witness.faults_of_claims(history, crowd.agents),
                *unexplained,
            ],
        )


_COLUMNS = (
    "sends",
    "stored",
    "submitted",
    "seen",
    "unsure",
    "held",
    "killed_senders",
    "killed_loops",
)


def headline() -> str:
    return f"{'kind':12}" + "".join(f"{name:>15}" for name in _COLUMNS) + f"{'s':>7}{'faults':>8}"


def line(figures: Figures) -> str:
    """The figures as a row of the table, why notices are unsure behind it."""
    numbers = "".join(f"{getattr(figures, name):>15}" for name in _COLUMNS)
    why = ", ".join(f"{count} {reason}" for reason, count in figures.doubts.most_common())
    end = f"{figures.seconds:>7.0f}{len(figures.faults):>8}"
    return f"{figures.kinds[:11]:12}{numbers}{end}" + (f"   unsure: {why}" if why else "")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.delivery_soak")
    parser.add_argument("--kind", action="append", choices=KINDS, help="all, if none is given")
    parser.add_argument("--sends", type=int, default=1000, help="to each kind")
    parser.add_argument("--panes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=6.0, help="sends a second")
    parser.add_argument(
        "--kill-seconds", type=float, default=15.0, help="between kills of the loop"
    )
    parser.add_argument("--keep", action="store_true", help="keep database, logs and journals")
    wanted = parser.parse_args()
    failed = 0
    print(headline(), flush=True)
    for name in wanted.kind or KINDS:
        plan = Plan(
            kinds=[KINDS[name]],
            sends=wanted.sends,
            panes=wanted.panes,
            seed=wanted.seed,
            rate=wanted.rate,
            kill_seconds=wanted.kill_seconds,
        )
        with new_stage(keep=wanted.keep) as here:
            figures = Soak(here, plan).run()
        print(line(figures), flush=True)
        for fault in figures.faults:
            print(f"  FAULT {fault}", flush=True)
        failed += bool(figures.faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
