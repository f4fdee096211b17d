"""The bytes of a terminal's keyboard as events: text, pastes and keys."""

from __future__ import annotations

import codecs
import re
from enum import Enum
from typing import NamedTuple, Protocol

BURST_SECONDS = 0.12

_PASTE_START = b"\x1b[200~"
_PASTE_END = b"\x1b[201~"
# ECMA-48 5.4: a control sequence is CSI, parameter bytes, intermediate bytes, one final byte.
_SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.", re.DOTALL)
_INCOMPLETE = re.compile(rb"\x1b(\[[0-?]*[ -/]*|O)?", re.DOTALL)


class Kind(Enum):
    TEXT = "text"
    PASTE = "paste"
    ENTER = "enter"
    BACKSPACE = "backspace"
    ESCAPE = "escape"


class Event(NamedTuple):
    kind: Kind
    text: str = ""


class Decoder(Protocol):
    """Turns bytes into events; what is incomplete waits for the next bytes."""

    def feed(self, data: bytes, now: float) -> list[Event]:
        """The events that ``data``, read at ``now`` (seconds, monotonic), completes."""

    def flush(self) -> list[Event]:
        """The events in what had been waiting, when nothing has followed for a moment."""


class BracketedDecoder:
    """The keyboard of a program that has switched bracketed paste on (mode 2004 of xterm)."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._pasting = False
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes, now: float) -> list[Event]:
        self._waiting += data
        events: list[Event] = []
        while self._waiting and self._step(events):
            pass
        return events

    def flush(self) -> list[Event]:
        if self._pasting or not self._waiting:
            return []
        self._waiting.clear()
        return [Event(Kind.ESCAPE)]

    def _step(self, events: list[Event]) -> bool:
        """Take one event's bytes off the front; False when more bytes are needed first."""
        if self._pasting:
            return self._end_of_paste(events)
        if self._waiting[0] != 0x1B:
            self._plain(events)
            return True
        sequence = _SEQUENCE.match(self._waiting)
        if sequence is not None:
            self._pasting = sequence[0] == _PASTE_START
            del self._waiting[: sequence.end()]
            return True
        if _INCOMPLETE.fullmatch(self._waiting):
            return False
        events.append(Event(Kind.ESCAPE))
        del self._waiting[0]
        return True

    def _end_of_paste(self, events: list[Event]) -> bool:
        end = self._waiting.find(_PASTE_END)
        if end < 0:
            return False
        text = self._waiting[:end].decode("utf-8", "replace")
        events.append(Event(Kind.PASTE, text.replace("\r\n", "\n").replace("\r", "\n")))
        del self._waiting[: end + len(_PASTE_END)]
        self._pasting = False
        return True

    def _plain(self, events: list[Event]) -> None:
        end = self._waiting.find(b"\x1b")
        data = bytes(self._waiting if end < 0 else self._waiting[:end])
        del self._waiting[: len(data)]
        events += _keys(self._characters.decode(data))


class BurstDecoder:
    """The keyboard of a program that tells a paste by its speed.

    A byte that comes less than :data:`BURST_SECONDS` after the one before it is pasted, and a
    carriage return within a paste is a line break, not a submit.
    """

    def __init__(self) -> None:
        self._last = float("-inf")
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes, now: float) -> list[Event]:
        quiet, self._last = now - self._last >= BURST_SECONDS, now
        text = self._characters.decode(data)
        head, rest = (text[:1], text[1:]) if quiet else ("", text)
        burst = [Event(Kind.PASTE, rest.replace("\r", "\n"))] if rest else []
        return [*_keys(head), *burst]

    def flush(self) -> list[Event]:
        return []


def _keys(text: str) -> list[Event]:
    """Typed characters; a line feed is a line break in the composer, as Ctrl-J is."""
    events: list[Event] = []
    for run in re.findall(r"[\r\x7f\b\x1b]|[^\r\x7f\b\x1b]+", text):
        match run:
            case "\r":
                events.append(Event(Kind.ENTER))
            case "\x7f" | "\b":
                events.append(Event(Kind.BACKSPACE))
            case "\x1b":
                events.append(Event(Kind.ESCAPE))
            case _:
                events.append(Event(Kind.TEXT, run))
    return events
