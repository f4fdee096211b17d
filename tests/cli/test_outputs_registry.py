"""What commands print, to the byte, on a registry whose members have no pane that could be reached."""

from __future__ import annotations

import json
import os
import re
import subprocess
from datetime import timedelta
from functools import partial

import pytest

from cafleet.clock import stamp, utc_now
from tests.harness.program import CAFLEET, Program
from tests.harness.registry import THEN, Registry

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")
PLACED = (
    '{"backend":"tmux","mux_session":"main","mux_window_id":"@0","mux_pane_id":PANE,'
    f'"coding_agent":"claude","created_at":"{THEN}"}}'
)


@pytest.fixture(autouse=True)
def plain_terminal(cafleet: Program, registry: Registry) -> None:
    """A locale that knows ASCII alone, and a user who wants no colour."""
    cafleet.environment |= {"CAFLEET_DATABASE_URL": registry.url, "LC_ALL": "C", "NO_COLOR": "1"}


def printed(cafleet: Program, *arguments: str, **env: str) -> str:
    """The stdout of a success that warned of nothing; the times of this run read ``<now>``."""
    result = cafleet.run(*arguments, env=env).ok()
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
    return STAMP.sub(lambda found: found[0] if found[0] == THEN else "<now>", result.stdout)


def envelope(message_id: int, sender: int, owner: int, text: str, **fields: object) -> str:
    """The JSON of a delivery that waits since :data:`THEN`, but for some fields."""
    row = {
        "message_id": message_id,
        "owner_member_id": owner,
        "from_member_id": sender,
        "to_member_id": owner,
        "type": "unicast",
        "created_at": THEN,
        "status_state": "input_required",
        "status_timestamp": THEN,
        "origin_message_id": None,
        "text": text,
    }
    return json.dumps(row | fields, ensure_ascii=False, separators=(",", ":"))


def test_fleet_list(cafleet: Program, registry: Registry) -> None:
    assert printed(cafleet, "fleet", "list", "--json") == "[]\n"
    assert printed(cafleet, "fleet", "list").startswith("No fleets; ")
    assert printed(cafleet, "fleet", "list").count("\n") == 1
    registry.crew("ann")
    registry.fleet(name=None)
    registry.fleet(name="gone", deleted_at=THEN)
    registry.rows("UPDATE fleets SET name = '界🎉 ' || char(10) || 'é' WHERE fleet_id = 1")
    assert printed(cafleet, "fleet", "list") == (
        "FLEET_ID  DIRECTOR  NAME        MEMBERS  CREATED_AT\n"
        f"2         -         -           0        {THEN}\n"
        f"1         1         界🎉 \\x0aé  3        {THEN}\n"
    )
    assert printed(cafleet, "fleet", "list", "--json") == (
        f'[{{"fleet_id":2,"director_member_id":null,"name":null,"created_at":"{THEN}",'
        '"member_count":0},'
        f'{{"fleet_id":1,"director_member_id":1,"name":"界🎉 \\né","created_at":"{THEN}",'
        '"member_count":3}]\n'
    )


def test_fleet_show_and_delete(cafleet: Program, registry: Registry) -> None:
    registry.crew("ann", "bob", "cat")
    registry.place(1, "%0", mux_socket="/nonexistent/s")
    registry.place(3, "%1", mux_socket="/nonexistent/s")
    registry.place(4, None)
    shown = f"fleet_id: 1\nname: f\ncreated_at: {THEN}\n"
    assert printed(cafleet, "fleet", "show", "1") == shown
    living = f'{{"fleet_id":1,"name":"f","created_at":"{THEN}","deleted_at":null,'
    assert printed(cafleet, "fleet", "show", "1", "--json") == f'{living}"director_member_id":1}}\n'
    deleted = cafleet.run("fleet", "delete", "1", "--kill-panes", "--json").ok()
    outcome = json.loads(deleted.stdout)
    assert outcome["deregistered_count"] == 5
    unreachable, pending = outcome["panes"]
    assert list(unreachable) == ["member_id", "pane_id", "status"]
    assert (unreachable["member_id"], unreachable["pane_id"]) == (3, "%1")
    assert unreachable["status"].startswith("unreachable: ")
    assert pending == {"member_id": 4, "pane_id": None, "status": "pending"}
    assert printed(cafleet, "fleet", "show", "1") == f"{shown}deleted_at: <now>\n"
    again = printed(cafleet, "fleet", "delete", "1", "--json")
    assert again == '{"deregistered_count":0,"panes":[]}\n'
    again = printed(cafleet, "fleet", "delete", "1")
    assert again == "Fleet 1 deleted.\nderegistered: 0\n"


def test_member_show(cafleet: Program, registry: Registry) -> None:
    registry.crew("a\tb\u202e界")
    registry.place(3, "%1")
    assert printed(cafleet, "member", "show", "3") == "3 a\\x09b\\u202e界 active\n"
    assert printed(cafleet, "member", "show", "3", "--json") == (
        '{"member_id":3,"name":"a\\tb\u202e界","description":"d","status":"active",'
        f'"registered_at":"{THEN}","kind":"member","skills":[],'
        f'"placement":{PLACED.replace("PANE", json.dumps("%1"))}}}\n'
    )
    without = printed(cafleet, "member", "show", "2", "--json")
    assert without.endswith('"kind":"monitor","skills":[],"placement":null}\n')


def test_member_list_has_its_singular_and_its_nothing(cafleet: Program, registry: Registry) -> None:
    registry.fleet()
    assert printed(cafleet, "member", "list", "1") == "0 members.\n"
    assert printed(cafleet, "member", "list", "1", "--json") == "[]\n"
    registry.member(1, "Director", kind="director")
    assert printed(cafleet, "member", "list", "1") == (
        "1 member:\n"
        "member_id  name      kind      agent  pane_id  screen  owed  unacked  unsure"
        "  last_sent  last_recv  last_ack  idle\n"
        "1          Director  director  -      -        -       0     0        0"
        "       -          -          -         -\n"
    )


def test_member_list(cafleet: Program, registry: Registry) -> None:
    registry.crew("界界", "x" * 40)
    looked = stamp(utc_now() - timedelta(seconds=5 * 60 + 10))
    registry.place(3, "%1", screen="working", screen_at=looked)
    registry.place(4, None, coding_agent="opencode")
    registry.message(4, 3, delivery_state="held")
    registry.message(4, 3, delivery_state="unsure")
    hour_ago = stamp(utc_now() - timedelta(seconds=2 * 3600 + 10))
    minutes_ago = stamp(utc_now() - timedelta(seconds=59 * 60 + 10))
    registry.rows("UPDATE messages SET created_at = ?", hour_ago)
    registry.message(
        2, 1, created_at=minutes_ago, status_timestamp=minutes_ago, status_state="completed"
    )
    assert printed(cafleet, "member", "list", "1") == (
        "4 members:\n"
        "member_id  name                                      kind      agent     pane_id    "
        "screen      owed  unacked  unsure  last_sent  last_recv  last_ack  idle\n"
        "1          Director                                  director  -         -          "
        "-           0     0        0       -          59m        59m       59m\n"
        "2          monitor                                   monitor   -         -          "
        "-           0     0        0       59m        -          -         59m\n"
        "3          界界                                      member    claude    %1         "
        "working 5m  1     2        1       -          2h         -         2h\n"
        f"4          {'x' * 40}  member    opencode  (pending)  "
        "-           0     0        0       2h         -          -         2h\n"
    )
    [*_, ann, last] = cafleet.run("member", "list", "1", "--json").json()
    assert ",".join(ann) == (
        "member_id,name,kind,placement,last_sent,last_recv,last_ack,idle,screen,screen_at,owed,"
        "unacked,unsure"
    )
    assert ",".join(ann["placement"]) == (
        "backend,mux_session,mux_window_id,mux_pane_id,coding_agent,created_at"
    )
    assert (ann["last_recv"], ann["last_sent"], ann["last_ack"]) == (hour_ago, None, None)
    assert 7210 <= ann["idle"] < 7300
    assert (ann["screen"], ann["screen_at"]) == ("working", looked)
    assert (ann["owed"], ann["unacked"], ann["unsure"]) == (1, 2, 1)
    assert last["placement"]["mux_pane_id"] is None
    assert " " not in cafleet.run("member", "list", "1", "--json").stdout


def test_idle(cafleet: Program, registry: Registry) -> None:
    # A busy machine may take some seconds to get there.
    cells = {-600: "0s", 30: r"[34]\ds", 5 * 60 + 10: "5m", 3600 * 100 + 50: "100h", None: "-"}
    members = registry.crew("cat", "dan", "eve")
    for member_id, seconds in zip(members, cells, strict=True):
        at = "garbage" if seconds is None else stamp(utc_now() - timedelta(seconds=seconds))
        registry.message(member_id, member_id, created_at=at)
    rows = printed(cafleet, "member", "list", "1").splitlines()[2:]
    for row, cell in zip(rows, cells.values(), strict=True):
        assert re.fullmatch(cell, row.split()[-1]), rows


def test_send_and_ack(cafleet: Program, registry: Registry) -> None:
    registry.crew("ann")
    ends = ("--from-member-id", "2", "--to-member-id", "3")
    assert printed(cafleet, "message", "send", *ends, "build\nOK") == (
        "Message 1 stored, notice none.\n[1 | from:2 | <now>]\n  build\n  OK\n"
    )
    fresh = {"created_at": "<now>", "status_timestamp": "<now>"}
    assert printed(cafleet, "message", "send", *ends, "--json", "é\x07") == (
        f'{{"message":{envelope(2, 2, 3, "é", **fresh)[:-2]}\\u0007"}},'
        '"delivery":{"state":"none","reason":null}}\n'
    )
    assert printed(cafleet, "message", "ack", "1") == (
        "Message 1 acknowledged.\n[1 | from:2 | <now>]\n  build\n  OK\n"
    )
    done = envelope(2, 2, 3, "é", **fresh, status_state="completed")
    assert printed(cafleet, "message", "ack", "2", "--json") == (
        f'{{"message":{done[:-2]}\\u0007"}}}}\n'
    )


def test_broadcast(cafleet: Program, registry: Registry) -> None:
    registry.crew("ann", "bob")
    registry.place(3, None)
    command = ("message", "broadcast", "--from-member-id", "2", "hi")
    first = cafleet.run(*command)
    assert first.stdout == "broadcast id=1 recipients=3 none=2 queued=1\n"
    assert first.stderr.startswith("Warning: no courier runs for fleet 1")
    # Of what is not owed nobody is warned.
    registry.rows("DELETE FROM member_placements")
    summary = envelope(
        5,
        2,
        2,
        "Broadcast sent to 3 recipients",
        to_member_id=None,
        type="broadcast_summary",
        created_at="<now>",
        status_state="completed",
        status_timestamp="<now>",
        origin_message_id=5,
    )
    assert printed(cafleet, *command, "--json") == (
        f'{{"message":{summary},"recipients":3,"deliveries":{{"none":3}}}}\n'
    )
    registry.member(registry.fleet(), "Director", kind="director")
    alone = ("message", "broadcast", "--from-member-id", "5", "hi")
    assert printed(cafleet, *alone) == "broadcast id=9 recipients=0\n"
    assert printed(cafleet, *alone, "--json").endswith('"recipients":0,"deliveries":{}}\n')


def test_poll_and_show(cafleet: Program, registry: Registry) -> None:
    registry.crew("ann")
    nothing = printed(cafleet, "message", "poll", "3")
    assert nothing == "No messages are waiting for member 3.\n"
    assert printed(cafleet, "message", "poll", "3", "--json") == "[]\n"
    registry.message(2, 3, "hello\n\tworld")
    registry.message(
        1,
        1,
        "Broadcast sent to 1 recipients",
        type="broadcast_summary",
        to_member_id=None,
        status_state="completed",
        origin_message_id=2,
    )
    registry.message(1, 3, "all", origin_message_id=2)
    registry.message(1, 3, "")
    ann = registry.identity(3)
    assert printed(cafleet, "message", "poll", "3", **ann) == (
        f"[4 | from:1 | {THEN}]\n"
        "\n"
        f"[3 | from:1 | {THEN} | origin:2]\n  all\n"
        "\n"
        f"[1 | from:2 | {THEN}]\n  hello\n  \tworld\n"
    )
    assert printed(cafleet, "message", "poll", "3", "--json", **ann) == (
        f"[{envelope(4, 1, 3, '')},{envelope(3, 1, 3, 'all', origin_message_id=2)},"
        f"{envelope(1, 2, 3, 'hello' + chr(10) + chr(9) + 'world')}]\n"
    )
    assert printed(cafleet, "message", "show", "2") == (
        f"[2 | from:1 | {THEN} | kind:broadcast_summary | origin:2]\n"
        "  Broadcast sent to 1 recipients\n"
    )
    shown = printed(cafleet, "message", "show", "4", "--json")
    assert shown == f'{{"message":{envelope(4, 1, 3, "")}}}\n'


def test_bodies_are_cut_by_code_points_in_text_alone(cafleet: Program, registry: Registry) -> None:
    registry.crew("ann")
    body = "e\u0301🎉\x1b[2J\0\r\n" + "界" * 300
    registry.message(2, 3, body)
    head = f"[1 | from:2 | {THEN}]\n"

    def show(length: str) -> str:
        return printed(cafleet, "message", "show", "1", CAFLEET_MAX_TEXT_LEN=length)

    assert show("0") == f"{head}  …\n"
    assert show("4") == f"{head}  e\u0301🎉\\x1b…\n"
    assert show("10") == f"{head}  e\u0301🎉\\x1b[2J\\x00\\x0d\n  …\n"
    whole = f"{head}  e\u0301🎉\\x1b[2J\\x00\\x0d\n  {'界' * 300}\n"
    assert show(str(2**63 - 1)) == whole
    assert show(str(len(body) - 1)) == f"{whole[:-2]}…\n"
    # By default 200 of them.
    default = printed(cafleet, "message", "show", "1")
    assert default == f"{head}  e\u0301🎉\\x1b[2J\\x00\\x0d\n  {'界' * 190}…\n"
    cut = {"CAFLEET_MAX_TEXT_LEN": "3"}
    assert cafleet.run("message", "poll", "3", "--json", env=cut).json()[0]["text"] == body
    assert cafleet.run("message", "ack", "1", env=cut).ok().stdout.endswith("]\n  e\u0301🎉…\n")


def test_a_poll_succeeds_though_nothing_can_be_marked(cafleet: Program, registry: Registry) -> None:
    registry.crew("ann")
    registry.message(2, 3, "hi", delivery_state="submitted")
    registry.rows(
        "CREATE TRIGGER frozen BEFORE UPDATE ON messages BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    poll = partial(printed, cafleet, "message", "poll", "3", **registry.identity(3))
    assert poll() == f"[1 | from:2 | {THEN}]\n  hi\n"
    assert registry.value("SELECT delivery_state FROM messages") == "submitted"
    registry.rows("DROP TRIGGER frozen")
    poll()
    assert registry.value("SELECT delivery_state FROM messages") == "seen"
    events = registry.value("SELECT count(*) FROM delivery_events")
    poll()
    assert registry.value("SELECT count(*) FROM delivery_events") == events == 1


def test_why(cafleet: Program, registry: Registry) -> None:
    registry.crew("ann")
    registry.message(2, 3, delivery_state="held")
    registry.rows(
        "INSERT INTO delivery_events (message_id, at, state, reason, evidence)"
        " VALUES (1, ?, 'held', 'draft: text', NULL)",
        THEN,
    )
    event = f'{{"at":"{THEN}","state":"held","reason":"draft: text","evidence":null}}'
    life = f'"state":"held","reason":"draft: text","since":"{THEN}","events":[{event}]'
    why = ("message", "why", "1")
    assert printed(cafleet, *why, "--json") == f'{{"message_id":1,{life}}}\n'
    text = printed(cafleet, *why).splitlines()
    assert text[0] == f"message 1 to member 3: held (draft: text) since {THEN}"
    assert text[-1].strip() == f"{THEN} held: draft: text"
    made = cafleet.run("message", "broadcast", "--from-member-id=2", "--json", "hi").json()
    of_all = cafleet.run("message", "why", str(made["message"]["message_id"]), "--json").json()
    assert list(of_all) == ["message_id", "recipients"]
    assert [each["to_member_id"] for each in of_all["recipients"]] == [1, 3]
    assert {each["state"] for each in of_all["recipients"]} == {"none"}


@pytest.mark.parametrize("state", ["queued", "held", "unreachable", "typed"])
def test_why_names_what_is_missing(cafleet: Program, registry: Registry, state: str) -> None:
    registry.crew("ann")
    registry.message(2, 3, delivery_state=state)
    why = ("message", "why", "1")
    assert "No courier runs for fleet 1," in printed(cafleet, *why)
    registry.rows("UPDATE messages SET delivery_state = 'unsure'")
    assert "No courier runs" not in printed(cafleet, *why)
    assert "`cafleet member capture 3`" in printed(cafleet, *why)
    registry.place(3, "%1", screen="gone", screen_at=THEN)
    assert "`cafleet member restart 3`" in printed(cafleet, *why)
    # The Director comes back with its fleet only.
    director = registry.message(2, 1, delivery_state=state)
    registry.place(1, "%0", screen="gone", screen_at=THEN)
    if state != "unreachable":
        registry.rows("UPDATE messages SET delivery_state = 'unsure'")
    of_director = printed(cafleet, "message", "why", str(director))
    assert "`cafleet fleet resume 1`" in of_director
    assert "member restart" not in of_director
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = 3")
    assert "The recipient has left" in printed(cafleet, *why)


def test_a_ping_skips_a_pane_that_is_still_pending(cafleet: Program, registry: Registry) -> None:
    registry.crew("ann")
    registry.place(3, None)
    reason = "the pane is still pending"
    assert printed(cafleet, "member", "ping", "3") == f"Skipped member 3: {reason}.\n"
    assert printed(cafleet, "member", "ping", "3", "--json") == (
        f'{{"member_id":3,"pane_id":null,"skipped":true,"reason":"{reason}"}}\n'
    )


@pytest.mark.parametrize("text", ["--json", "--help", "- [ ] x", "-", "--", "-1", "--file=x"])
def test_text_that_begins_with_a_dash(cafleet: Program, registry: Registry, text: str) -> None:
    registry.crew("ann")
    command = ("message", "send", "--to-member-id=3", "--from-member-id=2", "--json", "--", text)
    assert cafleet.run(*command).json()["message"]["text"] == text


@pytest.mark.parametrize(
    "command", [("fleet", "list"), ("member", "list", "1", "--json"), ("message", "poll", "3")]
)
def test_a_pipe_that_is_closed_ends_quietly(
    cafleet: Program, registry: Registry, command: tuple[str, ...]
) -> None:
    registry.crew("ann")
    registry.message(2, 3)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        run = subprocess.run(
            [CAFLEET, *command], env=cafleet.environment, stdout=closed, stderr=subprocess.PIPE
        )
    assert (run.returncode, run.stderr) == (0, b"")
