"""How soon notices are typed, and what fifty panes cost against one.

python -m tests.bench.courier_panes --panes 50
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from statistics import median

from cafleet import clock
from cafleet.broker import messages
from cafleet.store.connection import connect
from tests.faults.crowd import Crowd, gather
from tests.faults.kinds import KINDS
from tests.faults.staging import Stage, new_stage
from tests.harness.fleet import wait_until_resting
from tests.harness.loops import wait_for_states
from tests.harness.waiting import wait_for

_SECONDS = 120.0


@dataclass(frozen=True)
class Compared:
    """Seconds for one pane and for all of them, taken in turn, so that both meet the same load."""

    one: list[float]
    all: list[float]

    @property
    def ratio(self) -> float:
        return median(self.all) / median(self.one)


class Panes:
    """A fleet of so many resting members, with a live courier."""

    def __init__(self, here: Stage, crowd: Crowd) -> None:
        self._here = here
        self._crowd = crowd

    def first_bytes(self, rounds: int = 10) -> list[float]:
        """Seconds from the commit of a send to the first byte at the recipient's pane."""
        return [self._first_byte(number) for number in range(rounds)]

    def broadcasts(self, rounds: int = 3) -> Compared:
        """Seconds from a commit until all of its notices are known to be submitted."""
        return Compared(*self._in_turn(rounds, self._one_notice, self._broadcast))

    def scans(self, rounds: int = 3) -> Compared:
        """Seconds for `member capture` of one pane, and for `monitor scan`, as commands."""
        member = str(self._crowd.agents[0].member_id)
        fleet = str(self._crowd.fleet_id)
        run = self._here.cafleet.run

        def capture() -> float:
            return _timed(lambda: run("member", "capture", member).ok())

        def scan() -> float:
            return _timed(lambda: run("monitor", "scan", fleet).ok())

        return Compared(*self._in_turn(rounds, capture, scan))

    def _in_turn(
        self, rounds: int, *measures: Callable[[], float]
    ) -> tuple[list[float], list[float]]:
        first, second = zip(*([each() for each in measures] for _ in range(rounds)), strict=True)
        return list(first), list(second)

    def _first_byte(self, number: int) -> float:
        agent = self._crowd.agents[number % len(self._crowd.agents)]
        self._rest()
        agent.news()
        self._send(agent.member_id)
        committed = time.time()

        def arrived() -> float | None:
            new = [event["at"] for event in agent.news() if event["event"] == "bytes"]
            return new[0] if new else None

        return (wait_for(arrived, "the first byte", seconds=_SECONDS) or 0.0) - committed

    def _one_notice(self) -> float:
        self._rest()
        self._send(self._crowd.agents[-1].member_id)
        return self._submitted()

    def _broadcast(self) -> float:
        self._rest()
        with closing(connect(str(self._here.registry.path))) as conn:
            sender = self._crowd.director_id
            messages.broadcast(conn, sender_id=sender, text="all of you", now=clock.utc_now())
        return self._submitted()

    def _send(self, recipient: int) -> None:
        with closing(connect(str(self._here.registry.path))) as conn:
            sender = self._crowd.director_id
            messages.send(
                conn, sender_id=sender, recipient_id=recipient, text="you", now=clock.utc_now()
            )

    def _submitted(self) -> float:
        """Seconds from the newest message's creation to the last proof."""
        registry = self._here.registry
        wait_for_states(registry, "submitted", seconds=_SECONDS)
        created = registry.value("SELECT max(created_at) FROM messages")
        proven = registry.value("SELECT max(at) FROM delivery_events WHERE state = 'submitted'")
        began, ended = clock.read(created), clock.read(proven)
        assert began is not None
        assert ended is not None
        return (ended - began).total_seconds()

    def _rest(self) -> None:
        for agent in self._crowd.agents:
            wait_until_resting(self._here.server, agent.pane)


@contextmanager
def resting_panes(count: int) -> Iterator[Panes]:
    """So many simulated agents at rest; all ends with the block."""
    with new_stage() as here:
        kinds = [KINDS["plain"]]
        crowd = gather(here.cafleet, here.registry, here.server, here.recorders, kinds, count)
        yield Panes(here, crowd)


def _timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.courier_panes")
    parser.add_argument("--panes", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    wanted = parser.parse_args()
    with resting_panes(wanted.panes) as panes:
        bytes_ = panes.first_bytes(wanted.rounds)
        print(f"first byte: {_listed(bytes_)} s")
        for name, found in (
            ("broadcast", panes.broadcasts(wanted.rounds)),
            ("scan", panes.scans(wanted.rounds)),
        ):
            ratio = f"{found.ratio:.2f} × one"
            print(f"{name}: one {_listed(found.one)} s, all {_listed(found.all)} s: {ratio}")


def _listed(seconds: list[float]) -> str:
    return " ".join(f"{each:.2f}" for each in seconds)


if __name__ == "__main__":
    main()
