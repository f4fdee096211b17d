"""Whose pane is it: recycled ids, moved panes, the caller's own pane and its environment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.harness.database import Database
from tests.harness.fleet import Fleet, Seat, found_fleet, wait_until_resting
from tests.harness.journals import Recorders
from tests.harness.program import Program, assert_refused
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.panes_fixtures import restarted
from tests.tmux.sending import broadcast, frames, send, states

STRANGERS = {
    "untagged": "",
    "tagged by another database": "0123456789abcdef:1:{member_id}",
    "tagged for another member": "{database_id}:1:99",
    "tagged by hand": "yes",
}


def test_a_pane_id_that_was_handed_out_again_is_a_strangers(
    fleet: Fleet,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
) -> None:
    seats = fleet.members + (fleet.monitor,)
    strangers = occupied_by_strangers(fleet, tmux_server, recorders, database)
    before = [seat.recording.received() for seat in fleet.seats]
    assert broadcast(cafleet, "rm -rf x") == {"unreachable": len(seats)}
    cures = {}
    for member_id in (1, 2, 3, 4):
        for command in (["ping"], ["prompt"], ["capture"]):
            extra = ["--", "rm -rf x"] if command == ["prompt"] else []
            refused = cafleet.run("member", *command, str(member_id), *extra)
            assert_refused(refused, 1, "is gone")
            [cure] = re.findall(r"`cafleet ([^`]+)`", refused.stderr)
            cures[member_id] = cure.split()
    assert cures[3] == ["member", "restart", "3"]
    assert cures[1] == ["fleet", "resume", "1"]
    deleted = cafleet.run("member", "delete", "4", "--json").json()
    assert deleted["pane_status"].endswith("(already gone)")
    back = cafleet.run(*cures[1], "--json").json()["members"]
    assert [(each["member_id"], each["outcome"]) for each in back] == [
        (1, "back"),
        (2, "back"),
        (3, "back"),
    ]
    director = database.value("SELECT mux_pane_id FROM member_placements WHERE member_id = 1")
    cafleet.run("fleet", "delete", "1", "--kill-panes").ok()
    assert database.rows("SELECT DISTINCT status FROM members") == [("deregistered",)]
    assert sorted(tmux_server.panes()) == sorted([*strangers, director])
    assert [seat.recording.received() for seat in fleet.seats] == before


def occupied_by_strangers(
    fleet: Fleet, server: TmuxServer, recorders: Recorders, database: Database
) -> list[str]:
    """Start the server anew, with an agent in a pane of every id that the fleet's panes had."""
    database_id = database.value("SELECT database_id FROM database_identity")
    agent = [str(recorders.programs / "claude")]
    panes = [restarted(server)]
    server.run("respawn-pane", "-k", "-t", panes[0], *agent)
    while len(panes) < len(fleet.seats):
        panes.append(server.split(panes[0], agent))
        server.run("select-layout", "-t", panes[0], "tiled")
    assert sorted(panes) == sorted(seat.pane for seat in fleet.seats)
    for seat, tag in zip(fleet.seats, STRANGERS.values(), strict=True):
        text = tag.format(member_id=seat.member_id, database_id=database_id)
        if text:
            server.run("set-option", "-p", "-t", seat.pane, "@cafleet", text)
        wait_until_resting(server, seat.pane)
    return panes


def test_two_members_with_one_pane_id_share_no_message(
    fleet: Fleet,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
) -> None:
    main = restarted(tmux_server)
    wishes = ["--fleet-id", "1", "--name", "late", "--description", "d", "--json", "--", "hi"]
    late = cafleet.run("member", "create", *wishes, pane=main).json()
    pane = late["placement"]["mux_pane_id"]
    assert pane in {seat.pane for seat in fleet.seats}
    wait_until_resting(tmux_server, pane)
    before = recorders.of(pane).received()
    # The look for the one that had the pane before may hold its lock for a moment.
    assert broadcast(cafleet, "who?")["unreachable"] == 3
    seat = Seat(late["member_id"], pane, recorders.of(pane))
    wait_for(lambda: states(database, seat) == {"who?": "submitted"}, "the notice is submitted")
    assert recorders.of(pane).received()[len(before) :].count(b"who?") == 1


def test_a_pane_is_found_wherever_it_was_moved(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    monitor, recipient, other = fleet.monitor.pane, fleet.recipient.pane, fleet.other.pane
    elsewhere = tmux_server.session("elsewhere")
    tmux_server.run("rename-session", "-t", "main", "renamed; #{pane_id}")
    tmux_server.run("break-pane", "-d", "-s", recipient, "-n", "alone")
    tmux_server.run("join-pane", "-d", "-h", "-s", other, "-t", elsewhere)
    tmux_server.run("swap-pane", "-d", "-s", monitor, "-t", elsewhere)
    for seat in fleet.seats:
        wait_until_resting(tmux_server, seat.pane)
    assert broadcast(cafleet, "found?") == {"submitted": 3}
    for seat in (fleet.monitor, fleet.recipient, fleet.other):
        [notice] = frames(seat) if seat is not fleet.monitor else [seat.recording.submits()[-1]]
        assert notice.endswith("\nfound? ")
        session, window = tmux_server.ask(seat.pane, "#{session_name}\t#{window_id}").split("\t")
        shown = cafleet.run("member", "show", str(seat.member_id), "--json").json()["placement"]
        assert (shown["mux_session"], shown["mux_window_id"]) == (session, window)
    assert fleet.director.recording.received() == b""

    tmux_server.run("move-window", "-d", "-s", recipient, "-t", "elsewhere:9")
    wait_until_resting(tmux_server, recipient)
    assert send(cafleet, fleet.recipient, "again?")["state"] == "submitted"
    session = database.value("SELECT mux_session FROM member_placements WHERE member_id = 3")
    assert session == "elsewhere"
    assert cafleet.run("member", "delete", "3").exit_code == 0
    assert recipient not in tmux_server.panes()


@pytest.mark.parametrize("same", [True, False], ids=["same place", "another place"])
def test_a_placement_of_old_is_known_by_session_and_window(
    same: bool, fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    tmux_server.run("set-option", "-pu", "-t", fleet.recipient.pane, "@cafleet")
    database.rows("UPDATE member_placements SET mux_socket = NULL WHERE member_id = 3")
    if not same:
        database.rows("UPDATE member_placements SET mux_session = 'mein' WHERE member_id = 3")
    inside = tmux_server.inside(fleet.director.pane)
    state = send(cafleet, fleet.recipient, "old", env=inside)["state"]
    assert state == ("submitted" if same else "unreachable")
    assert len(fleet.recipient.recording.submits()) == (2 if same else 1)


def test_the_callers_pane_counts_and_the_focus_stays(
    cafleet: Program, database: Database, tmux_server: TmuxServer, recorders: Recorders
) -> None:
    focused = tmux_server.session("main")
    agent = str(recorders.programs / "claude")
    director = tmux_server.run("new-window", "-dP", "-F", "#{pane_id}", "-t", "main:", agent)
    home = tmux_server.ask(director, "#{session_name} #{window_id}")
    focus = "#{session_name} #{window_id} #{pane_id}"
    before = tmux_server.ask("main:", focus)
    assert before.endswith(focused)

    wishes = ["--name", "n", "--coding-agent", "claude", "--json"]
    created = cafleet.run("fleet", "create", *wishes, pane=director).json()
    wishes = ["--fleet-id", "1", "--name", "m", "--description", "d", "--json", "--", "hi"]
    member = cafleet.run("member", "create", *wishes, pane=focused).json()
    placements = [each["placement"] for each in (created["director"], created["monitor"], member)]
    assert placements[0]["mux_pane_id"] == director
    for placement in placements:
        assert f"{placement['mux_session']} {placement['mux_window_id']}" == home
        assert tmux_server.ask(placement["mux_pane_id"], "#{session_name} #{window_id}") == home
    assert tmux_server.ask("main:", focus) == before
    assert tmux_server.ask(director, "#{pane_active}") == "1"


@pytest.mark.parametrize("chosen", [True, False], ids=["database chosen", "default database"])
def test_a_new_pane_gets_the_callers_database_and_nothing_else_of_the_caller(
    chosen: bool,
    cafleet: Program,
    tmux_server: TmuxServer,
    recorders: Recorders,
    tmp_path: Path,
) -> None:
    # The server's environment is poorer than the caller's, as under a service manager.
    tmux_server.environment["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    del tmux_server.environment["XDG_RUNTIME_DIR"]
    home = tmp_path / "another; home"
    home.mkdir()
    cafleet.environment |= {"HOME": str(home), "CAFLEET_MAX_TEXT_LEN": "50", "API_KEY": "secret"}
    path = home / ".local/share/cafleet/cafleet.db"
    if chosen:
        path = tmp_path / "a b;c?d#e%20 $HOME.db;"
        cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{path}"
    cafleet.run("setup").ok()
    database = Database(path)
    fleet = found_fleet(cafleet, database, tmux_server, recorders, members=1)

    environment = fleet.recipient.recording.started()["environment"]
    assert environment["CAFLEET_DATABASE_URL"] == f"sqlite:///{path}"
    assert environment["HOME"] == tmux_server.environment["HOME"]
    assert "API_KEY" not in environment
    assert {name: text for name, text in environment.items() if name.startswith("CAFLEET_")} == {
        "CAFLEET_DATABASE_URL": f"sqlite:///{path}",
        **database.identity(3),
    }

    assert send(cafleet, fleet.recipient, "hello")["state"] == "submitted"
    # Nothing is installed in the home that the server gives its panes.
    database.record_assets(Path(environment["HOME"]))
    as_the_agent = Program(environment, tmux_server, tmp_path)
    [polled] = as_the_agent.run("message", "poll", "3", "--json").json()
    assert polled["text"] == "hello"
    database.check()
