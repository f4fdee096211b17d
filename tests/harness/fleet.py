"""A fleet founded by the program itself, with a byte recorder in each of its panes."""

from __future__ import annotations

from dataclasses import dataclass

from tests.harness.database import Database
from tests.harness.journals import Recorders, Recording
from tests.harness.program import Program
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

RESTING_CUES = ("? for shortcuts", "ctrl+p commands")


@dataclass(frozen=True)
class Seat:
    """One member of the fleet and the recorder in its pane."""

    member_id: int
    pane: str
    recording: Recording


@dataclass(frozen=True)
class Fleet:
    """``recipient`` and ``other`` are ordinary members; ``members`` holds all of those."""

    fleet_id: int
    director: Seat
    monitor: Seat
    members: tuple[Seat, ...]

    @property
    def recipient(self) -> Seat:
        return self.members[0]

    @property
    def other(self) -> Seat:
        return self.members[1]

    @property
    def seats(self) -> tuple[Seat, ...]:
        return (self.director, self.monitor, *self.members)


def found_fleet(
    cafleet: Program,
    database: Database,
    server: TmuxServer,
    recorders: Recorders,
    *,
    agent: str = "claude",
    members: int = 2,
    columns: int = 200,
    rows: int = 50,
) -> Fleet:
    """Start a session with a Director, create the fleet in its pane, then its ``members``."""
    agent_path = str(recorders.programs / agent)
    director_pane = server.session("main", [agent_path], columns=columns, rows=rows)
    recorders.of(director_pane).started()
    arguments = ["--name", "test", "--coding-agent", agent, "--json"]
    created = cafleet.run("fleet", "create", *arguments, pane=director_pane).json()

    def seat(member_id: int, pane: str) -> Seat:
        return Seat(member_id, pane, recorders.of(pane))

    fleet = Fleet(
        fleet_id=created["fleet_id"],
        director=seat(created["director"]["member_id"], director_pane),
        monitor=seat(
            created["monitor"]["member_id"], created["monitor"]["placement"]["mux_pane_id"]
        ),
        members=tuple(
            seat(*_new_member(cafleet, created["fleet_id"], director_pane, f"member-{number}"))
            for number in range(1, members + 1)
        ),
    )
    for occupied in fleet.seats:
        wait_until_resting(server, occupied.pane)
    return fleet


def _new_member(cafleet: Program, fleet_id: int, pane: str, name: str) -> tuple[int, str]:
    wishes = ["--fleet-id", str(fleet_id), "--name", name, "--description", "Records bytes"]
    prompt = "You are member {member_id}."
    member = cafleet.run("member", "create", *wishes, "--json", "--", prompt, pane=pane).json()
    return member["member_id"], member["placement"]["mux_pane_id"]


def wait_until_resting(server: TmuxServer, pane: str) -> None:
    """Wait until the agent in ``pane`` has drawn an empty composer with its resting hints."""

    def rests() -> bool:
        screen = server.screen(pane)
        return any(cue in screen for cue in RESTING_CUES) and "interrupt" not in screen

    wait_for(rests, f"{pane} shows a resting agent")
