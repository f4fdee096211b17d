"""Processes by the dozen that send, read, acknowledge and list, while they and couriers are killed.

    python -m tests.faults.message_soak --processes 50 --messages 10000 --seed 1

What each of them was told stands in its journal, which :mod:`tests.faults.accounts` compares with
the database. Where the notices go is the subject of :mod:`tests.faults.delivery_soak`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.accounts import Account, faults
from tests.faults.crowd import gather
from tests.faults.kinds import KINDS
from tests.faults.staging import Stage, new_stage
from tests.faults.worker import STOP, journal, notes
from tests.harness.loops import loops, owner

_ROOT = Path(__file__).resolve().parents[2]
# With nobody to make trouble, all that is owed has to be settled in this time.
QUIET_SECONDS = 120.0
# Longer than any worker may take for the step that it is at.
_LAST_STEP_SECONDS = 60.0
_PLACELESS = 12
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A worker is killed when it has written some ``life`` notes since it started, so that a slow
    machine sees as many kills as a fast one. ``loop_seconds`` is the mean time between kills of the
    courier, ``panes`` the number of members with an agent."""

    processes: int
    messages: int
    seed: int
    panes: int = 6
    life: int = 100
    loop_seconds: float = 10.0

    def shares(self) -> list[tuple[str, int]]:
        """The role of each process, and how many messages are its to send."""
        one_in = {"command": 10, "read": 5, "look": 10}
        roles = [
            role for role, share in one_in.items() for _ in range(max(1, self.processes // share))
        ]
        senders = max(1, self.processes - len(roles))
        commands = roles.count("command")
        by_command = max(commands, self.messages // 50)
        each = _dealt(by_command, commands)
        rest = _dealt(self.messages - by_command, senders)
        return [
            *((role, next(each) if role == "command" else 0) for role in roles),
            *(("send", next(rest)) for _ in range(senders)),
        ]


def _dealt(total: int, hands: int) -> Iterator[int]:
    return (total // hands + (hand < total % hands) for hand in range(hands))


@dataclass
class Figures:
    """What a soak has come to; ``faults`` must be empty."""

    processes: int
    seed: int
    tried: int
    reported: int
    stored: int
    locked: int
    broadcasts: int
    acks: int
    beaten: int
    killed_workers: int
    killed_commands: int
    killed_loops: int
    seconds: float
    faults: list[str] = field(default_factory=list)

    def line(self) -> str:
        return ", ".join(
            f"{name} {value}" for name, value in vars(self).items() if name != "faults"
        )


@dataclass
class _Hand:
    """One place for a worker, and the process that fills it now, which is killed when its journal
    has ``last_note`` notes."""

    role: str
    name: str
    count: int
    process: subprocess.Popen[bytes]
    last_note: int


class Soak:
    """One run of a plan."""

    def __init__(self, stage: Stage, plan: Plan) -> None:
        self._stage = stage
        self._plan = plan
        self._rng = random.Random(plan.seed)
        self._serial = itertools.count()
        self._folder = stage.root / "workers"
        self._folder.mkdir()
        self._killed_workers = self._killed_loops = 0
        self._complaints: list[str] = []

    def run(self) -> Figures:
        stage, plan = self._stage, self._plan
        kinds = [KINDS["plain"]]
        crowd = gather(
            stage.cafleet, stage.registry, stage.server, stage.recorders, kinds, plan.panes
        )
        for number in range(_PLACELESS):
            stage.registry.member(crowd.fleet_id, f"placeless-{number}")
        began = time.monotonic()
        hands = [
            self._hired(role, f"{role}-{number}", count)
            for number, (role, count) in enumerate(plan.shares())
        ]
        with _ended(hands):
            self._disturb(hands, crowd.fleet_id)
            seconds = time.monotonic() - began
            (self._folder / STOP).touch()
            for hand in hands:
                self._see_off(hand)
        self._wait_for_rest(crowd.fleet_id, crowd.director_id, crowd.agents[0].member_id)
        return self._figures(hands, seconds)

    def _hired(self, role: str, name: str, count: int) -> _Hand:
        return _Hand(role, name, count, self._start(role, name, count), self._lifetime())

    def _lifetime(self) -> int:
        return self._rng.randint(1, 2 * self._plan.life)

    def _start(self, role: str, name: str, count: int) -> subprocess.Popen[bytes]:
        seed = f"{self._plan.seed} {next(self._serial)}"
        words = ["tests.faults.worker", role, name, str(self._folder), seed, str(count)]
        with (self._folder / f"{name}.stderr").open("ab") as stderr:
            return subprocess.Popen(
                [sys.executable, "-m", *words],
                env=self._stage.cafleet.environment,
                cwd=_ROOT,
                stdin=subprocess.DEVNULL,
                stderr=stderr,
            )

    def _disturb(self, hands: list[_Hand], fleet_id: int) -> None:
        """Kill at random until all is sent; whoever is killed is replaced by one who goes on."""
        loop_at = self._loop_kill_time()
        while any(hand.count and hand.process.poll() is None for hand in hands):
            for hand in hands:
                # One that runs commands kills those itself; without it, they would outlive it.
                if hand.role != "command" and hand.process.poll() is None:
                    self._kill_if_due(hand)
            if time.monotonic() >= loop_at:
                loop_at = self._loop_kill_time()
                self._kill_loop(fleet_id)
            time.sleep(self._rng.uniform(0.5, 1.5) * _LOOK_SECONDS)

    def _loop_kill_time(self) -> float:
        return time.monotonic() + self._rng.uniform(0.5, 1.5) * self._plan.loop_seconds

    def _kill_if_due(self, hand: _Hand) -> None:
        if notes(self._folder, hand.name) < hand.last_note:
            return
        hand.process.kill()
        hand.process.wait()
        self._killed_workers += 1
        written = [*journal(self._folder, hand.name)]
        tried = sum(1 for note in written if note.keys() & {"sending", "casting"})
        if tried < hand.count or not hand.count:
            hand.process = self._start(hand.role, hand.name, max(0, hand.count - tried))
        hand.last_note = len(written) + self._lifetime()

    def _kill_loop(self, fleet_id: int) -> None:
        pid = owner(self._stage.registry, fleet_id)
        if pid is not None and pid in loops(self._stage.root):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self._killed_loops += 1

    def _see_off(self, hand: _Hand) -> None:
        """Wait for its end; one that has failed has said why."""
        code = hand.process.wait(_LAST_STEP_SECONDS)
        if code not in (0, -signal.SIGKILL):
            words = (self._folder / f"{hand.name}.stderr").read_text(errors="replace")
            self._complaints.append(f"{hand.name} ended with {code}: {words[-2000:]}")

    def _wait_for_rest(self, fleet_id: int, sender_id: int, recipient_id: int) -> None:
        """Wait until nothing is owed any more, by a loop that this starts if none runs."""
        people = ["--from-member-id", str(sender_id), "--to-member-id", str(recipient_id)]
        self._stage.cafleet.run("message", "send", *people, "--", _LAST).ok()
        owed = "SELECT message_id, delivery_state FROM messages WHERE delivery_state IN "
        owed += "('queued', 'held', 'unreachable', 'typed')"
        ends = time.monotonic() + QUIET_SECONDS
        while (left := self._stage.registry.rows(owed)) and time.monotonic() < ends:
            time.sleep(0.3)
        self._complaints += [f"still owed in the end: {row}" for row in left]

    def _figures(self, hands: list[_Hand], seconds: float) -> Figures:
        account = Account.of(note for hand in hands for note in journal(self._folder, hand.name))
        account.tried.add(_LAST)
        registry = self._stage.registry
        return Figures(
            processes=self._plan.processes,
            seed=self._plan.seed,
            tried=len(account.tried) + len(account.casting),
            reported=len(account.sent) + len(account.cast),
            stored=registry.value("SELECT count(*) FROM messages"),
            locked=account.locked,
            broadcasts=len(account.casting),
            acks=len(account.acked),
            beaten=account.beaten.total(),
            killed_workers=self._killed_workers,
            killed_commands=account.killed_commands,
            killed_loops=self._killed_loops,
            seconds=round(seconds, 1),
            faults=[*self._complaints, *faults(registry, account)],
        )


_LAST = "the last one"


@contextmanager
def _ended(hands: list[_Hand]) -> Iterator[None]:
    """See that none of the workers outlives the block."""
    try:
        yield
    finally:
        for hand in hands:
            hand.process.kill()
            hand.process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.message_soak")
    parser.add_argument("--processes", type=int, default=50)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--life", type=int, default=100, help="notes of a worker until it is killed"
    )
    parser.add_argument("--keep", action="store_true", help="keep database, logs and journals")
    wanted = parser.parse_args()
    plan = Plan(
        processes=wanted.processes,
        messages=wanted.messages,
        seed=wanted.seed,
        life=wanted.life,
    )
    with new_stage(keep=wanted.keep) as here:
        figures = Soak(here, plan).run()
    print(figures.line(), flush=True)
    for fault in figures.faults:
        print(f"  FAULT {fault}", flush=True)
    return 1 if figures.faults else 0


if __name__ == "__main__":
    sys.exit(main())
