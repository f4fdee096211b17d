"""What is typed into panes: one line or two per notice, and nothing that anybody would obey."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.courier.payloads import (
    PAYLOAD_CHARACTERS,
    PAYLOAD_LINES,
    Watched,
    flattened,
    marker,
    notices,
    poll_request,
    safe_name,
    wake_line,
)
from cafleet.courier.typable import typable
from cafleet.invisible import hides
from cafleet.records import CodingAgent, DeliveryState, OwedNotice, ScreenState
from cafleet.widths import NAME_COLUMNS, display_width

AT = "2026-05-05T05:42:11.123456+00:00"

GBENG = r"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


def owed(message_id: int = 7, text: str = "hello", name: str | None = "ann") -> OwedNotice:
    return OwedNotice(
        message_id=message_id,
        owner_member_id=4,
        owner_name="bob",
        from_member_id=3,
        from_name=name,
        created_at=AT,
        text=text,
        delivery_state=DeliveryState.QUEUED,
        urgent=0,
        held_since=None,
    )


def test_a_notice_is_its_head_and_its_body_and_ends_in_a_space() -> None:
    assert notices([owed()], 200) == f"[cafleet msg 7 to 4 (bob) from 3 (ann) {AT}]\nhello "
    assert notices([owed(name=None)], 200).startswith("[cafleet msg 7 to 4 (bob) from 3 (unknown) ")
    assert marker(owed()) == ("[cafleet msg 7 to 4", f"{AT}]")


def test_beyond_ten_lines_the_newest_are_told_and_how_many_more() -> None:
    five = notices([owed(number) for number in range(1, 6)], 200)
    assert five.count("\n") + 1 == PAYLOAD_LINES == 10
    assert "older" not in five
    lines = notices([owed(number) for number in range(1, 14)], 200).split("\n")
    assert lines[0] == "[cafleet] 9 older messages: cafleet message poll 4"
    assert [line.split()[2] for line in lines[1::2]] == ["10", "11", "12", "13"]


@given(st.lists(st.text(max_size=1_000), min_size=1, max_size=12), st.integers(0, 1_000))
def test_a_payload_is_bounded_and_tells_or_counts_every_message(
    texts: list[str], max_text_len: int
) -> None:
    rows = [owed(number, text) for number, text in enumerate(texts, 1)]
    payload = notices(rows, max_text_len)
    named = [int(number) for number in re.findall(r"^\[cafleet msg (\d+)", payload, re.MULTILINE)]
    counted = re.match(r"\[cafleet\] (\d+) older messages?: ", payload)
    older = int(counted[1]) if counted else 0
    assert named == list(range(older + 1, len(rows) + 1))
    assert payload.count("\n") + 1 <= PAYLOAD_LINES
    assert len(payload) <= PAYLOAD_CHARACTERS


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("hi\rrm -rf /", "hi⏎rm -rf /"),
        ("a\r\nb\n\nc", "a⏎b⏎⏎c"),
        ("a\x1b[2Jb", "a[2Jb"),
        ("a\x03b\x16\x7f\x9b", "ab"),
        ("a\u2028b\u2029c\x85d\ve\ff", "a⏎b⏎c⏎d⏎e⏎f"),
        ("x" * 201, "x" * 200 + "…"),
        ("x" * 200, "x" * 200),
        ("\r\n" * 101, "⏎" * 100 + "…"),
        ("a\u200bb\u202ec\U000e0041", r"a\u200bb\u202ec\U000e0041"),
        ("می‌خواهم क्‍ष 👩‍👩‍👧 1️⃣ 🇯🇵", "می‌خواهم क्‍ष 👩‍👩‍👧 1️⃣ 🇯🇵"),
        ("👨‍👩‍👧‍👦!", "👨👩👧👦!"),
        ("👩‍❤️‍💋‍👨", "👩❤️💋👨"),
        ("🧑🏽‍🤝‍🧑🏿", "🧑🏽🤝🧑🏿"),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", GBENG),
        ("q" + "\u0301" * 12, "q" + "\u0301" * 10 + r"\u0301" * 2),
        ("e\u0301 \u1112\u1161\u11ab", "\u00e9 \ud55c"),
        ("\u0301x", r"\u0301x"),
        ("\u0378", r"\u0378"),
    ],
)
def test_a_body_is_cut_then_made_one_line(body: str, shown: str) -> None:
    assert flattened(body, 200) == shown


@given(st.text())
def test_nothing_typed_holds_a_control_character(text: str) -> None:
    typed = [
        flattened(text, 50),
        safe_name(text),
        wake_line(1, [watched(text)], watched(text)),
        poll_request(3),
    ]
    for line in typed:
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029" for c in line)
    assert "`" not in safe_name(text)
    assert "$(" not in safe_name(text)
    assert len(flattened(text, 50, 60)) <= 60


@given(st.text(), st.integers(0, 300))
def test_nothing_typed_hides_anything(text: str, room: int) -> None:
    for line in (flattened(text, 50), safe_name(text), typable(text, room)):
        assert hides(line) is None
    assert len(typable(text, room)) <= max(room, 1)
    assert display_width(safe_name(text)) <= NAME_COLUMNS


@pytest.mark.parametrize("piece", ["\u0301", "👩\u200d", "क्\u200d", "\u0378", "\u1161"])
def test_a_long_cluster_takes_no_longer_than_its_length(piece: str) -> None:
    assert typable(piece * 100_000)
    assert typable("q" + piece * 100_000, 1_000).endswith("…")


def test_a_body_of_hidden_characters_keeps_within_the_bounds() -> None:
    payload = notices([owed(text="\U000e0041" * 200, name="\U000e0041" * 5_000)], 200)
    assert len(payload) <= PAYLOAD_CHARACTERS
    assert payload.endswith("… ")


def watched(name: str = "ann", *, seconds: int = 0, screen: ScreenState | None = None) -> Watched:
    return Watched(
        member_id=3,
        name=name,
        agent=CodingAgent.CODEX,
        unacked=2,
        screen=screen,
        seconds=seconds,
    )


def test_a_wake_says_how_long_a_screen_has_been_so() -> None:
    line = wake_line(9, [watched(seconds=190, screen=ScreenState.DRAFT)], None)
    assert line == (
        "[cafleet] tick: fleet 9, 1 member to check: 3 (ann; codex; unacked 2; draft since 3m); "
        "Director: unknown. Follow the monitor protocol, then resume any interrupted work. "
    )
    assert wake_line(9, [], watched()).startswith("[cafleet] tick: fleet 9, no members to check; ")
    assert ", 2 members to check: 3 (" in wake_line(9, [watched(), watched()], None)


def test_a_ping_asks_to_poll_and_to_go_on() -> None:
    assert poll_request(3).startswith("cafleet message poll 3 ")
    assert "resume any unfinished work" in poll_request(3)
    assert "\n" not in poll_request(3)
