"""`fleet create` and `member create` killed before every statement, file operation and call of tmux."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.harness.crew import CrewMaker
from tests.harness.database import Database
from tests.harness.dying import kill_at_each_step, run_program
from tests.harness.journals import Recorders
from tests.harness.loops import end_loops
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.slow

FLEET = ("fleet", "create", "--name", "n", "--coding-agent", "claude", "--json")
MEMBER = (
    "member",
    "create",
    "--fleet-id",
    "1",
    "--name",
    "n",
    "--description",
    "d",
    "--json",
    "hi",
)


class Killing:
    """A creation from the pane ``home`` that is killed at each of its steps."""

    def __init__(
        self,
        cafleet: Program,
        database: Database,
        server: TmuxServer,
        recorders: Recorders,
        home: str,
    ) -> None:
        # What is in a pane does not matter here, and a shell is there at once.
        (recorders.programs / "claude").write_text("#!/bin/sh\nexec sleep 1000\n")
        self.cafleet, self.database, self.server, self.home = cafleet, database, server, home
        self.panes = self._panes()
        self.environment = {**cafleet.environment, **server.inside(home)}
        self._database_file = database.path.read_bytes()
        self._known: set[str] = set()

    def tags(self) -> dict[str, str]:
        """All panes and their tags."""
        return self._panes()

    def told(self) -> set[int]:
        """The member ids that panes were told."""
        return {int(tag.split(":")[2]) for tag in self._panes().values() if tag}

    def _panes(self) -> dict[str, str]:
        lines = self.server.run("list-panes", "-a", "-F", "#{pane_id} #{@cafleet}").splitlines()
        return {pane: tag for pane, _, tag in (line.partition(" ") for line in lines)}

    def new_panes(self) -> dict[str, str]:
        """The panes that were opened, and their tags."""
        return {pane: tag for pane, tag in self._panes().items() if pane not in self.panes}

    def before(self) -> None:
        end_loops(self.database.path.parents[1])
        for pane in self.new_panes():
            self.server.run("kill-pane", "-t", pane, check=False)
        for pane, tag in self.panes.items():
            words = [tag] if tag else []
            self.server.run(
                "set-option", *([] if tag else ["-u"]), "-p", "-t", pane, "@cafleet", *words
            )
        for end in ("-wal", "-shm"):
            self.database.path.with_name(f"{self.database.path.name}{end}").unlink(missing_ok=True)
        self.database.path.write_bytes(self._database_file)

    def run(self, work: tuple[str, ...], check: Callable[[], None]) -> int:
        """Kill it at each step, and ``check`` every state that this leaves; how many steps it has."""

        def after() -> None:
            self.database.check()
            tags = sorted(tag.partition(" ")[2] for tag in self._panes().values())
            # Most steps leave what the step before has left, but for times and panes' ids.
            rows = [
                re.sub(r"'(%\d+|\d{4}-\d\d-\d\dT.*?)'", "''", each) for each in self.database.dump()
            ]
            state = repr((rows, tags))
            if state not in self._known:
                self._known.add(state)
                check()

        return kill_at_each_step(
            partial(run_program, *work),
            self.database.path.parent,
            environment=self.environment,
            before=self.before,
            after=after,
        )

    def count(self, table: str) -> int:
        found: int = self.database.value(f"SELECT count(*) FROM {table}")
        return found


def test_a_fleet_whose_creation_is_killed_is_whole_or_not_there(
    cafleet: Program, registry: Registry, tmux_server: TmuxServer, recorders: Recorders
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    home = tmux_server.session("main")
    other = tmux_server.session("other")
    killing = Killing(cafleet, registry, tmux_server, recorders, home)

    def check() -> None:
        left = killing.count("fleets")
        rows = [killing.count("members"), killing.count("member_placements")]
        assert rows == ([2, 2] if left else [0, 0])
        told = killing.told()
        new = killing.new_panes()
        assert all(new.values()), "a pane without its tag"
        before = [*new]
        # Doctor finds what is nobody's.
        said = json.loads(cafleet.run("doctor", "--json", pane=other).stdout)["database"]
        assert {each["pane_id"] for each in said["orphan_panes"]} == (
            set() if left else {pane for pane, tag in killing.tags().items() if tag}
        )
        # Somebody else may well be the next. That closes what nobody was told of, and frees its home.
        made = cafleet.run(*FLEET, pane=other).json()
        assert made["fleet_id"] > left
        ids = {made["director"]["member_id"], made["monitor"]["member_id"]}
        assert not ids & told
        monitor = made["monitor"]["placement"]["mux_pane_id"]
        assert sorted([monitor, *(before if left else [])]) == sorted(killing.new_panes())
        if left:
            cafleet.run("fleet", "delete", "1", "--kill-panes").ok()
        again = cafleet.run(*FLEET, pane=home).json()
        ends = [monitor, again["monitor"]["placement"]["mux_pane_id"]]
        assert sorted(ends) == sorted(killing.new_panes())
        for fleet_id in (made["fleet_id"], again["fleet_id"]):
            cafleet.run("fleet", "delete", str(fleet_id), "--kill-panes").ok()
        wait_for(lambda: not killing.new_panes(), "the panes are closed")

    assert killing.run(FLEET, check) > 30


def test_a_member_whose_creation_is_killed_is_whole_or_pending_or_not_there(
    crew: CrewMaker,
    cafleet: Program,
    registry: Registry,
    tmux_server: TmuxServer,
    recorders: Recorders,
    tmp_path: Path,
) -> None:
    fleet = crew.make()
    prompt = tmp_path / "long.txt"
    prompt.write_text("word " * 5000)
    killing = Killing(cafleet, registry, tmux_server, recorders, fleet.director.pane)

    def check() -> None:
        members = registry.rows("SELECT member_id, status FROM members WHERE member_id > 2")
        assert members in ([], [(3, "active")])
        tags = killing.new_panes()
        assert len(tags) <= 1
        made = cafleet.run(*MEMBER, "--allow-same-name", pane=fleet.director.pane).json()
        assert made["member_id"] == 3 + len(members)
        cafleet.run("member", "delete", str(made["member_id"])).ok()
        for member_id, _ in members:
            cafleet.run("member", "delete", str(member_id)).ok()
        # What was opened for a member that is still pending is known by its tag, and doctor tells it.
        left = killing.new_panes()
        said = cafleet.run("doctor", "--json", pane=fleet.director.pane).stdout
        orphans = {each["pane_id"] for each in json.loads(said)["database"]["orphan_panes"]}
        assert {pane for pane, tag in left.items() if tag} <= orphans
        assert [*registry.path.parent.glob("*prompt*")] == []

    work = (*MEMBER[:-1], "--file", str(prompt))
    assert killing.run(work, check) > 20


def test_a_pane_that_a_stopped_server_opens_later_is_found_and_swept(
    cafleet: Program,
    registry: Registry,
    tmux_server: TmuxServer,
    recorders: Recorders,
    tmp_path: Path,
) -> None:
    """The server stops when it is asked for the monitor's pane, and goes on after all is taken back."""
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    home = tmux_server.session("main")
    (recorders.programs / "claude").write_text("#!/bin/sh\nexec sleep 1000\n")
    server = int(tmux_server.ask(home, "#{pid}"))
    program = tmp_path / "stopping" / "tmux"
    program.parent.mkdir()
    real = shutil.which("tmux")
    stop = f'case "$*" in *split-window*) kill -STOP {server};; esac'
    program.write_text(f'#!/bin/sh\n{stop}\nexec {real} "$@"\n')
    program.chmod(0o755)
    stopping = {"PATH": f"{program.parent}:{cafleet.environment['PATH']}"}
    for number in range(2):
        refused = cafleet.run(*FLEET, pane=home, env=stopping)
        os.kill(server, signal.SIGCONT)
        assert refused.exit_code == 1, refused
        wait_for(lambda: len(tmux_server.panes()) == 2, "the pane opens after all")
        late = next(pane for pane in tmux_server.panes() if pane != home)
        assert tmux_server.ask(late, "#{@cafleet}").endswith(f":{number + 1}:{2 * number + 2}:1")
        orphans = json.loads(cafleet.run("doctor", "--json", pane=home).stdout)["database"]
        assert [each["pane_id"] for each in orphans["orphan_panes"]] == [late]
    # The one that was left first is gone by now; the next creation sweeps the other.
    made = cafleet.run(*FLEET, pane=home).json()
    assert (made["fleet_id"], made["monitor"]["member_id"]) == (3, 6)
    assert tmux_server.panes() == [home, made["monitor"]["placement"]["mux_pane_id"]]
    cafleet.run("fleet", "delete", "3", "--kill-panes").ok()


def test_what_is_not_left_by_a_creation_is_never_swept(
    cafleet: Program, registry: Registry, tmux_server: TmuxServer, recorders: Recorders
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    (recorders.programs / "claude").write_text("#!/bin/sh\nexec sleep 1000\n")
    homes = [tmux_server.session(name) for name in ("one", "two", "three", "four")]
    first = cafleet.run(*FLEET, pane=homes[0]).json()
    end_loops(registry.path.parents[1])
    cafleet.run("db", "backup", str(registry.path.with_name("backup.db"))).ok()
    backup = registry.path.with_name("backup.db").read_bytes()
    # A fleet that an older backup does not know, and one whose panes were left when it was deleted.
    newer = cafleet.run(*FLEET, pane=homes[1]).json()
    end_loops(registry.path.parents[1])
    registry.path.with_name(f"{registry.path.name}-wal").unlink(missing_ok=True)
    registry.path.with_name(f"{registry.path.name}-shm").unlink(missing_ok=True)
    registry.path.write_bytes(backup)
    cafleet.run("fleet", "delete", str(first["fleet_id"])).ok()
    # Creations that fail are given the ids of the newer fleet, and leave them reserved.
    for _ in range(3):
        program = recorders.programs / "claude"
        program.write_text("#!/bin/sh\nexit 1\n")
        assert cafleet.run(*FLEET, pane=homes[2]).exit_code == 1
        program.write_text("#!/bin/sh\nexec sleep 1000\n")
    before = {pane: tmux_server.ask(pane, "#{@cafleet}") for pane in tmux_server.panes()}
    made = cafleet.run(*FLEET, pane=homes[3]).json()
    after = {pane: tmux_server.ask(pane, "#{@cafleet}") for pane in tmux_server.panes()}
    left = [each["monitor"]["placement"]["mux_pane_id"] for each in (first, newer)]
    assert {*left, homes[1]} < set(after)
    changed = {pane for pane, tag in before.items() if after.get(pane) != tag}
    assert changed == {homes[3]}
    cafleet.run("fleet", "delete", str(made["fleet_id"]), "--kill-panes").ok()
