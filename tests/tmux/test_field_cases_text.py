"""Bodies, prompts and names are data: what tmux, a shell, a terminal or the judge could obey."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cafleet.courier.payloads import flattened
from tests.harness.database import Database
from tests.harness.fleet import Fleet, Seat, found_fleet, wait_until_resting
from tests.harness.journals import Recorders
from tests.harness.loops import kill_loop, settled
from tests.harness.program import Program, assert_refused
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.sending import frames, send

# What the notice shows of a body; where nothing is said, the body itself.
FOR_TMUX = dict.fromkeys(
    ["make test;", ";", "a\\;", "a;;", "a; b", "-n hello", "--", "#{pane_id} %0 #(id)", "C-c Enter"]
)
FOR_SHELLS_AND_AGENTS = dict.fromkeys(
    [
        "$(id) `id` $HOME \"q\" 'q' | > <",
        "!ls",
        "/quit",
        "ask @alice",
        "{member_id} {{}}",
        "❯ 1. Yes",
        "(3s • esc to interrupt)",
        "Permission required [y/n]",
        "é界👩‍👩‍👧 ﷽",
    ]
)
FOR_TERMINALS: dict[str, str | None] = {
    "hi\rrm -rf /tmp/x": "hi⏎rm -rf /tmp/x",
    "a\r\nb\nc\x0bd\x0ce\x85f\u2028g\u2029h": "a⏎b⏎c⏎d⏎e⏎f⏎g⏎h",
    "a\x1b[2Jb\x1b\x1bc\x1b[201~d": "a[2Jbc[201~d",
    "a\x03b\x16c\x7f\x7fd\te": "abcde",
    "a\0b": "ab",
    "a\x9b2Jb\x90c": "a2Jbc",
    "x" * 199 + ";" + "tail": "x" * 199 + ";…",
    "y" * 200: None,
    "\n\rz": "⏎⏎z",
}


CLUSTERS: dict[str, str | None] = {
    text: flattened(text, 200)
    for text in (
        "👨‍👩‍👧‍👦 family 👨‍👩‍👧‍👦",
        "🧑🏽‍🤝‍🧑🏿 👩‍❤️‍💋‍👨 ❤️ ☺︎ 1️⃣ 🇯🇵🇫🇷 👍🏿",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "a" + "\u0301" * 60 + "b",
        "\u1112\u1161\u11ab 한국어 \u115f\u1161",
        "क्‍" * 12 + " می‌خواهم ශ්‍රී",
        "\u0301\u200b\U000e0041\u202e\u3164\u0378🫩",
        "界" * 150,
    )
}


@pytest.mark.parametrize(
    ("agent", "bodies"),
    [
        ("claude", FOR_TMUX),
        ("codex", FOR_SHELLS_AND_AGENTS),
        ("opencode", FOR_TERMINALS),
        ("claude", CLUSTERS),
        ("codex", CLUSTERS),
        ("opencode", CLUSTERS),
    ],
    ids=["tmux", "shells and agents", "terminals", *(f"clusters {n}" for n in range(3))],
)
@pytest.mark.usefixtures("opencode_preset")
def test_a_body_arrives_as_it_is_and_is_obeyed_by_nobody(
    agent: str,
    bodies: Mapping[str, str | None],
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
) -> None:
    fleet = found_fleet(cafleet, database, tmux_server, recorders, agent=agent, members=1)
    seat = fleet.recipient
    seat.recording.command(menu_after_at=True)
    people = ["--from-member-id", "2", "--to-member-id", "3"]
    submitted = "SELECT count(*) FROM messages WHERE delivery_state = 'submitted'"
    # One payload tells no more.
    for at in range(0, len(bodies), 4):
        batch = list(bodies)[at : at + 4]
        tmux_server.run("copy-mode", "-t", seat.pane)
        before = seat.recording.received()
        for body in batch:
            sent = cafleet.run("message", "send", *people, "--file", "-", stdin=body.encode()).ok()
            assert not set(sent.stdout) & {"\x1b", "\r", "\0", "\x9b"}
        assert seat.recording.received() == before
        tmux_server.run("copy-mode", "-q", "-t", seat.pane)
        told = at + len(batch)
        wait_for(lambda told=told: database.value(submitted) == told, "all are submitted")

    rows = database.rows("SELECT message_id, created_at, text FROM messages ORDER BY message_id")
    assert [text for _, _, text in rows] == list(bodies)
    notices = [
        f"{head(message_id, created_at)}\n{bodies.get(text) or text}"
        for message_id, created_at, text in rows
    ]
    typed = frames(seat)
    assert "\n".join(frame.removesuffix(" ") for frame in typed) == "\n".join(notices)
    assert seat.recording.typed().count(b"\r") == len(typed)
    polled = cafleet.run("message", "poll", "3", "--json").json()
    assert [message["text"] for message in reversed(polled)] == list(bodies)


def head(message_id: int, created_at: str) -> str:
    """The first line of a notice from the monitor to the first member."""
    return f"[cafleet msg {message_id} to 3 (member-1) from 2 (monitor) {created_at}]"


def test_a_body_with_a_zero_byte_can_be_read_and_acknowledged(
    fleet: Fleet, cafleet: Program, database: Database
) -> None:
    people = ["--from-member-id", "2", "--to-member-id", "3"]
    sent = cafleet.run("message", "send", *people, "--file", "-", "--json", stdin=b"a\0b").json()
    assert settled(database, sent["message"]["message_id"])["state"] == "submitted"
    [polled] = cafleet.run("message", "poll", "3", "--json").json()
    shown = cafleet.run("message", "show", "1", "--json").json()["message"]
    acknowledged = cafleet.run("message", "ack", "1", "--json").json()["message"]
    assert {polled["text"], shown["text"], acknowledged["text"]} == {"a\0b"}
    assert "\0" not in cafleet.run("message", "show", "1").ok().stdout
    assert database.value("SELECT count(*) FROM messages") == 1


PROMPTS = (
    "make test;",
    ";",
    "--help",
    "- [ ] check",
    "1. Yes",
    "❯ 2. No",
    "esc to interrupt",
    "look at @alice",
    "z" * 20_000 + ";",
    "界" * 10_000,
)


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
@pytest.mark.usefixtures("opencode_preset")
def test_a_prompt_arrives_as_it_is(
    agent: str,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
) -> None:
    fleet = found_fleet(
        cafleet, database, tmux_server, recorders, agent=agent, members=4, columns=250, rows=80
    )
    for seat in fleet.members:
        seat.recording.command(menu_after_at=True)
    # Each agent meets some of them; together they meet all.
    start = ["claude", "codex", "opencode"].index(agent) * 3
    prompts = PROMPTS[start : start + 4]
    running = [
        cafleet.start("member", "prompt", str(seat.member_id), "--json", "--", prompt)
        for seat, prompt in zip(fleet.members, prompts, strict=True)
    ]
    for seat, prompt, process in zip(fleet.members, prompts, running, strict=True):
        assert cafleet.finish(process).json()["text"] == prompt
        assert frames(seat) == [f"{prompt} "]
    wait_until_resting(tmux_server, fleet.monitor.pane)
    cafleet.run("member", "ping", "2").ok()
    [ping] = frames(fleet.monitor)
    assert ping.startswith("cafleet message poll 2 ")
    assert len(ping.splitlines()) == 1


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "a\nb", "a\n", "\ra", "a\r", "a\x1bb", "a\u2028b", "a\x7f", "a\x9bb"]
)
def test_a_prompt_of_no_line_or_several_or_with_controls_is_refused_before_anything(
    text: str, cafleet: Program, database: Database
) -> None:
    before = database.dump()
    assert_refused(cafleet.run("member", "prompt", "3", "--", text), 2, "the text ")
    assert database.dump() == before


def test_long_bodies_arrive_whole_or_cut_as_the_setting_says(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    long, wide, huge = "word " * 9_999 + "end", "界" * 20_000, "m" * 1_000_000
    wishes = {"CAFLEET_MAX_TEXT_LEN": "60000"}
    # The courier that the next sender starts has the sender's wishes.
    kill_loop(database)
    assert send(cafleet, fleet.recipient, long, env=wishes)["state"] == "submitted"
    assert send(cafleet, fleet.other, wide, env=wishes)["state"] == "submitted"
    assert frames(fleet.recipient)[0].endswith(f"]\n{long} ")
    assert frames(fleet.other)[0].endswith(f"]\n{wide} ")

    kill_loop(database)
    people = ["--from-member-id", "3", "--to-member-id", "2"]
    sent = cafleet.run("message", "send", *people, "--json", "--file", "-", stdin=huge.encode())
    assert settled(database, sent.json()["message"]["message_id"])["state"] == "submitted"
    assert frames(fleet.monitor)[0].endswith("]\n" + "m" * 200 + "… ")
    assert database.value("SELECT length(text) FROM messages WHERE message_id = 3") == len(huge)


def test_a_name_is_made_safe_in_a_notice(
    fleet: Fleet, cafleet: Program, database: Database
) -> None:
    name = "bob\rexit\t$(id) `id`\x1b[2J;"
    # Databases of earlier versions hold such names; nobody gets one today.
    database.rows("UPDATE members SET name = ? WHERE member_id = 2", name)
    assert send(cafleet, fleet.recipient, "x")["state"] == "submitted"
    first = "[cafleet msg 1 to 3 (member-1) from 2 (bob⏎exit⏎$﹙id) ˋidˋ[2J;) "
    assert frames(fleet.recipient)[0].startswith(first)
    database.rows("UPDATE members SET name = ? WHERE member_id = 2", "界" * 5_000)
    assert send(cafleet, fleet.recipient, "y")["state"] == "submitted"
    assert f" from 2 ({'界' * 39}…) " in frames(fleet.recipient)[1]


def test_many_notices_are_one_payload_of_the_newest_and_a_count(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    seat: Seat = fleet.recipient
    tmux_server.run("copy-mode", "-t", seat.pane)
    for number in range(1, 13):
        assert send(cafleet, seat, f"number {number}.")["state"] == "held"
    tmux_server.run("copy-mode", "-q", "-t", seat.pane)
    assert send(cafleet, seat, "number 13.")["state"] == "submitted"
    [payload] = frames(seat)
    first, *rest = payload.splitlines()
    assert first == f"[cafleet] 9 older messages: cafleet message poll {seat.member_id}"
    assert [line.rstrip() for line in rest[1::2]] == [f"number {n}." for n in range(10, 14)]
    assert database.rows("SELECT DISTINCT delivery_state FROM messages") == [("submitted",)]
