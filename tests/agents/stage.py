"""A fleet for one real agent: the others in it are byte recorders, and the model is the stand-in."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cafleet.agents.judge import judge
from cafleet.broker import fleets, members
from cafleet.courier.observing import Target, target_of
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Look
from cafleet.store.connection import connect
from tests.agents.homes import furnish
from tests.agents.model import Model
from tests.harness.database import Database
from tests.harness.fleet import Fleet, found_fleet
from tests.harness.journals import Recorders
from tests.harness.loops import end_loops, settled
from tests.harness.pictures import picture
from tests.harness.program import CAFLEET, Program
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

# The first start unpacks and migrates, and machines are busy.
START_SECONDS = 480.0
ANSWER_SECONDS = 60.0
_OPENING = 40


@dataclass(frozen=True)
class Member:
    """A real agent in its pane."""

    member_id: int
    pane: str
    opening: str


@dataclass(frozen=True)
class Sent:
    """A message that was sent, the first line of its notice, and what the courier has made of it."""

    message_id: int
    head: str
    state: str | None
    reason: str | None


@dataclass
class Stage:
    """What one agent is tested with."""

    agent: CodingAgent
    model: Model
    server: TmuxServer
    cafleet: Program
    database: Database
    fleet: Fleet
    work: Path
    _made: int = field(default=0)
    _usual: Member | None = field(default=None)

    def resting_member(self) -> Member:
        """The one that was started first, or another if that one does not come to rest any more."""
        if self._usual is not None:
            try:
                self.wait_for_rest(self._usual)
                assert not self.owed(self._usual)
            except AssertionError:
                self.remove(self._usual)
                self._usual = None
        if self._usual is None:
            self._usual = self.member()
            self.wait_for_rest(self._usual, START_SECONDS)
        return self._usual

    def member(self, prompt: str | None = None, *options: str) -> Member:
        """Start the real agent as a new member with this spawn prompt."""
        if prompt is None:
            self._made += 1
            prompt = f"hello {self._made} of {self.agent}"
        wishes = ["--fleet-id", str(self.fleet.fleet_id), "--name", "real", "--description", "real"]
        wishes.append("--allow-same-name")
        made = self.cafleet.run(
            "member",
            "create",
            *wishes,
            *options,
            "--coding-agent",
            self.agent,
            "--json",
            "--file",
            "-",
            pane=self.fleet.director.pane,
            stdin=prompt.encode(),
        ).json()
        pane = made["placement"]["mux_pane_id"]
        return Member(made["member_id"], pane, prompt[:_OPENING])

    def remove(self, member: Member) -> None:
        self.cafleet.run("member", "delete", str(member.member_id)).ok()

    def look(self, member: Member) -> Look:
        return judge(picture(self.server, member.pane), self.agent)

    def target(self, member: Member) -> Target:
        """The member's pane, as the courier finds it."""
        with closing(connect(str(self.database.path))) as conn:
            record = members.get(conn, member_id=member.member_id)
            found = target_of(record, fleets.database_id(conn))
        assert found is not None
        return found

    def wait_for_state(self, member: Member, state: ScreenState, seconds: float = 20.0) -> Look:
        """Wait until the judge finds the agent in this state."""
        wait_for(
            lambda: self.look(member).state is state,
            f"{self.agent} is {state}, not {self.look(member)}",
            seconds=seconds,
        )
        return self.look(member)

    def wait_for_rest(self, member: Member, seconds: float = ANSWER_SECONDS) -> None:
        """Wait until the agent rests with an answer to all that it was told."""

        def rests() -> bool:
            asked = self.model.exchanges(member.opening)
            answered = bool(asked) and asked[-1].finished
            return answered and self.look(member).state is ScreenState.REST

        try:
            wait_for(rests, f"{self.agent} rests", seconds=seconds)
        except AssertionError as failure:
            failure.add_note(str(self.look(member)))
            raise

    def turns(self, member: Member) -> list[str]:
        """What the agent has passed on to its model as turns of its user.

        Without the space at the end of a payload: agents trim it, but not off a folded paste.
        """
        return [turn.removesuffix(" ") for turn in self.model.turns(member.opening)]

    def wait_for_turns(self, member: Member, more_than: int) -> list[str]:
        """Wait until the model knows more turns than so many, and the agent rests; the new ones."""
        wait_for(
            lambda: len(self.turns(member)) > more_than,
            f"a turn after {self.turns(member)[-1:]}",
            seconds=ANSWER_SECONDS,
        )
        self.wait_for_rest(member)
        return self.turns(member)[more_than:]

    def start_send(self, member: Member, text: str, *options: str) -> subprocess.Popen[bytes]:
        """Begin to send ``text`` from the monitor; does not wait."""
        people = ["--from-member-id", "2", "--to-member-id", str(member.member_id)]
        return self.cafleet.start("message", "send", *people, *options, "--json", "--", text)

    def send(self, member: Member, text: str, *options: str) -> Sent:
        sent = self.cafleet.finish(self.start_send(member, text, *options)).json()
        message = sent["message"]
        delivery = settled(self.database, message["message_id"], seconds=ANSWER_SECONDS)
        return Sent(
            message["message_id"],
            self.head(member, message["message_id"], message["created_at"]),
            delivery["state"],
            delivery["reason"],
        )

    def head(self, member: Member, message_id: int, created_at: str) -> str:
        """The first line of the notice of a message from the monitor."""
        people = f"to {member.member_id} (real) from 2 (monitor)"
        return f"[cafleet msg {message_id} {people} {created_at}]"

    def owed(self, member: Member) -> list[str]:
        """The states of the notices that are still to be typed or settled."""
        rows = self.database.rows(
            "SELECT delivery_state FROM messages WHERE owner_member_id = ?"
            " AND delivery_state IN ('queued', 'held', 'unreachable', 'typed') ORDER BY message_id",
            member.member_id,
        )
        return [state for (state,) in rows]

    def state(self, message_id: int) -> str:
        """What became of a message's notice."""
        state: str = self.database.value(
            "SELECT delivery_state FROM messages WHERE message_id = ?", message_id
        )
        return state

    def keys(self, member: Member, *keys: str) -> None:
        """Press keys, by tmux's names for them, as a person would."""
        self.server.run("send-keys", "-t", member.pane, *keys)

    def write(self, member: Member, text: str) -> None:
        """Type a text into the pane, as a person would."""
        self.server.run("send-keys", "-l", "-t", member.pane, "--", text)


@contextmanager
def staged(
    agent: CodingAgent, folder: Path, *, columns: int = 200, rows: int = 50
) -> Iterator[Stage]:
    """A stage whose files all lie in ``folder``, which is empty."""
    recorders = Recorders.installed(folder / "recorders")
    home, runtime, work = (folder / name for name in ("home", "runtime", "work"))
    for made in (home, runtime, work):
        made.mkdir(mode=0o700)
    with Model().serving() as model:
        given = furnish(home, work, model.url)
        environment = {
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(runtime),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            **given,
            "PATH": path_of([given["PATH"], str(CAFLEET.parent)]),
        }
        server = TmuxServer(environment)
        try:
            cafleet = Program({**server.environment}, server, work)
            database = Database(home / ".local/share/cafleet/cafleet.db")
            cafleet.run("setup").ok()
            founder = Program(
                {**cafleet.environment, "PATH": path_of([str(recorders.programs)])}, server, work
            )
            fleet = found_fleet(
                founder,
                database,
                server,
                recorders,
                agent=agent,
                members=0,
                columns=columns,
                rows=rows,
            )
            yield Stage(agent, model, server, cafleet, database, fleet, work)
            database.check()
        finally:
            end_loops(folder)
            server.close()


def path_of(folders: Sequence[str]) -> str:
    tmux = shutil.which("tmux")
    assert tmux is not None, "tmux is missing; `make tmux` says how to get it"
    return ":".join([*folders, os.path.dirname(tmux), "/usr/bin", "/bin"])
