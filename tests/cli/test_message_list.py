"""`message list`: the history of a fleet, also when the fleet or a member of it is no more."""

from __future__ import annotations

import pytest

from tests.harness.program import Program, assert_refused
from tests.harness.registry import THEN, Registry

ANN, BOB = 3, 4


@pytest.fixture
def crew(cafleet: Program, registry: Registry) -> Registry:
    """Two fleets: Ann 3 and Bob 4 talk in the first, 7 and 8 in the second."""
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.crew("ann", "bob")
    registry.crew("eve", "fay")
    return registry


def listed(cafleet: Program, *arguments: str) -> list[str]:
    found = cafleet.run("message", "list", *arguments, "--json").json()
    return [message["text"] for message in found]


def test_deliveries_of_one_fleet_are_listed_newest_first(cafleet: Program, crew: Registry) -> None:
    crew.message(1, ANN, "task")
    crew.message(7, 8, "of another fleet")
    crew.message(
        ANN, ANN, "Broadcast sent to 1 recipients", type="broadcast_summary", to_member_id=None
    )
    crew.message(ANN, BOB, "part", origin_message_id=3)
    # By id, whatever the clock said.
    crew.message(BOB, ANN, "answer", created_at="2020-01-01T00:00:00.000000+00:00")
    assert listed(cafleet, "1") == ["answer", "part", "task"]
    assert listed(cafleet, "2") == ["of another fleet"]
    assert cafleet.run("message", "list", "1", "--limit", "2").ok().stdout == (
        "[5 | from:4 | 2020-01-01T00:00:00.000000+00:00]\n"
        f"  answer\n\n[4 | from:3 | {THEN} | origin:3]\n  part\n"
    )
    [message] = cafleet.run("message", "list", "1", "--before", "4", "--json").json()
    assert list(message) == [
        *("message_id", "owner_member_id", "from_member_id", "to_member_id", "type"),
        *("created_at", "status_state", "status_timestamp", "origin_message_id", "text"),
    ]


def test_what_the_dead_have_said_is_kept(cafleet: Program, crew: Registry) -> None:
    crew.message(1, BOB, "task")
    crew.message(BOB, 1, "done")
    crew.message(1, ANN, "to ann")
    crew.rows("UPDATE members SET status = 'deregistered', deregistered_at = ?", THEN)
    crew.rows("UPDATE fleets SET deleted_at = ?", THEN)
    assert listed(cafleet, "1") == ["to ann", "done", "task"]
    assert listed(cafleet, "1", "--member-id", "4") == ["done", "task"]
    assert listed(cafleet, "1", "--member-id", "4", "--limit", "1") == ["done"]
    assert listed(cafleet, "1", "--member-id", "4", "--before", "2") == ["task"]
    assert listed(cafleet, "1", "--member-id", "2") == []


def test_a_sender_that_was_removed_by_hand_is_listed(cafleet: Program, crew: Registry) -> None:
    crew.message(BOB, ANN, "last words")
    crew.rows("DELETE FROM members WHERE member_id = 4")
    assert listed(cafleet, "1") == listed(cafleet, "1", "--member-id", "4") == ["last words"]
    wrong = cafleet.run("message", "list", "2", "--member-id", "4")
    assert_refused(wrong, 1, "member 4 is none of fleet 2")


def test_pages_cover_everything_once(cafleet: Program, crew: Registry) -> None:
    for number in range(120):
        crew.message(*((ANN, BOB) if number % 3 else (BOB, ANN)), f"m{number}")
    pages: list[str] = []
    before: list[str] = []
    while page := cafleet.run("message", "list", "1", *before, "--json").json():
        pages += [message["text"] for message in page]
        before = ["--before", str(page[-1]["message_id"])]
    assert pages == [f"m{number}" for number in reversed(range(120))]
    assert len(listed(cafleet, "1", "--member-id", "3", "--limit", "1000")) == 120


def test_it_marks_nothing_and_wants_sound_arguments(cafleet: Program, crew: Registry) -> None:
    crew.message(1, BOB, "hi", delivery_state="held")
    cafleet.run("message", "list", "1", env=crew.identity(BOB)).ok()
    assert crew.value("SELECT delivery_state FROM messages") == "held"
    assert cafleet.run("message", "list", "2").ok().stdout == "Fleet 2 has no such messages.\n"
    for arguments, fragment in (
        (("9",), "fleet 9 does not exist"),
        (("1", "--member-id", "7"), "member 7 is none of fleet 1"),
        (("1", "--member-id", "99"), "member 99 is none of fleet 1"),
        (("1", "--member-id", str(2**70)), "is none of fleet 1"),
        (("1", "--before", "0"), "message 0 does not exist"),
        (("1", "--before", "-7"), "message -7 does not exist"),
        (("1", "--before", str(2**63)), "does not exist"),
    ):
        assert_refused(cafleet.run("message", "list", *arguments), 1, fragment)
    for arguments in (
        ("1", "--limit", "0"),
        ("1", "--limit", "1001"),
        ("1", "--limit", "x"),
        ("1", "--before", "x"),
        ("x",),
        (),
    ):
        assert cafleet.run("message", "list", *arguments).exit_code == 2
