"""Fleets of the published Python program: a database that its release 0.22 has made, imported."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cafleet.broker.importing import import_fleets
from cafleet.errors import CafleetError, RefusedError
from cafleet.operations.database_tools import check
from cafleet.operations.importing import import_database
from cafleet.store.connection import connect
from tests.harness.program import Program, assert_refused
from tests.harness.registry import Registry
from tests.harness.traces import trace
from tests.sql.databases import contents, opened, publish, rows, setup

# What cafleet 0.22.0 wrote, dumped as SQL: fleet 1 at work, fleet 2 deleted, fleet 3 just begun;
# members with and without panes, one that left, broadcasts, acknowledged and open messages.
LIFE = Path(__file__).parents[1] / "sql/predecessor-0.22.sql"
TABLES = {
    "fleets": "fleet_id, name, created_at, deleted_at, director_member_id",
    "members": "member_id, fleet_id, name, description, status, registered_at, deregistered_at",
    "member_placements": "member_id, mux_session, mux_window_id, mux_pane_id, backend, coding_agent, "
    "created_at",
    "messages": "message_id, owner_member_id, from_member_id, to_member_id, type, created_at, "
    "status_state, status_timestamp, origin_message_id, text",
}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The predecessor's database, alone in its folder."""
    path = tmp_path / "old" / "cafleet_v5.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript(LIFE.read_text("utf-8"))
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """A database of ours without a fleet."""
    path = tmp_path / "new" / "fleet.db"
    path.parent.mkdir()
    setup(path)
    return path


def table(path: Path, name: str) -> list[tuple[Any, ...]]:
    return rows(path, f"SELECT {TABLES[name]} FROM {name} ORDER BY 1")


def cards(path: Path) -> dict[int, Any]:
    found = rows(path, "SELECT member_id, member_card_json FROM members")
    return {member_id: json.loads(card) for member_id, card in found}


def test_every_row_comes_as_it_was(old: Path, new: Path) -> None:
    before = trace(old.parent)
    source, report = import_database(str(new), str(old))
    assert trace(old.parent) == before
    assert source == str(old)
    assert report.counts == {"fleets": 3, "members": 9, "member_placements": 5, "messages": 19}
    for name in TABLES:
        assert table(new, name) == table(old, name)
    wanted = cards(old)
    assert wanted[2].pop("cafleet") == {"kind": "monitoring-member"}
    assert cards(new) == wanted
    states = rows(new, "SELECT message_id FROM messages WHERE delivery_state = 'none'")
    assert states == [(4,), (6,), (12,)]  # a note to oneself, two summaries
    assert rows(new, "SELECT count(*) FROM messages WHERE delivery_state = 'seen'") == [(16,)]
    assert check(str(new)) == []
    assert any("member 2 was the monitor of fleet 1" in note for note in report.notes)
    for name in ("asset_installs", "monitor_config", "monitor_runtime"):
        assert any(note.startswith(f"table {name} has no place here") for note in report.notes)


def test_a_second_time_doubles_nothing_and_a_new_fleet_comes(old: Path, new: Path) -> None:
    import_database(str(new), str(old))
    before = contents(new)
    _, again = import_database(str(new), str(old))
    assert contents(new) == before
    assert set(again.counts.values()) == {0}
    assert "fleet 2 is here already, as fleet 2; left out" in again.notes
    moved = old.with_name("moved.db")
    shutil.copy(old, moved)
    with opened(moved) as conn:
        conn.execute(
            "INSERT INTO fleets (name, created_at) VALUES ('four', '2027-01-01T00:00:00Z')"
        )
    _, report = import_database(str(new), str(moved))
    assert report.counts == {"fleets": 1, "members": 0, "member_placements": 0, "messages": 0}
    assert rows(new, "SELECT name, created_at FROM fleets WHERE fleet_id = 4") == [
        ("four", "2027-01-01T00:00:00.000000+00:00")
    ]


def test_into_a_database_with_fleets_ids_are_kept_where_they_are_free(
    old: Path, registry: Registry
) -> None:
    registry.crew("ann", "bob")
    registry.message(3, 4, "ours")
    mine = {name: table(registry.path, name) for name in TABLES}
    _, report = import_database(str(registry.path), str(old))
    for name, before in mine.items():
        assert table(registry.path, name)[: len(before)] == before
    # Fleet 1, members 1 to 4 and message 1 were taken.
    assert "fleet 1 is fleet 4 here" in report.notes
    assert {"member 1 is member 10 here", "member 4 is member 13 here"} <= {*report.notes}
    assert "1 message got new ids, from 20 to 20" in report.notes
    members = {old_id: old_id + 9 if old_id <= 4 else old_id for old_id in range(1, 10)}
    fleets = {1: 4, 2: 2, 3: 3}
    messages = {number: 20 if number == 1 else number for number in range(1, 20)}
    for row in table(old, "messages"):
        moved = (
            messages[row[0]],
            members[row[1]],
            members[row[2]],
            row[3] and members[row[3]],
            *row[4:8],
            row[8] and messages[row[8]],
            row[9],
        )
        assert moved in table(registry.path, "messages")
    for row in table(old, "members"):
        assert (members[row[0]], fleets[row[1]], *row[2:]) in table(registry.path, "members")
    for row in table(old, "fleets"):
        assert (fleets[row[0]], *row[1:4], members[row[4]]) in table(registry.path, "fleets")
    assert check(str(registry.path)) == []


def test_ids_that_were_given_out_once_are_not_free(old: Path, registry: Registry) -> None:
    registry.crew()
    with closing(registry.connect()) as conn:
        conn.execute("UPDATE sqlite_sequence SET seq = 5 WHERE name = 'members'")
    import_database(str(registry.path), str(old))
    found = rows(registry.path, "SELECT member_id FROM members WHERE fleet_id <> 1 ORDER BY 1")
    assert [member_id for (member_id,) in found] == [6, 7, 8, 9, 10, 11, 12, 13, 14]


def spoil(old: Path, *statements: str) -> None:
    with opened(old) as conn:
        for statement in statements:
            conn.execute(statement)


def test_what_cannot_come_is_told_and_the_rest_comes(old: Path, new: Path) -> None:
    spoil(
        old,
        "UPDATE members SET status = 'zombie' WHERE member_id = 4",
        "UPDATE members SET member_card_json = '{bad' WHERE member_id = 5",
        "UPDATE messages SET type = 'letter' WHERE message_id = 2",
        "UPDATE messages SET text = x'ff' WHERE message_id = 3",
        "UPDATE messages SET from_member_id = 77 WHERE message_id = 5",
        "UPDATE messages SET status_state = 'canceled' WHERE message_id = 8",
    )
    _, report = import_database(str(new), str(old))
    notes = "\n".join(report.notes)
    assert "left out: members.status holds 'zombie' where member_id is 4" in notes
    assert "left out: messages.type holds 'letter' where message_id is 2" in notes
    assert "left out: messages.text holds b'\\xff' where message_id is 3" in notes
    assert "left out: 2 messages of members that are not there" in notes
    assert "the card of member 5 was no JSON; it has a new one" in notes
    assert report.counts["members"] == 8
    assert report.counts["messages"] == 15
    assert rows(new, "SELECT status_state FROM messages WHERE message_id = 8") == [("completed",)]
    # A sender that is lost stays a number that nobody else gets.
    [(sender,)] = rows(new, "SELECT from_member_id FROM messages WHERE message_id = 5")
    [(last,)] = rows(new, "SELECT seq FROM sqlite_sequence WHERE name = 'members'")
    assert last >= sender
    assert rows(new, "PRAGMA foreign_key_check") == []


def test_nothing_is_left_out_without_a_word(old: Path, new: Path) -> None:
    columns = "name, description, status, registered_at, deregistered_at, member_card_json"
    spoil(
        old,
        f"INSERT INTO members (member_id, fleet_id, {columns})"
        f" SELECT 50, 77, {columns} FROM members WHERE member_id = 3",
        "ALTER TABLE messages ADD COLUMN secret TEXT",
        "UPDATE fleets SET director_member_id = NULL WHERE fleet_id = 1",
        "UPDATE alembic_version SET version_num = '0007'",
        "UPDATE messages SET from_member_id = 777 WHERE message_id = 5",
    )
    notes = import_database(str(new), str(old))[1].notes
    assert "left out: member 50 of fleet 77, which is not there" in notes
    assert "column messages.secret has no place here" in notes
    assert "fleet 1 has no Director, because it had none there" in notes
    assert "alembic revision 0007 is none that cafleet 0.18 to 0.22 left" in notes
    # A sender that is not there keeps its number, which nobody gets.
    assert rows(new, "SELECT from_member_id FROM messages WHERE message_id = 5") == [(777,)]
    assert rows(new, "SELECT seq FROM sqlite_sequence WHERE name = 'members'") == [(777,)]


def test_a_fleet_with_two_monitors_is_refused_by_name(old: Path, new: Path) -> None:
    card = '{"cafleet":{"kind":"monitor"}}'
    spoil(
        old, f"UPDATE members SET status = 'active', member_card_json = '{card}' WHERE fleet_id = 1"
    )
    with pytest.raises(RefusedError, match=r"members \d+ and \d+ of fleet 1 .* active monitors"):
        import_database(str(new), str(old))
    assert rows(new, "SELECT count(*) FROM members") == [(0,)]


def test_a_member_of_a_status_that_nobody_knows_is_left_out_with_what_it_owns(
    old: Path, new: Path
) -> None:
    spoil(old, "UPDATE members SET status = 'zombie' WHERE member_id = 3")
    notes = "\n".join(import_database(str(new), str(old))[1].notes)
    assert "left out: members.status holds 'zombie' where member_id is 3" in notes
    assert "of members that are not there" in notes


def in_wal(old: Path) -> None:
    spoil(old, "PRAGMA journal_mode = WAL")


def in_a_crashed_log(old: Path) -> None:
    alive = old.with_name("alive")
    old.rename(alive)
    with opened(alive) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute(
            "INSERT INTO fleets (name, created_at) VALUES ('late', '2027-01-01T00:00:00Z')"
        )
        for end in ("", "-wal", "-shm"):
            shutil.copy(f"{alive}{end}", f"{old}{end}")
    for left in old.parent.glob("alive*"):
        left.unlink()


def read_only(old: Path) -> None:
    old.chmod(0o400)


def of_release_0_21(old: Path) -> None:
    spoil(old, "UPDATE alembic_version SET version_num = '0004'")


@pytest.mark.parametrize("prepare", [in_wal, in_a_crashed_log, read_only, of_release_0_21])
def test_the_old_file_is_only_read_however_it_was_left(
    old: Path, new: Path, prepare: Callable[[Path], None]
) -> None:
    prepare(old)
    before = trace(old.parent)
    _, report = import_database(str(new), str(old))
    assert trace(old.parent) == before
    assert report.counts["fleets"] == (4 if prepare is in_a_crashed_log else 3)
    assert report.counts["messages"] == 19


def test_a_failure_imports_nothing(old: Path, new: Path) -> None:
    before = contents(new)

    def written() -> None:
        raise RefusedError("it was written meanwhile; try again")

    with (
        closing(connect(str(new))) as conn,
        closing(connect(str(old))) as source,
        pytest.raises(RefusedError),
    ):
        import_fleets(conn, source, still_the_same=written)
    assert contents(new) == before


def foreign(path: Path) -> None:
    with opened(path) as conn:
        conn.execute("CREATE TABLE bookmarks (url TEXT)")


def published(path: Path) -> None:
    publish(path, 8)


def ours(path: Path) -> None:
    setup(path)


def before_0_18(path: Path) -> None:
    with opened(path) as conn:
        conn.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        conn.execute("INSERT INTO alembic_version VALUES ('0007')")
        conn.execute("CREATE TABLE agents (agent_id INTEGER, agent_card_json TEXT)")


def missing(path: Path) -> None:
    assert not path.exists()


def prose(path: Path) -> None:
    path.write_text("no database " * 100)


@pytest.mark.parametrize(
    ("make", "fragment"),
    [
        (foreign, "is none of the published Python cafleet; give --import the path of one"),
        (published, "needs no import; point CAFLEET_DATABASE_URL to it and run `cafleet setup`"),
        (ours, "needs no import; point CAFLEET_DATABASE_URL to it"),
        (before_0_18, "cafleet older than 0.18 (alembic revision 0007), which this program cannot"),
        (missing, "there is no database at"),
        (prose, "is not an SQLite database"),
    ],
)
def test_what_is_no_such_database_is_refused(
    tmp_path: Path, new: Path, make: Callable[[Path], None], fragment: str
) -> None:
    source = tmp_path / "source" / "some.db"
    source.parent.mkdir()
    make(source)
    before = contents(new), trace(source.parent)
    with pytest.raises(CafleetError) as refused:
        import_database(str(new), str(source))
    assert fragment in str(refused.value)
    assert (contents(new), trace(source.parent)) == before


def test_the_whole_way_at_the_command_line(
    cafleet: Program, old: Path, environment: dict[str, str]
) -> None:
    home = Path(environment["HOME"])
    usual = home / ".local/share/cafleet/cafleet_v5.db"
    usual.parent.mkdir(parents=True)
    old.rename(usual)
    named = (
        "is one of the published Python cafleet 0.22 (alembic revision 0006); point CAFLEET_DATABASE_URL "
        f"to another file and run `cafleet setup --import {usual}`"
    )
    own = {"CAFLEET_DATABASE_URL": f"sqlite:///{usual}"}
    before = usual.read_bytes()
    assert_refused(cafleet.run("fleet", "list", env=own), 1, named)
    assert_refused(cafleet.run("setup", env=own), 1, named)
    assert named in json.loads(cafleet.run("doctor", "--json", env=own).stdout)["database"]["error"]
    told = f"the published Python cafleet has left 3 fleets in {usual}; `cafleet setup --import {usual}`"
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{home}/new.db"
    assert told in cafleet.run("setup").ok().stdout
    warnings = json.loads(cafleet.run("doctor", "--json").stdout)["database"]["warnings"]
    assert [warning for warning in warnings if warning.startswith(told)]
    done = cafleet.run("setup", "--import", str(usual)).ok()
    assert f"imported {usual}: 3 fleets, 9 members, 5 placements, 19 messages\n" in done.stdout
    assert "has left" not in cafleet.run("setup").ok().stdout
    listed = cafleet.run("fleet", "list", "--json").json()
    assert [(fleet["fleet_id"], fleet["member_count"]) for fleet in listed] == [(3, 1), (1, 5)]
    shown = cafleet.run("message", "show", "1", "--json").json()["message"]
    assert shown["text"] == 'first task\n\nwith two lines and "quotes" and an emoji 🚀'
    assert shown["status_state"] == "completed"
    polled = cafleet.run("message", "poll", "3", "--json").json()
    assert {each["message_id"] for each in polled} == {3, 4, 8}
    assert usual.read_bytes() == before


def test_a_wrong_source_leaves_the_rest_of_setup_done(cafleet: Program, tmp_path: Path) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{tmp_path}/new.db"
    done = cafleet.run("setup", "--import", str(tmp_path / "absent.db"))
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: setup failed in its import: there is no database at ")
    assert len(done.stdout.splitlines()) == 4
