"""A team of the real agents, in a home where nothing but `cafleet setup` has been done for it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from cafleet.agents.judge import judge
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Look
from tests.agents.homes import INSTALLED, furnish
from tests.agents.model import Model
from tests.agents.stage import START_SECONDS, path_of
from tests.agents.teammate import ORDER, Teammate
from tests.harness.database import Database
from tests.harness.loops import end_loops
from tests.harness.pictures import picture
from tests.harness.program import CAFLEET, Program
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

# As a person starts them; the rule is that of the README.
DIRECTORS = {
    CodingAgent.CLAUDE: ["claude", "--allowedTools", "Bash(cafleet *)"],
    CodingAgent.CODEX: ["codex"],
    CodingAgent.OPENCODE: ["opencode"],
}
T = TypeVar("T")


@dataclass(frozen=True)
class Agent:
    """A real agent in its pane."""

    agent: CodingAgent
    pane: str


@dataclass(frozen=True)
class Message:
    """A delivery in the database; ``events`` are the states that its notice has gone through."""

    message_id: int
    sender: int
    recipient: int
    status: str
    events: tuple[str, ...]


@dataclass
class Team:
    """``agents`` are by member id, the Director's being 1."""

    model: Model
    server: TmuxServer
    cafleet: Program
    database: Database
    agents: dict[int, Agent]

    monitor = 2

    @property
    def members(self) -> list[int]:
        return sorted(set(self.agents) - {1, self.monitor})

    def found(self) -> None:
        """Have the Director found a fleet with a member of each kind; wait until all rest."""
        prompt = "You are member {member_id} of fleet {fleet_id}, a {coding_agent}. Rest now."
        create = "cafleet member create --fleet-id 1 --description works"
        self.order(
            f"cafleet fleet create --name team --coding-agent {self.agents[1].agent}",
            *(f"{create} --name {kind} --coding-agent {kind} '{prompt}'" for kind in CodingAgent),
        )
        rows = self.database.rows(
            "SELECT member_id, coding_agent, mux_pane_id FROM member_placements"
        )
        self.agents = {member: Agent(CodingAgent(kind), pane) for member, kind, pane in rows}
        assert sorted(self.agents) == [1, 2, 3, 4, 5]
        for member in self.members:
            self._wait(partial(self.turns, member), f"{member} has begun")
            self.wait_for_state(self.agents[member], ScreenState.REST)

    def look(self, agent: Agent) -> Look:
        return judge(picture(self.server, agent.pane), agent.agent)

    def wait_for_state(self, agent: Agent, state: ScreenState) -> None:
        self._wait(lambda: self.look(agent).state is state, f"{agent} is {state}")

    def say(self, text: str) -> None:
        """Give the Director a turn, as a person would."""
        director = self.agents[1]
        self.wait_for_state(director, ScreenState.REST)
        self.server.paste(director.pane, text)
        self._wait(lambda: self.look(director).state is ScreenState.DRAFT, f"{text!r} stands there")
        self.server.enter(director.pane)

    def order(self, *commands: str) -> list[str]:
        """Have the Director run these commands; what they have printed."""
        self.begin_order(*commands)
        return self.wait_for_results(*commands)

    def begin_order(self, *commands: str) -> None:
        """Tell the Director to run these commands."""
        self.say(_order(commands))

    def wait_for_results(self, *commands: str) -> list[str]:
        """What the commands of the latest such order have printed, once they have been run."""
        return self._wait(lambda: self.results_of(*commands), f"{commands} have been run")

    def results_of(self, *commands: str) -> list[str]:
        """The same; empty until all have been run."""
        results = [
            each.asked.results[-each.asked.results_since :]
            for each in self.model.exchanges()
            if each.asked.turns[-1].strip() == _order(commands)
            and each.asked.results_since == len(commands)
        ]
        return list(results[-1]) if results else []

    def turns(self, member: int) -> list[str]:
        """What a member's model was told."""
        return self.model.turns(self._opening(member))

    def results(self, member: int) -> list[str]:
        """What a member's tools have returned."""
        found = self.model.exchanges(self._opening(member))
        return list(found[-1].asked.results) if found else []

    def _opening(self, member: int) -> str:
        return ORDER if member == 1 else f"You are member {member}"

    def messages(self, text: str) -> list[Message]:
        """The deliveries of this text, by id."""
        rows = self.database.rows(
            "SELECT message_id, from_member_id, to_member_id, status_state, (SELECT"
            " group_concat(state) FROM delivery_events WHERE delivery_events.message_id ="
            " messages.message_id) FROM messages WHERE text = ? AND type = 'unicast'"
            " ORDER BY message_id",
            text,
        )
        return [Message(*row[:4], tuple((row[4] or "").split(","))) for row in rows]

    def wait_until_done(self, texts: Sequence[str]) -> None:
        """Wait until there is a delivery for each text, acknowledged; no agent may ask meanwhile."""

        def done() -> bool:
            for agent in self.agents.values():
                look = self.look(agent)
                assert look.state is not ScreenState.AWAITING, look
            return all(
                [each.status for each in self.messages(text)] == ["completed"] * texts.count(text)
                for text in texts
            )

        self._wait(done, f"{texts} are acknowledged")

    def _wait(self, probe: Callable[[], T], what: str) -> T:
        try:
            return wait_for(probe, what, seconds=START_SECONDS)
        except AssertionError as failure:
            for pane in self.server.panes():
                failure.add_note(f"{pane}:\n{self.server.screen(pane).rstrip()}")
            raise


def _order(commands: Sequence[str]) -> str:
    return ORDER + "\n".join(commands)


@contextmanager
def assembled(director: CodingAgent, folder: Path) -> Iterator[Team]:
    """A Director at rest that was started as a person starts it; all files lie in ``folder``."""
    home, runtime, work = (folder / name for name in ("home", "runtime", "work"))
    for made in (home, runtime, work):
        made.mkdir(mode=0o700)
    with Model().serving() as model:
        model.rules = [Teammate()]
        given = furnish(home, work, model.url, asking=False)
        environment = {
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(runtime),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            **given,
            "PATH": path_of([str(_install_programs(home))]),
        }
        server = TmuxServer(environment)
        try:
            cafleet = Program({**server.environment}, server, work)
            database = Database(home / ".local/share/cafleet/cafleet.db")
            cafleet.run("setup").ok()
            pane = server.session("main", DIRECTORS[director], cwd=work, columns=240, rows=60)
            team = Team(model, server, cafleet, database, {1: Agent(director, pane)})
            team.wait_for_state(team.agents[1], ScreenState.REST)
            yield team
            database.check()
        finally:
            end_loops(folder)
            server.close()
            _end_servers(home)


def _end_servers(home: Path) -> None:
    """End what a Codex that was started by its bare name leaves behind: a server from its home."""

    def running() -> list[int]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has just ended, or is none of ours
                if (folder / "exe").readlink().is_relative_to(home):
                    found.append(int(folder.name))
        return found

    for pid in running():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not running(), "Codex has left no server")


def _install_programs(home: Path) -> Path:
    """The folder with cafleet and the agents, installed as people have them: where a login shell
    finds them, too. Codex runs its commands in one, which begins with a PATH of its own.
    """
    programs = home / ".local/bin"
    programs.mkdir(parents=True)
    node = shutil.which("node")
    assert node is not None
    for program in (CAFLEET, Path(node), *(INSTALLED / agent for agent in CodingAgent)):
        (programs / program.name).symlink_to(program)
    (home / ".profile").write_text('PATH="$HOME/.local/bin:$PATH"\n', encoding="utf-8")
    return programs
