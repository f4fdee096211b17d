"""New members and new fleets: what reaches the agent, and what a failure leaves behind."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.database import Database
from tests.harness.fleet import Fleet, found_fleet
from tests.harness.journals import Recorders
from tests.harness.program import Program, Result, assert_refused
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.faults import FaultyTmux

NASTY = "- [ ] do it; 'q' \"d\" $HOME `id` #{{pane_id}} %0 \\ 界\n---\n~ {{x}} ;"
LONG = "Remember this. " * 1_400

Create = Callable[..., Result]


class Remains:
    """All that a command could leave behind, taken before it."""

    def __init__(self, database: Database, server: TmuxServer) -> None:
        self._database = database
        self._server = server
        self._before = self._now()

    def _now(self) -> tuple[object, ...]:
        tags = self._server.run("list-panes", "-a", "-F", "#{pane_id} #{@cafleet}")
        files = {path.name for path in self._database.path.parent.iterdir()}
        files -= {f"{self._database.path.name}-{end}" for end in ("wal", "shm")}
        # A loop's log is for whoever asks why it ended, and its lock has to be one file for ever.
        files -= {name for name in files if ".loop-" in name or ".start-" in name}
        active = self._database.rows("SELECT member_id FROM members WHERE status = 'active'")
        placed = self._database.rows("SELECT member_id FROM member_placements")
        living = self._database.rows("SELECT fleet_id FROM fleets WHERE deleted_at IS NULL")
        return sorted(tags.splitlines()), sorted(files), active, placed, living

    def assert_none(self, what: object) -> None:
        # A pane that is killed is listed until its program has ended.
        try:
            wait_for(lambda: self._now() == self._before, f"nothing is left of {what}")
        except AssertionError:
            assert self._now() == self._before, what
            raise


def creation(what: str, cafleet: Program, home: str, prompt: Path) -> Create:
    """How to create a member of fleet 1, or a fleet, in the pane ``home`` with ``prompt``."""
    if what == "member":
        wishes = ["--fleet-id", "1", "--name", "n", "--description", "d", "--file", str(prompt)]
    else:
        wishes = ["--name", "n", "--coding-agent", "claude", "--monitor-file", str(prompt)]
    return lambda **more: cafleet.run(what, "create", *wishes, "--json", pane=home, **more)


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    """A prompt that is too long for tmux, so that a file is made of it."""
    path = tmp_path / "prompt.md"
    path.write_text(LONG)
    return path


@pytest.fixture(params=["member", "fleet"])
def what(request: pytest.FixtureRequest) -> str:
    """What is created."""
    return str(request.param)


@pytest.fixture
def home(
    what: str,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
) -> str:
    """The pane to create it from: the Director's for a member, a free one for a fleet."""
    if what == "member":
        fleet = found_fleet(cafleet, database, tmux_server, recorders, members=0)
        return fleet.director.pane
    return tmux_server.session("main")


@pytest.fixture
def create(what: str, cafleet: Program, home: str, prompt: Path) -> Create:
    return creation(what, cafleet, home, prompt)


@pytest.mark.parametrize("fault", ["fail", "signal"])
@pytest.mark.slow
def test_a_creation_that_fails_at_any_call_of_tmux_leaves_nothing(
    fault: str,
    what: str,
    create: Create,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    faulty_tmux: FaultyTmux,
) -> None:
    if fault == "signal":
        fault = {"member": "signal-INT", "fleet": "signal-TERM"}[what]
    remains = Remains(database, tmux_server)
    call, reached = 0, True
    while reached:
        call += 1
        name = f"{fault}-{call}"
        result = create(env=faulty_tmux.variables(name, fault, at=call))
        reached = faulty_tmux.calls(name) >= call
        if result.exit_code == 0:
            # What merely arranges the window may fail.
            made = result.json()
            cafleet.run(*deletion(what, made)).ok()
        elif fault.startswith("signal"):
            # The loop calls tmux as well; a signal to that one is the end of the new fleet.
            hit_the_loop = "the courier of fleet" in result.stderr
            assert result.exit_code in ({1} if hit_the_loop else {130, 143}), (call, result)
            assert result.stdout == ""
        else:
            assert_refused(result, 1, "")
        remains.assert_none((call, result))
    assert result.exit_code == 0
    assert call > 5


@pytest.mark.parametrize("word", ["-P", "set-option"], ids=["the split", "the tag"])
def test_a_creation_whose_tmux_hangs_leaves_nothing(
    word: str, create: Create, database: Database, tmux_server: TmuxServer, faulty_tmux: FaultyTmux
) -> None:
    remains = Remains(database, tmux_server)
    result = create(env=faulty_tmux.variables("x", "hang", word=word))
    assert_refused(result, 1, "tmux did not")
    remains.assert_none(result)


def deletion(what: str, made: dict[str, int]) -> list[str]:
    if what == "member":
        return ["member", "delete", str(made["member_id"])]
    return ["fleet", "delete", str(made["fleet_id"]), "--kill-panes"]


def test_a_split_whose_answer_was_lost_is_told_as_a_pane_of_unknown_id(
    fleet: Fleet, cafleet: Program, database: Database, faulty_tmux: FaultyTmux, prompt: Path
) -> None:
    create = creation("member", cafleet, fleet.director.pane, prompt)
    result = create(env=faulty_tmux.variables("x", "lose-answer", word="-P"))
    assert_refused(result, 1, "its id is unknown")
    assert database.value("SELECT count(*) FROM members WHERE status = 'active'") == 4


REFUSALS = {
    "fleet": [
        "INSERT ON fleets",
        "INSERT ON members",
        "INSERT ON member_placements",
        "UPDATE ON fleets",
        # The monitor's placement, when its pane is open.
        "INSERT ON member_placements WHEN NEW.member_id > 1",
    ],
    "member": ["INSERT ON members", "INSERT ON member_placements", "UPDATE ON member_placements"],
}


def test_a_creation_that_the_database_refuses_leaves_nothing(
    what: str, create: Create, home: str, database: Database, tmux_server: TmuxServer
) -> None:
    remains = Remains(database, tmux_server)
    for event in REFUSALS[what]:
        database.rows(
            f"CREATE TRIGGER refusal BEFORE {event}"
            " BEGIN SELECT raise(ABORT, 'simulated refusal'); END"
        )
        assert_refused(create(), 1, "simulated refusal")
        database.rows("DROP TRIGGER refusal")
        remains.assert_none(event)


def test_what_a_clean_up_could_not_undo_is_told_after_the_first_cause(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer, prompt: Path
) -> None:
    for table in ("members", "member_placements"):
        database.rows(
            f"CREATE TRIGGER refuse_{table} BEFORE UPDATE ON {table}"
            f" BEGIN SELECT raise(ABORT, 'refused {table}'); END"
        )
    panes = sorted(tmux_server.panes())
    result = creation("member", cafleet, fleet.director.pane, prompt)()
    assert_refused(result, 1, "refused member_placements")
    first, remaining = result.stderr.split("member 5 is still registered")
    assert "refused member_placements" in first
    assert "refused members" in remaining
    wait_for(lambda: sorted(tmux_server.panes()) == panes, "the pane is closed")


def test_an_agent_that_ends_at_once_or_has_no_room_makes_no_member(
    create: Create, home: str, database: Database, tmux_server: TmuxServer, recorders: Recorders
) -> None:
    remains = Remains(database, tmux_server)
    program = recorders.programs / "claude"
    moved = program.rename(recorders.programs / "clod")
    assert_refused(create(), 1, "claude is not on PATH")
    remains.assert_none("an agent that is not there")

    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert_refused(create(), 1, "ended at once")
    remains.assert_none("an agent that ends at once")
    moved.rename(program)

    tmux_server.run("resize-window", "-t", home, "-x", "10", "-y", "4")
    tmux_server.run("set-option", "-t", home, "default-size", "10x4")
    assert_refused(create(), 1, "enlarge the")
    remains.assert_none("a window that is too small")


def test_a_folder_with_a_line_feed_is_a_folder(
    fleet: Fleet, cafleet: Program, recorders: Recorders, prompt: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "a\nb #{pane_id};"
    folder.mkdir()
    made = creation("member", cafleet, fleet.director.pane, prompt)(cwd=folder).json()
    assert recorders.of(made["placement"]["mux_pane_id"]).started()["cwd"] == str(folder)


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
@pytest.mark.usefixtures("opencode_preset")
def test_a_spawn_prompt_is_one_argument_whatever_it_holds(
    agent: str,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
    tmp_path: Path,
) -> None:
    fleet = found_fleet(cafleet, database, tmux_server, recorders, agent=agent, members=0)
    wishes = ["--fleet-id", "1", "--name", "n", "--description", "d", "--json"]
    wishes.append("--allow-same-name")
    model = ["--model", {"claude": "opus", "codex": "gpt-5", "opencode": "a/b"}[agent]]
    effort = [] if agent == "opencode" else ["--effort", "high"]
    path = tmp_path / "p.md"
    for number, prompt in enumerate((NASTY, "--version", ";", "---\ntitle: x\n---\n")):
        path.write_text(prompt)
        more = [] if number % 2 else [*model, *effort]
        body = ["--file", str(path)] if number < 2 else ["--", prompt]
        made = cafleet.run(
            "member", "create", *wishes, *more, *body, pane=fleet.director.pane
        ).json()
        argv = recorders.of(made["placement"]["mux_pane_id"]).started()["argv"]
        line = f"[cafleet start 1:{made['member_id']}:1 {database.identity(1)['CAFLEET_DATABASE_ID'][:8]}]"
        arrived = prompt.replace("{{", "{").replace("}}", "}") + f"\n{line}"
        if agent == "opencode":
            assert f"--prompt={arrived}" in argv
        else:
            assert argv[-2:] == ["--", arrived]


def test_a_long_spawn_prompt_is_handed_over_by_a_file_of_the_users_own(
    fleet: Fleet, cafleet: Program, database: Database, recorders: Recorders, tmp_path: Path
) -> None:
    path = tmp_path / "p.md"
    create = creation("member", cafleet, fleet.director.pane, path)
    for size in (20_000, 200_000):
        path.write_bytes("{member_id} {{界}}\r\n".encode() + b"y" * size)
        made = create().json()
        member_id, pane = made["member_id"], made["placement"]["mux_pane_id"]
        [file] = database.path.parent.glob("*prompt*")
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.read_bytes() == f"{member_id} {{界}}\r\n".encode() + b"y" * size
        line, start = recorders.of(pane).started()["argv"][-1].splitlines()
        assert str(file) in line
        assert (
            start
            == f"[cafleet start 1:{member_id}:1 {database.identity(1)['CAFLEET_DATABASE_ID'][:8]}]"
        )
        cafleet.run("member", "delete", str(member_id)).ok()
        assert not file.exists()


def test_one_of_many_monitors_wins_and_a_fleet_that_is_deleted_stays_empty(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    cafleet.run("member", "delete", "2").ok()
    panes = len(tmux_server.panes())
    inside = tmux_server.inside(fleet.director.pane)
    wishes = ["--fleet-id", "1", "--name", "m", "--description", "d"]
    running = [
        cafleet.start("member", "create", *wishes, "--role", "monitor", "hi", env=inside)
        for _ in range(8)
    ]
    results = [cafleet.finish(process) for process in running]
    losers = [result for result in results if result.exit_code]
    assert len(losers) == 7
    for loser in losers:
        assert_refused(loser, 1, "monitor")
    assert len(tmux_server.panes()) == panes + 1
    assert database.value("SELECT count(*) FROM members") == 5

    wishes.append("--allow-same-name")
    wishes[3] = "ordinary"
    creations = [cafleet.start("member", "create", *wishes, "hi", env=inside) for _ in range(3)]
    people = ["--from-member-id", "3", "--to-member-id", "4"]
    sends = [cafleet.start("message", "send", *people, f"s{number}") for number in range(4)]
    cafleet.run("fleet", "delete", "1", "--kill-panes").ok()
    for process in [*creations, *sends]:
        assert_done_or_refused(cafleet, process)
    assert database.rows("SELECT member_id FROM members WHERE status = 'active'") == []
    assert database.rows("SELECT member_id FROM member_placements") == []
    wait_for(lambda: tmux_server.panes() == [fleet.director.pane], "the Director is left alone")


def assert_done_or_refused(cafleet: Program, process: subprocess.Popen[bytes]) -> None:
    result = cafleet.finish(process)
    if result.exit_code:
        assert_refused(result, 1, "")
