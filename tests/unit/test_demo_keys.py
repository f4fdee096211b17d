"""The simulated agents' keyboard: bytes in any portions give the same events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from demo.keys import BURST_SECONDS, BracketedDecoder, BurstDecoder, Decoder, Event, Kind

PIECES = st.sampled_from(
    [
        "\x1b[200~",
        "\x1b[201~",
        "\x1b[A",
        "\x1bOP",
        "\x1b[1;5C",
        "\r",
        "\n",
        "\x7f",
        "a",
        "né",
        "界😀",
        "[",
    ]
)


def merged(events: list[Event]) -> list[Event]:
    """Neighbouring texts as one, for how text is cut into events is of no account."""
    result: list[Event] = []
    for event in events:
        if result and event.kind is Kind.TEXT is result[-1].kind:
            result[-1] = Event(Kind.TEXT, result[-1].text + event.text)
        else:
            result.append(event)
    return result


def fed(decoder: Decoder, portions: list[bytes]) -> list[Event]:
    return merged([event for portion in portions for event in decoder.feed(portion, 0.0)])


@given(st.lists(PIECES).map("".join))
def test_bytes_one_by_one_give_the_same_events(text: str) -> None:
    data = text.encode()
    one_by_one = [bytes([byte]) for byte in data]
    assert fed(BracketedDecoder(), one_by_one) == fed(BracketedDecoder(), [data])


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x1b")))
def test_a_bracketed_paste_is_one_event_with_its_line_ends_made_line_feeds(text: str) -> None:
    events = fed(BracketedDecoder(), [b"\x1b[200~" + text.encode() + b"\x1b[201~\r"])
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    assert events == [Event(Kind.PASTE, lines), Event(Kind.ENTER)]


def test_an_escape_is_a_key_when_nothing_follows() -> None:
    decoder = BracketedDecoder()
    assert decoder.feed(b"\x1b", 0.0) == []
    assert decoder.flush() == [Event(Kind.ESCAPE)]
    assert decoder.flush() == []
    assert decoder.feed(b"\x1bx", 0.0) == [Event(Kind.ESCAPE), Event(Kind.TEXT, "x")]


def test_an_open_paste_outlasts_a_pause() -> None:
    decoder = BracketedDecoder()
    assert decoder.feed(b"\x1b[200~half", 0.0) == []
    assert decoder.flush() == []
    assert decoder.feed(b" whole\x1b[201~", 9.0) == [Event(Kind.PASTE, "half whole")]


def test_by_speed_an_enter_within_the_burst_is_a_line_break() -> None:
    decoder = BurstDecoder()
    assert decoder.feed(b"ab", 1.0) == [Event(Kind.TEXT, "a"), Event(Kind.PASTE, "b")]
    assert decoder.feed(b"\r", 1.0 + BURST_SECONDS / 2) == [Event(Kind.PASTE, "\n")]
    assert decoder.feed(b"\r", 1.0 + BURST_SECONDS * 2) == [Event(Kind.ENTER)]
