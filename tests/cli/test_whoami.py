"""Who calls: what the environment of a process proves, and whose poll marks what it prints."""

from __future__ import annotations

import pytest

from tests.harness.program import Program, assert_refused
from tests.harness.registry import Registry

SOCKET = "/tmp/tmux-1000/default"
ANN, BOB = 3, 4


@pytest.fixture
def crew(cafleet: Program, registry: Registry) -> Registry:
    """Director 1 in pane %1 to Bob 4 in %4, all on one server that nobody can reach."""
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    for member_id in registry.crew("ann", "bob"):
        place(registry, member_id)
    return registry


def place(registry: Registry, member_id: int) -> None:
    registry.place(member_id, f"%{member_id}", mux_socket=SOCKET, mux_server_pid=77)


def inside(pane: str, socket: str = SOCKET, pid: object = 77) -> dict[str, str]:
    """What tmux tells a program in one of its panes."""
    return {"TMUX": f"{socket},{pid},0", "TMUX_PANE": pane}


def test_the_variables_of_its_pane_say_who_a_member_is(cafleet: Program, crew: Registry) -> None:
    bob = crew.identity(BOB)
    told = cafleet.run("whoami", env=bob).ok()
    assert (told.stdout, told.stderr) == (
        "member 4 (bob) of fleet 1, Director 1; by the variable\n",
        "",
    )
    assert cafleet.run("whoami", "--json", env=bob).stdout == (
        '{"member_id":4,"fleet_id":1,"director_member_id":1,"name":"bob","kind":"member",'
        '"evidence":"variable"}\n'
    )
    # The same where the pane agrees, and where a tool runs in a server of its own.
    for beside in (inside("%4"), inside("%4", "/tmp/./tmux-1000//default"), inside("%9", "/x", 5)):
        assert cafleet.run("whoami", env=bob | beside).ok().stdout == told.stdout


def test_the_pane_alone_says_it_as_well(cafleet: Program, crew: Registry) -> None:
    told = cafleet.run("whoami", env=inside("%1")).ok().stdout
    assert told == "member 1 (Director) of fleet 1, Director 1; by the pane\n"
    monitor = cafleet.run("whoami", "--json", env=inside("%2")).json()
    assert (monitor["kind"], monitor["evidence"]) == ("monitor", "pane")


@pytest.mark.parametrize(
    "env",
    [
        {},
        inside("%9"),
        inside("%4", pid=78),
        inside("%4", pid="77 "),
        inside("%4", socket="/tmp/tmux-1000/other"),
        {"TMUX_PANE": "%4"},
        {"TMUX": SOCKET, "TMUX_PANE": "%4"},
        {"CAFLEET_MEMBER_ID": "4"},
        {"CAFLEET_MEMBER_ID": "4", "CAFLEET_FLEET_ID": "1"},
        {"CAFLEET_MEMBER_ID": "4", "CAFLEET_DATABASE_ID": ""},
        {"CAFLEET_MEMBER_ID": "4", "CAFLEET_DATABASE_ID": "0" * 32},
    ],
)
def test_a_person_is_nobody(cafleet: Program, crew: Registry, env: dict[str, str]) -> None:
    assert_refused(cafleet.run("whoami", env=env), 1, "you are no member of a fleet here")
    assert_refused(cafleet.run("whoami", "--json", env=env), 1, "you are no member of a fleet here")


@pytest.mark.parametrize("text", ["", "x", "04", "+4", "4.0", "-4", "0", "99", "9" * 40, "4\n"])
def test_what_names_no_member_is_nobody(cafleet: Program, crew: Registry, text: str) -> None:
    env = crew.identity(BOB) | {"CAFLEET_MEMBER_ID": text}
    assert_refused(cafleet.run("whoami", env=env), 1, "you are no member of a fleet here")


def test_variables_of_another_fleet_or_database_do_not_count(
    cafleet: Program, crew: Registry
) -> None:
    for env in ({"CAFLEET_FLEET_ID": "2"}, {"CAFLEET_DATABASE_ID": "f" * 32}):
        stale = crew.identity(BOB) | env
        assert_refused(cafleet.run("whoami", env=stale), 1, "you are no member of a fleet here")
        # The pane still does.
        told = cafleet.run("whoami", env=stale | inside("%3")).ok().stdout
        assert told.startswith("member 3 (ann) of fleet 1")


def test_who_contradicts_itself_is_nobody(cafleet: Program, crew: Registry) -> None:
    bob = crew.identity(BOB)
    refused = cafleet.run("whoami", env=bob | inside("%3"))
    assert_refused(refused, 1, "names member 4, and this pane, %3, is that of member 3")
    # Somebody's shell on the same server, with the variables of a member.
    refused = cafleet.run("whoami", env=bob | inside("%9"))
    assert_refused(refused, 1, "names member 4, and this pane, %9, is that of no member")


def test_a_member_that_has_left_is_nobody(cafleet: Program, crew: Registry) -> None:
    bob = crew.identity(BOB)
    crew.rows("UPDATE members SET status = 'deregistered' WHERE member_id = 4")
    refused = cafleet.run("whoami", env=bob | inside("%4"))
    assert_refused(refused, 1, "you were member 4 of fleet 1, which is deregistered")
    assert_refused(cafleet.run("whoami", env=inside("%4")), 1, "you are no member")


def test_a_placement_that_knows_no_server_proves_nothing(cafleet: Program, crew: Registry) -> None:
    crew.rows("UPDATE member_placements SET mux_server_pid = NULL WHERE member_id = 4")
    assert_refused(cafleet.run("whoami", env=inside("%4")), 1, "you are no member")
    cafleet.run("whoami", env=crew.identity(BOB) | inside("%4")).ok()


def test_whoami_needs_the_database_and_no_skill(cafleet: Program, crew: Registry) -> None:
    bob = crew.identity(BOB)
    crew.rows("DELETE FROM asset_installs")
    cafleet.run("whoami", env=bob).ok()
    elsewhere = bob | {"CAFLEET_DATABASE_URL": f"sqlite:///{crew.path}.none"}
    assert_refused(cafleet.run("whoami", env=elsewhere), 1, "cafleet setup")


def test_only_the_poll_of_the_recipient_marks(cafleet: Program, crew: Registry) -> None:
    crew.message(1, BOB, "hello", delivery_state="held")

    def state() -> str:
        return str(crew.value("SELECT delivery_state FROM messages"))

    for env in ({}, crew.identity(ANN), inside("%1"), crew.identity(BOB) | inside("%3")):
        for form in ((), ("--json",)):
            polled = cafleet.run("message", "poll", "4", *form, env=env).ok()
            assert "hello" in polled.stdout
            assert polled.stderr.startswith(
                "Warning: nothing is marked as seen, since only member 4"
            )
            assert len(polled.stderr.splitlines()) == 1
            assert state() == "held"
    for env in ({}, crew.identity(BOB)):
        assert cafleet.run("message", "poll", "4", "--peek", env=env).ok().stderr == ""
        assert state() == "held"
    assert cafleet.run("message", "poll", "4", env=crew.identity(BOB)).ok().stderr == ""
    assert state() == "seen"


def test_a_long_box_is_read_in_parts(cafleet: Program, crew: Registry) -> None:
    for number in range(1, 6):
        at = f"2026-05-05T05:42:1{number}.000000+00:00"
        crew.message(
            1, BOB, f"m{number}", created_at=at, status_timestamp=at, delivery_state="held"
        )
    cafleet.environment |= crew.identity(BOB)

    def polled(*options: str) -> list[str]:
        found = cafleet.run("message", "poll", "4", "--json", *options).json()
        return [message["text"] for message in found]

    assert polled("--peek") == ["m5", "m4", "m3", "m2", "m1"]
    assert polled("--peek", "--oldest") == ["m1", "m2", "m3", "m4", "m5"]
    assert polled("--peek", "--limit", "2") == ["m5", "m4"]
    assert polled("--oldest", "--limit", "2") == ["m1", "m2"]
    marked = crew.rows("SELECT text FROM messages WHERE delivery_state = 'seen' ORDER BY text")
    assert marked == [("m1",), ("m2",)]
    text = cafleet.run("message", "poll", "4", "--limit", "4").ok().stdout
    assert text.endswith("\n  m2\n\n1 more is waiting for member 4.\n")
    for limit in ("5", "6", str(2**63 - 1)):
        whole = cafleet.run("message", "poll", "4", "--limit", limit).ok().stdout
        assert whole.endswith("\n  m1\n")
    for wrong in ("0", "-1", "x", "1_0", str(2**63)):
        refused = cafleet.run("message", "poll", "4", "--limit", wrong)
        assert_refused(refused, 2, "is not a whole number from 1")
