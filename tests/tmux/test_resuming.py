"""A fleet that is paused, or whose tmux server was killed, comes back under the same ids."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness.database import Database
from tests.harness.fleet import Fleet
from tests.harness.journals import Recorders
from tests.harness.program import CAFLEET, Program, assert_refused
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

FIRST_WORDS = "You were restarted. Poll your messages, then continue what was interrupted."


def kill_server(server: TmuxServer, fleet: Fleet) -> None:
    """Kill tmux and everything in its panes at once, as a machine does that loses its power."""
    pids = [int(server.ask(seat.pane, "#{pane_pid}")) for seat in fleet.seats]
    pid = int(server.ask(fleet.director.pane, "#{pid}"))
    for each in (pid, *pids):
        os.kill(each, signal.SIGKILL)
    wait_for(lambda: not any(os.path.exists(f"/proc/{each}") for each in pids), "all have ended")


def send(cafleet: Program, fleet: Fleet, text: str) -> Any:
    ids = ("--from-member-id", str(fleet.director.member_id))
    ids += ("--to-member-id", str(fleet.recipient.member_id))
    return cafleet.run("message", "send", *ids, text)


def pane_of(database: Database, member_id: int) -> str:
    return database.value(
        "SELECT mux_pane_id FROM member_placements WHERE member_id = ?", member_id
    )


def test_a_fleet_comes_back_after_its_server_was_killed(
    fleet: Fleet,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
) -> None:
    kill_server(tmux_server, fleet)
    planned = cafleet.run("fleet", "resume", "1", "--dry-run", "--json").json()["members"]
    assert [each["outcome"] for each in planned] == ["planned"] * 4
    assert [each["action"] for each in planned] == ["open"] * 4
    assert pane_of(database, fleet.recipient.member_id) == fleet.recipient.pane
    send(cafleet, fleet, "while all were gone").ok()
    back = cafleet.run("fleet", "resume", "1", "--json").json()
    assert [each["member_id"] for each in back["members"]] == [1, 2, 3, 4]
    assert [each["outcome"] for each in back["members"]] == ["back"] * 4
    identity = database.identity(1)["CAFLEET_DATABASE_ID"]
    panes = {seat.member_id: pane_of(database, seat.member_id) for seat in fleet.seats}
    for member_id, pane in panes.items():
        assert tmux_server.ask(pane, "#{@cafleet}") == f"{identity}:1:{member_id}:2"
        # A server that this program starts hands nothing of it to the panes.
        for pid in tmux_server.ask(pane, "#{pid} #{pane_pid}").split():
            status = Path(f"/proc/{pid}/status").read_text()
            assert re.search(r"^SigBlk:\s+0+$", status, re.MULTILINE), status
    told = recorders.of(panes[fleet.recipient.member_id]).started()["argv"][-1].splitlines()
    assert told[0] == FIRST_WORDS
    director = recorders.of(panes[1]).started()
    assert director["argv"][-1].splitlines()[0] == FIRST_WORDS
    assert director["environment"]["CAFLEET_MEMBER_ID"] == "1"
    arrived = recorders.of(panes[fleet.recipient.member_id])
    wait_for(lambda: b"while all were gone" in arrived.typed(), "what was owed is typed")
    assert arrived.typed().count(b"while all were gone") == 1
    # The second time there is nothing to do.
    before = tmux_server.panes()
    again = cafleet.run("fleet", "resume", "1", "--json").json()["members"]
    assert [(each["action"], each["outcome"]) for each in again] == [("leave", "left")] * 4
    assert tmux_server.panes() == before
    assert cafleet.run("monitor", "status", "1", "--json").json()["running"] is True


def test_a_paused_fleet_rests_until_it_is_resumed(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    here = {"pane": fleet.director.pane}
    paused = cafleet.run("fleet", "pause", "1", "--timeout", "20", "--json", **here).json()
    assert [(each["member_id"], each["outcome"]) for each in paused["members"]] == [
        (2, "closed"),
        (3, "closed"),
        (4, "closed"),
    ]
    assert tmux_server.panes() == [fleet.director.pane]
    assert cafleet.run("monitor", "status", "1", "--json").json()["running"] is False
    shown = cafleet.run("fleet", "show", "1")
    assert f"paused_at: {paused['paused_at']}" in shown.stdout.splitlines()
    sent = send(cafleet, fleet, "meanwhile")
    assert sent.exit_code == 0
    assert "fleet 1 is paused" in sent.stderr
    assert "cafleet fleet resume 1" in cafleet.run("message", "why", "1").stdout
    join = ("member", "create", "--fleet-id", "1", "--name", "n", "--description", "d", "--", "x")
    for refused in (
        ("monitor", "run", "1"),
        ("monitor", "run", "1", "--detach"),
        ("member", "restart", "3"),
        join,
    ):
        assert_refused(cafleet.run(*refused, **here), 1, "cafleet fleet resume 1")
    assert tmux_server.panes() == [fleet.director.pane]
    # A second pause finds nothing left to close, and changes nothing.
    again = cafleet.run("fleet", "pause", "1", "--json", **here).json()
    assert again["paused_at"] == paused["paused_at"]
    assert {each["outcome"] for each in again["members"]} == {"already gone"}
    back = cafleet.run("fleet", "resume", "1", "--json", **here).json()["members"]
    assert [(each["action"], each["outcome"]) for each in back] == [
        ("leave", "left"),
        *[("open", "back")] * 3,
    ]
    assert len(tmux_server.panes()) == 4
    assert database.value("SELECT paused_at FROM fleets") is None


def test_who_works_is_left_running_by_a_pause(
    fleet: Fleet, cafleet: Program, tmux_server: TmuxServer
) -> None:
    busy = fleet.other
    busy.recording.command(work=1000)
    wait_for(lambda: "interrupt" in tmux_server.screen(busy.pane), "the member works")
    result = cafleet.run("fleet", "pause", "1", "--timeout", "2", "--json")
    assert result.exit_code == 1
    outcomes = {each["member_id"]: each for each in _members(result)}
    assert outcomes[busy.member_id]["outcome"] == "left running"
    assert outcomes[busy.member_id]["reason"].startswith("working: ")
    assert outcomes[fleet.recipient.member_id]["outcome"] == "closed"
    assert set(tmux_server.panes()) == {fleet.director.pane, busy.pane}
    now = cafleet.run("fleet", "pause", "1", "--now", "--json").json()["members"]
    assert {each["member_id"]: each["outcome"] for each in now} == {
        2: "already gone",
        3: "already gone",
        4: "closed",
    }
    assert tmux_server.panes() == [fleet.director.pane]


def _members(result: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.stdout)["members"]
    return found


def test_a_stranger_under_an_old_id_is_left_alone(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    kill_server(tmux_server, fleet)
    # The next server gives out the same ids.
    strangers = [tmux_server.session(name, ["sleep", "1000"]) for name in ("a", "b", "c", "d")]
    assert set(strangers) >= {seat.pane for seat in fleet.seats}
    back = cafleet.run("fleet", "resume", "1", "--json").json()["members"]
    assert [each["action"] for each in back] == ["open"] * 4
    for pane in strangers:
        assert tmux_server.ask(pane, "#{pane_current_command} #{@cafleet}") == "sleep "
    assert len(tmux_server.panes()) == 8


def test_what_cannot_come_back_is_told_and_the_rest_runs(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    member = fleet.other.member_id
    database.rows("UPDATE member_launches SET prompt = 'Do evil.' WHERE member_id = ?", member)
    database.rows("DELETE FROM member_launches WHERE member_id = ?", fleet.recipient.member_id)
    kill_server(tmux_server, fleet)
    result = cafleet.run("fleet", "resume", "1", "--json")
    assert result.exit_code == 1
    told = {each["member_id"]: each for each in _members(result)}
    assert {key: each["outcome"] for key, each in told.items()} == {
        1: "back",
        2: "back",
        3: "failed",
        4: "failed",
    }
    assert "Do evil." in told[member]["reason"]
    assert "older program" in told[fleet.recipient.member_id]["reason"]
    forced = cafleet.run("fleet", "resume", "1", "--force", "--json")
    assert {each["member_id"]: each["outcome"] for each in _members(forced)} == {
        1: "left",
        2: "left",
        3: "failed",
        4: "back",
    }


def test_commands_of_one_fleet_take_turns(fleet: Fleet, cafleet: Program) -> None:
    lock = f"{cafleet.environment['CAFLEET_DATABASE_URL'].removeprefix('sqlite:///')}.fleet-1.lock"
    holding = subprocess.Popen(["flock", lock, "sleep", "1000"])
    try:
        wait_for(
            lambda: subprocess.run(["flock", "-n", lock, "true"], check=False).returncode != 0,
            "the lock is held",
        )
        for command in ("fleet resume 1", "fleet pause 1", "member restart 3 --force"):
            assert_refused(cafleet.run(*command.split()), 1, "works on fleet 1 now")
    finally:
        holding.kill()
        holding.wait()


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_a_fleet_that_is_not_there_is_refused(
    command: str, cafleet: Program, database: Database
) -> None:
    assert_refused(cafleet.run("fleet", command, "7"), 1, "fleet 7 does not exist")


def agent_that_calls(recorders: Recorders, tmp_path: Path, name: str) -> list[str]:
    """A program by that name that resumes the fleet and goes on: a shell that is not called one."""
    program = tmp_path / "calling" / name
    program.parent.mkdir(exist_ok=True)
    shutil.copy(str(shutil.which("bash")), program)
    done = tmp_path / "done"
    command = f"'{CAFLEET}' fleet resume 1 --json >'{done}.part' 2>&1; mv '{done}.part' '{done}'"
    return [str(program), "-c", f"{command}; sleep 1000"]


@pytest.mark.parametrize("name", ["claude", "codex", "opencode"])
def test_the_agent_that_calls_becomes_the_director(
    name: str,
    fleet: Fleet,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
    tmp_path: Path,
) -> None:
    tmux_server.session("another")
    tmux_server.run("kill-pane", "-t", fleet.director.pane)
    given = [f"{key}={value}" for key, value in cafleet.environment.items()]
    words = agent_that_calls(recorders, tmp_path, name)
    caller = tmux_server.session("caller", ["env", *given, *words])
    done = tmp_path / "done"
    wait_for(done.exists, "the fleet is resumed", seconds=30)
    told = json.loads(done.read_text())["members"]
    assert told[0] == {
        "member_id": 1,
        "action": "take",
        "session": None,
        "outcome": "back",
        "reason": f"the {name} that called is the Director now",
    }
    assert [each["action"] for each in told[1:]] == ["leave"] * 3
    assert pane_of(database, 1) == caller
    identity = database.identity(1)["CAFLEET_DATABASE_ID"]
    assert tmux_server.ask(caller, "#{@cafleet}") == f"{identity}:1:1:2"
    assert database.value("SELECT coding_agent FROM member_placements WHERE member_id = 1") == name


@pytest.mark.parametrize("where", ["a shell", "a member", "the Director of another fleet"])
def test_a_pane_that_is_not_an_agents_own_is_never_taken(
    where: str,
    fleet: Fleet,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
    tmp_path: Path,
) -> None:
    given = [f"{key}={value}" for key, value in cafleet.environment.items()]
    tag = ""
    if where == "a shell":
        words = agent_that_calls(recorders, tmp_path, "zsh")
    else:
        words = agent_that_calls(recorders, tmp_path, "claude")
        identity = database.identity(1)["CAFLEET_DATABASE_ID"]
        tag = f"{identity}:1:3:9" if where == "a member" else f"{identity}:7:70:1"
    words[-1] = f"until [ -e '{tmp_path}/go' ]; do sleep 0.1; done; {words[-1]}"
    caller = tmux_server.session("caller", ["env", *given, *words])
    if tag:
        tmux_server.run("set-option", "-p", "-t", caller, "@cafleet", tag)
    tmux_server.run("kill-pane", "-t", fleet.director.pane)
    (tmp_path / "go").touch()
    done = tmp_path / "done"
    wait_for(done.exists, "the fleet is resumed", seconds=30)
    told = json.loads(done.read_text())["members"]
    assert (told[0]["action"], told[0]["outcome"]) == ("open", "back"), told
    assert pane_of(database, 1) != caller
    assert tmux_server.ask(caller, "#{@cafleet}") == tag
