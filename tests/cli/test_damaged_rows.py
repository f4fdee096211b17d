"""Rows that no command has written: named where they are read, and in nobody else's way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.harness.program import Program
from tests.harness.refusals import Refusals
from tests.harness.registry import Registry

ROSTER = ("member", "list", "1")
POLL = ("message", "poll", "3")
PING = ("member", "ping", "3")


@pytest.fixture
def crowd(registry: Registry) -> Registry:
    """Fleet 1 of Director 1, monitor 2, ann 3 in a pane and bob 4; fleet 2 of 5 and 6."""
    registry.crew("ann", "bob")
    registry.crew()
    registry.place(3, "%1", mux_socket="/nonexistent/socket")
    registry.message(2, 3, "to ann")
    registry.message(2, 4, "to bob")
    return registry


@pytest.mark.parametrize(
    ("table", "column", "value", "shown", "command", "unharmed"),
    [
        (
            "members",
            "status",
            "zombie",
            "'zombie'",
            ("member", "show", "3"),
            ("member", "list", "2"),
        ),
        ("members", "status", "", "''", ROSTER, ("member", "show", "4")),
        ("members", "name", b"\x01", r"b'\x01'", ROSTER, ("member", "list", "2")),
        ("members", "description", b"", "b''", POLL, ("message", "poll", "4")),
        ("member_placements", "backend", "screen", "'screen'", ROSTER, ("member", "list", "2")),
        ("member_placements", "coding_agent", "gemini", "'gemini'", PING, ("member", "show", "4")),
        ("member_placements", "mux_pane_id", b"%1", "b'%1'", PING, ("member", "show", "4")),
        ("member_placements", "screen", "asleep", "'asleep'", ROSTER, ("member", "show", "3")),
        ("messages", "status_state", "canceled", "'canceled'", ("message", "show", "1"), ROSTER),
        ("messages", "status_state", b"", "b''", POLL, ("message", "poll", "4")),
        ("messages", "type", "broadcast", "'broadcast'", POLL, ("message", "poll", "4")),
        ("messages", "text", b"\x00\xff", r"b'\x00\xff'", POLL, ("message", "show", "2")),
        ("messages", "from_member_id", "12abc", "'12abc'", POLL, ("message", "poll", "4")),
        ("messages", "created_at", 5.5, None, POLL, None),
        ("messages", "origin_message_id", 1.5, "1.5", ("message", "ack", "1"), ROSTER),
        (
            "fleets",
            "director_member_id",
            "x",
            "'x'",
            ("fleet", "show", "1"),
            ("fleet", "show", "2"),
        ),
        ("fleets", "name", b"f", "b'f'", ("fleet", "list"), ("fleet", "show", "2")),
    ],
)
def test_a_value_outside_its_column_is_named(
    crowd: Registry,
    refusals: Refusals,
    cafleet: Program,
    table: str,
    column: str,
    value: Any,
    shown: str | None,
    command: tuple[str, ...],
    unharmed: tuple[str, ...] | None,
) -> None:
    key, row_id = {"messages": ("message_id", 1), "fleets": ("fleet_id", 1)}.get(
        table, ("member_id", 3)
    )
    crowd.rows(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", value, row_id)
    if shown is None:
        # SQLite makes text of a number in such a column: nothing is wrong with it.
        assert cafleet.run(*command, "--json").json()[0][column] == str(value)
        return
    fragment = f"{table}.{column} holds {shown} where {key} is {row_id}"
    refusals.expect(1, fragment, *command)
    assert unharmed is not None
    cafleet.run(*unharmed).ok()


@pytest.mark.parametrize(
    ("column", "state", "key", "member_id"),
    [
        ("created_at", "input_required", "from_member_id", 2),
        ("created_at", "input_required", "owner_member_id", 3),
        ("status_timestamp", "completed", "owner_member_id", 3),
    ],
)
@pytest.mark.parametrize("value", ["x'ff41'", "CAST(x'ff41' AS TEXT)"])
def test_a_value_behind_a_sign_of_life_is_named_by_its_own_column(
    crowd: Registry,
    refusals: Refusals,
    column: str,
    state: str,
    key: str,
    member_id: int,
    value: str,
) -> None:
    if key == "owner_member_id":
        # The sender's line would come first. History may outlive a sender.
        crowd.rows("UPDATE messages SET from_member_id = 999 WHERE message_id = 1")
    crowd.rows(
        f"UPDATE messages SET status_state = ?, {column} = {value} WHERE message_id = 1", state
    )
    told = r"b'\xffA'" if value.startswith("x") else r"'\udcffA'"
    fragment = f"messages.{column} holds {told} where {key} is {member_id}"
    refusals.expect(1, fragment, *ROSTER)


@pytest.mark.parametrize("member_id", [2, 3])
def test_an_unknown_status_is_refused_wherever_members_are_counted_or_one_is_missed(
    crowd: Registry, refusals: Refusals, cafleet: Program, member_id: int
) -> None:
    crowd.message(4, member_id, "owed", delivery_state="queued")
    crowd.rows("UPDATE members SET status = 'zombie' WHERE member_id = ?", member_id)
    fragment = f"members.status holds 'zombie' where member_id is {member_id}"
    join = (
        *("member", "create", "--fleet-id", "1", "--name", "n", "--description", "d"),
        *("--coding-agent", "claude", "hello"),
    )
    for command in (
        ("fleet", "delete", "1"),
        ("fleet", "delete", "1", "--kill-panes"),
        ("member", "list", "1"),
        ("monitor", "scan", "1"),
        ("monitor", "status", "1", "--json"),
        ("message", "broadcast", "--from-member-id", "4", "hi"),
        join,
        (*join[:-1], "--role", "monitor", join[-1]),
    ):
        refusals.expect(1, fragment, *command)
    cafleet.run("fleet", "show", "1").ok()
    cafleet.run("member", "list", "2").ok()


def test_an_unknown_status_is_told_in_the_line_of_its_own_fleet(
    crowd: Registry, cafleet: Program
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = crowd.url
    crowd.rows("UPDATE members SET status = 'zombie' WHERE member_id = 3")
    fault = "members.status holds 'zombie' where member_id is 3"
    _, second, first = cafleet.run("fleet", "list").ok().stdout.splitlines()
    assert (second.split()[3], fault in second) == ("2", False)
    assert (first.split()[3], fault in first) == ("-", True)
    told = cafleet.run("fleet", "list", "--json").ok()
    assert [fleet["member_count"] for fleet in told.json()] == [2, None]
    assert told.stderr.startswith("Warning: the members of fleet 1 cannot be counted: " + fault)


def test_a_poll_prints_a_message_whose_delivery_state_nobody_knows_and_warns(
    crowd: Registry, refusals: Refusals, cafleet: Program
) -> None:
    crowd.rows("UPDATE messages SET delivery_state = 'lost' WHERE message_id = 1")
    polled = cafleet.run(*POLL, "--json", env=crowd.identity(3)).ok()
    assert [message["text"] for message in polled.json()] == ["to ann"]
    assert "messages.delivery_state holds 'lost' where message_id is 1" in polled.stderr
    assert cafleet.run("message", "poll", "4", env=crowd.identity(4)).ok().stderr == ""


def test_doctor_names_an_unknown_status_once_and_looks_at_the_other_fleets(
    crowd: Registry, cafleet: Program, refusals: Refusals
) -> None:
    crowd.rows("UPDATE members SET status = 'zombie' WHERE member_id = 3")
    found = json.loads(cafleet.run("doctor", "--json").stdout)["database"]
    assert found["error"].count("members.status holds 'zombie' where member_id is 3") == 1
    assert [courier["fleet_id"] for courier in found["couriers"]] == [2]


def test_text_that_is_not_utf8_is_named(
    crowd: Registry, refusals: Refusals, cafleet: Program
) -> None:
    crowd.rows("UPDATE messages SET text = CAST(x'ff41' AS TEXT) WHERE message_id = 1")
    fragment = r"messages.text holds '\udcffA' where message_id is 1"
    for command in (POLL, ("message", "show", "1", "--json"), ("message", "ack", "1")):
        refusals.expect(1, fragment, *command)
    assert cafleet.run("message", "poll", "4", "--json").json()[0]["text"] == "to bob"
    crowd.rows("UPDATE members SET name = CAST(x'ff41' AS TEXT) WHERE member_id = 4")
    refusals.expect(1, r"members.name holds '\udcffA' where member_id is 4", *ROSTER)
    cafleet.run("member", "show", "3").ok()
    crowd.rows("UPDATE messages SET text = 'mended' WHERE message_id = 1")
    assert cafleet.run(*POLL, "--json").json()[0]["text"] == "mended"


CARDS = [
    b"{bad",
    b"",
    b"null",
    b'"str"',
    b"[1]",
    b'{"cafleet":"x"}',
    b'{"cafleet":null}',
    b'{"cafleet":{"kind":5}}',
    b'{"cafleet":{"kind":"monitoring-member"}}',
    b'{"skills":{}}',
    b'{"skills":[NaN]}',
    b'{"skills":[1e999]}',
    b'{"skills":["\\ud800"]}',
    b'{"skills":' + b"[" * 100_000,
    b'{"skills":' + b"[" * 985 + b"]" * 985 + b"}",
]


def test_odd_cards_are_ordinary_members_without_skills(
    crowd: Registry, cafleet: Program, refusals: Refusals
) -> None:
    # The index would not let such cards in; a hand has dropped it.
    crowd.rows("DROP INDEX idx_members_one_active_monitor_per_fleet")
    names = [f"odd-{number}" for number in range(len(CARDS) + 1)]
    odd = [
        crowd.member(1, name, card=card.decode()) for name, card in zip(names, CARDS, strict=False)
    ]
    odd.append(crowd.member(1, names[-1], card=b"\x00\xff"))
    listed = {member["member_id"]: member for member in cafleet.run(*ROSTER, "--json").json()}
    assert [listed[member_id]["name"] for member_id in odd] == names
    assert {listed[member_id]["kind"] for member_id in odd} == {"member"}
    assert listed[2]["kind"] == "monitor"
    for member_id in (odd[0], odd[9], odd[12], odd[13], odd[14], odd[-1]):
        shown = cafleet.run("member", "show", str(member_id), "--json").json()
        assert (shown["kind"], shown["skills"]) == ("member", []), shown
    broadcast = cafleet.run("message", "broadcast", "--from-member-id", "2", "--json", "hi").json()
    assert broadcast["recipients"] == len(listed) - 1
    deleted = cafleet.run("fleet", "delete", "1", "--json").json()
    assert deleted["deregistered_count"] == len(listed)


def test_skills_come_out_as_they_are_stored(
    crowd: Registry, cafleet: Program, refusals: Refusals
) -> None:
    skills = '["a",{"b":[1,2.5,null,true]},-0.0,123456789012345678901234567890,"界\\u0000"]'
    member_id = crowd.member(1, "skilled", card=f'{{"skills":{skills}}}')
    shown = cafleet.run("member", "show", str(member_id), "--json").ok().stdout
    assert f'"skills":{skills},"placement":null}}' in shown
    assert json.loads(shown)["skills"] == json.loads(skills)


def test_a_fleet_with_a_damaged_member_can_still_be_left(
    crowd: Registry, cafleet: Program, refusals: Refusals
) -> None:
    crowd.rows("UPDATE member_placements SET backend = 'screen'")
    refusals.expect(1, "member_placements.backend holds 'screen'", "fleet", "delete", "1")
    refusals.expect(1, "member_placements.backend holds 'screen'", "member", "delete", "3")
    assert cafleet.run("fleet", "delete", "2", "--json").json()["deregistered_count"] == 2


def test_a_database_without_an_identity_is_damaged(
    crowd: Registry, cafleet: Program, refusals: Refusals
) -> None:
    crowd.rows("DELETE FROM database_identity")
    refusals.expect(1, "database_identity has no row; restore the database", *PING)
    assert cafleet.run(*POLL, "--json").json()[0]["text"] == "to ann"
