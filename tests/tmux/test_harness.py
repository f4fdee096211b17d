"""The fixtures that other tests stand on, with the real program."""

from __future__ import annotations

from cafleet.agents.judge import judge
from cafleet.records import CodingAgent, ScreenState
from tests.harness.database import Database
from tests.harness.fleet import Fleet, found_fleet
from tests.harness.journals import PASTE_END, PASTE_START, Recorders
from tests.harness.loops import wait_for_states
from tests.harness.pictures import picture
from tests.harness.program import Program, assert_refused
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for


def test_a_fleet_of_four_rests_in_panes_that_record_every_byte(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    assert [seat.member_id for seat in fleet.seats] == [1, 2, 3, 4]
    assert sorted(seat.pane for seat in fleet.seats) == sorted(tmux_server.panes())
    for seat in fleet.seats:
        look = judge(picture(tmux_server, seat.pane), CodingAgent.CLAUDE)
        assert look.state is ScreenState.REST
        assert seat.recording.received() == b""
    (told,) = fleet.recipient.recording.submits()
    assert told.splitlines()[0] == "You are member 3."
    start = fleet.recipient.recording.started()
    assert start["environment"]["CAFLEET_DATABASE_URL"] == database.url

    people = ["--from-member-id", "2", "--to-member-id", "3"]
    sent = cafleet.run("message", "send", *people, "--json", "--", "hello").json()
    assert sent["message"]["text"] == "hello"
    wait_for(lambda: len(fleet.recipient.recording.submits()) == 2, "the notice was submitted")
    received = fleet.recipient.recording.received()
    assert received.startswith(PASTE_START + b"[cafleet msg 1 to 3 (member-1) from 2 (monitor) ")
    assert received.endswith(b"]\nhello " + PASTE_END + b"\r")
    assert fleet.other.recording.received() == b""
    assert database.value("SELECT count(*) FROM messages") == 1


def test_a_question_and_a_draft_keep_every_byte_away(
    fleet: Fleet, cafleet: Program, database: Database
) -> None:
    fleet.recipient.recording.command(question=True)
    fleet.other.recording.command(type="half a thought")
    cafleet.run("message", "broadcast", "--from-member-id", "2", "1 2 3 go").ok()
    wait_for_states(database, "held", "submitted")
    for seat in (fleet.recipient, fleet.other):
        assert seat.recording.received() == b""
        assert seat.recording.events("approved", "dismissed") == []


def test_a_refusal_is_one_line_and_changes_nothing(
    fleet: Fleet, cafleet: Program, database: Database
) -> None:
    before = database.dump()
    people = ["--from-member-id", "2", "--to-member-id", "99"]
    assert_refused(cafleet.run("message", "send", *people, "hello"), 1, "99")
    assert database.dump() == before
    assert all(seat.recording.received() == b"" for seat in fleet.seats)


def test_a_fleet_may_be_of_another_agent_and_size(
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
    opencode_preset: object,
) -> None:
    wishes = {"members": 1, "columns": 240}
    fleet = found_fleet(cafleet, database, tmux_server, recorders, agent="opencode", **wishes)
    assert len(fleet.members) == 1
    assert fleet.monitor.recording.started()["agent"] == "opencode"
    assert tmux_server.ask(fleet.director.pane, "#{window_width}") == "240"
