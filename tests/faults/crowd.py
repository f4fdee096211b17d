"""Many agents of some kinds, each in a window of its own size, all members of one fleet."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from cafleet.broker import fleets
from cafleet.panes import PaneTag, multiplexer
from cafleet.records import Backend
from cafleet.store.connection import connect
from tests.faults.kinds import Kind
from tests.harness.fleet import wait_until_resting
from tests.harness.journals import Recorders, Recording
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.tmux import TmuxServer
from tests.recorder import journal_of

PROMPT = "You are member"
SIZES = ((60, 12), (72, 24), (140, 40), (80, 24), (100, 30), (60, 30), (200, 14))
_AGENTS = ("claude", "codex", "opencode")


@dataclass
class Agent:
    """A member and the simulated agent in its pane of ``rows`` rows, 0 where that changes.

    ``events`` is the journal as far as it was read. ``spans`` are times, in seconds since the
    epoch, at which something was the matter with the pane that the courier cannot look behind.
    """

    member_id: int
    kind: Kind
    pane: str
    command: list[str]
    recording: Recording
    rows: int
    events: list[dict[str, Any]] = field(default_factory=list)
    spans: list[tuple[float, float, str]] = field(default_factory=list)
    _read: int = 0

    def news(self) -> list[dict[str, Any]]:
        """What has been written into the journal since the last call."""
        with journal_of(self.recording.folder, self.pane).open("rb") as journal:
            journal.seek(self._read)
            data = journal.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        new = [json.loads(line) for line in whole.splitlines()]
        self.events += new
        return new


@dataclass(frozen=True)
class Crowd:
    """``director_id`` sends as the others do, and has an agent of no special kind."""

    fleet_id: int
    director_id: int
    agents: list[Agent]


def gather(
    cafleet: Program,
    registry: Registry,
    server: TmuxServer,
    recorders: Recorders,
    kinds: Sequence[Kind],
    panes: int,
) -> Crowd:
    """Create a fleet with the program, which starts its loop, and ``panes`` members of the kinds in
    turn, who are put into the registry by hand since that takes a fraction of the time."""
    beside = server.session("main", [str(recorders.programs / "claude")])
    recorders.of(beside).started()
    wishes = ["--name", "soak", "--coding-agent", "claude", "--json"]
    created = cafleet.run("fleet", "create", *wishes, pane=beside).json()
    crowd = Crowd(created["fleet_id"], created["director"]["member_id"], [])
    with closing(connect(str(registry.path))) as conn:
        database_id = fleets.database_id(conn)
    sizes, agents = itertools.cycle(SIZES), itertools.cycle(_AGENTS)
    for number in range(panes):
        kind = kinds[number % len(kinds)]
        name = f"{kind.name}-{number}"
        member_id = registry.member(crowd.fleet_id, name)
        agent, (columns, rows) = next(agents), next(sizes)
        prompt = f"{PROMPT} {member_id}."
        words = [f"--prompt={prompt}"] if agent == "opencode" else ["--name", name, "--", prompt]
        command = [str(recorders.programs / agent), *words]
        pane = server.session(name, command, columns=columns, rows=rows)
        tag = PaneTag(database_id=database_id, fleet_id=crowd.fleet_id, member_id=member_id)
        multiplexer(Backend.TMUX, server.socket).set_tag(pane, tag)
        session, window = server.ask(pane, "#{session_name},#{window_id}").split(",")
        registry.place(
            member_id,
            pane,
            mux_socket=server.socket,
            mux_session=session,
            mux_window_id=window,
            coding_agent=agent,
        )
        steady = 0 if kind.trouble == "resize" else rows
        crowd.agents.append(Agent(member_id, kind, pane, command, recorders.of(pane), steady))
    for each in crowd.agents:
        each.recording.started()
        wait_until_resting(server, each.pane)
        if each.kind.switches:
            each.recording.command(**each.kind.switches)
    return crowd
