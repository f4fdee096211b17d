"""Many commands at once, a database that is locked, a tmux that hangs under a lock."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

from tests.harness.database import Database
from tests.harness.fleet import Fleet
from tests.harness.loops import stop_loop
from tests.harness.program import Program, assert_refused
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.faults import FaultyTmux
from tests.tmux.sending import frames, outcome, send, start_send, states

# Of SQLite's busy timeout in the program.
BUSY_SECONDS = 5


def test_the_frames_of_many_senders_stay_whole(
    fleet: Fleet, cafleet: Program, database: Database
) -> None:
    seat = fleet.recipient
    # With the last one five, which is as many as one payload tells of.
    bodies = [f"m{number} " + "x" * 20 for number in range(4)]
    ping = cafleet.start("member", "ping", "3")
    running = [
        start_send(cafleet, seat, body, sender=2 if number % 2 else 4)
        for number, body in enumerate(bodies)
    ]
    for process in running:
        cafleet.finish(process).ok()
    cafleet.finish(ping).ok()
    # Whoever could not get at the pane has left its message for the next.
    assert send(cafleet, seat, "last")["state"] == "submitted"
    submitted = frames(seat)
    assert sorted(states(database, seat)) == sorted([*bodies, "last"])
    assert set(states(database, seat).values()) == {"submitted"}
    for body in bodies:
        assert sum(text.count(body) for text in submitted) == 1
    assert sum("cafleet message poll 3" in text for text in submitted) <= 1


def test_writers_wait_for_each_other(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    # Where a look is all there is to do, nothing but the database is in the way.
    for seat in fleet.seats:
        tmux_server.run("copy-mode", "-t", seat.pane)
    for number in range(4):
        cafleet.run("message", "broadcast", "--from-member-id", "2", f"b{number}").ok()
    ids = [
        str(message_id)
        for (message_id,) in database.rows("SELECT message_id FROM messages WHERE type = 'unicast'")
    ]
    assert len(ids) == 12
    inside = tmux_server.inside(fleet.director.pane)
    wishes = ["--fleet-id", "1", "--description", "d", "--json"]
    running = [start_send(cafleet, fleet.recipient, f"s{number}") for number in range(6)]
    running += [cafleet.start("message", "ack", message_id) for message_id in ids]
    running += [
        cafleet.start("member", "create", *wishes, "--name", f"n{number}", "--", "hi", env=inside)
        for number in range(2)
    ]
    for process in running:
        cafleet.finish(process).ok()
    count = "SELECT count(*) FROM messages WHERE status_state = 'completed' AND type = 'unicast'"
    assert database.value(count) == len(ids)
    assert len([text for text in states(database, fleet.recipient) if text.startswith("s")]) == 6
    assert database.value("SELECT count(*) FROM members WHERE status = 'active'") == 6
    assert len(tmux_server.panes()) == 6
    acks = [cafleet.start("message", "ack", ids[0]) for _ in range(2)]
    assert {cafleet.finish(process).exit_code for process in acks} == {1}


def test_a_lock_that_is_held_for_a_while_only_delays(
    fleet: Fleet, cafleet: Program, database: Database
) -> None:
    with closing(database.connect()) as holder:
        holder.execute("BEGIN IMMEDIATE")
        until = time.monotonic() + BUSY_SECONDS / 2
        process = start_send(cafleet, fleet.recipient, "hi")
        wait_for(lambda: time.monotonic() > until, "the lock was held for a while")
        assert process.poll() is None
        holder.execute("ROLLBACK")
    assert outcome(cafleet, process)["state"] == "submitted"


def test_a_lock_that_is_held_for_too_long_is_told_and_nothing_is_typed(
    fleet: Fleet, cafleet: Program, database: Database
) -> None:
    with closing(database.connect()) as holder:
        holder.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        people = ["--from-member-id", "2", "--to-member-id", "3"]
        assert_refused(cafleet.run("message", "send", *people, "hi"), 1, "locked")
        assert time.monotonic() - started > BUSY_SECONDS
        holder.execute("ROLLBACK")
    assert database.value("SELECT count(*) FROM messages") == 0
    assert fleet.recipient.recording.received() == b""


def test_a_lock_taken_while_a_notice_is_typed_does_not_have_it_typed_again(
    fleet: Fleet, cafleet: Program, database: Database
) -> None:
    seat = fleet.recipient
    process = start_send(cafleet, seat, "first")
    typing = {"first": "typed"}
    wait_for(lambda: states(database, seat) == typing, "the notice is being typed", seconds=30)
    with closing(database.connect()) as holder:
        holder.execute("BEGIN IMMEDIATE")
        # Longer than the courier waits for the lock after its proof.
        time.sleep(BUSY_SECONDS + 4)
        holder.execute("ROLLBACK")
    assert cafleet.finish(process).ok().stderr == ""
    assert send(cafleet, seat, "second")["state"] == "submitted"
    assert states(database, seat)["first"] == "submitted"
    assert [text.splitlines()[-1] for text in frames(seat)] == ["first ", "second "]


def is_locked(database: Database) -> bool:
    with closing(database.connect()) as connection:
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        connection.execute("ROLLBACK")
        return False


def test_others_go_on_while_a_pane_of_a_new_fleet_will_not_open(
    fleet: Fleet,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    faulty_tmux: FaultyTmux,
) -> None:
    home = tmux_server.session("another")
    before = sorted(tmux_server.panes())
    env = {**tmux_server.inside(home), **faulty_tmux.variables("x", "hang", word="split-window")}
    wishes = ["--name", "n", "--coding-agent", "claude"]
    creation = cafleet.start("fleet", "create", *wishes, env=env)
    wait_for(lambda: is_locked(database), "the pane is being opened in the transaction")
    assert cafleet.run("message", "poll", "3", "--json").json() == []
    assert send(cafleet, fleet.recipient, "meanwhile")["state"] == "submitted"
    assert_refused(cafleet.finish(creation), 1, "tmux did not")
    assert database.value("SELECT count(*) FROM fleets") == 1
    assert sorted(tmux_server.panes()) == before
    assert tmux_server.ask(home, "#{@cafleet}") == ""


def test_a_tmux_that_hangs_altogether_ends_every_command_in_time(
    fleet: Fleet,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    faulty_tmux: FaultyTmux,
) -> None:
    home = tmux_server.session("another")
    stop_loop(cafleet)
    hung = faulty_tmux.variables("x", "hang", word="-S")
    started = time.monotonic()
    sending = start_send(cafleet, fleet.recipient, "hi", env=hung)
    member = ["member", "create", "--fleet-id", "1", "--name", "n", "--description", "d", "x"]
    refused = [
        cafleet.start("member", "ping", "4", env=hung),
        cafleet.start("member", "prompt", "2", "x", env=hung),
        cafleet.start("member", "capture", "3", env=hung),
        cafleet.start("member", "delete", "4", env=hung),
        cafleet.start(*member, env={**hung, **tmux_server.inside(fleet.director.pane)}),
        cafleet.start(
            *["fleet", "create", "--name", "n", "--coding-agent", "claude"],
            env={**hung, **tmux_server.inside(home)},
        ),
    ]
    for process in refused:
        assert_refused(cafleet.finish(process), 1, "did not answer in time")
    assert cafleet.finish(sending).json()["delivery"]["state"] == "queued"
    assert time.monotonic() - started < 30
    assert database.value("SELECT count(*) FROM members WHERE status = 'active'") == 4
