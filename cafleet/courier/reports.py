"""The courier's log: a line per change of state."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TextIO

from cafleet import clock
from cafleet.invisible import spelled


class Reports:
    """Writes the log. Of a lasting trouble it tells the beginning and the end alone.

    If the log cannot be written, the courier goes on.
    """

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._ending = False

    def say(self, text: str) -> None:
        """Write an event at once."""
        _write(sys.stdout, _stamped(text))

    def started(self, text: str) -> None:
        """Write that the courier has begun. Others wait for this line, so it stands alone."""
        _write(sys.stdout, text)

    def trouble(self, subject: str, text: str) -> None:
        """Write what is wrong with a subject, unless that was the last word on it."""
        if self._open.get(subject) != text and not self._ending:
            self._open[subject] = text
            _write(sys.stderr, _stamped(text))

    def ending(self) -> None:
        """Write no more troubles: the courier ends and tries nothing again."""
        self._ending = True

    def mended(self, subject: str) -> None:
        """Write that a subject is well again, if there was trouble."""
        if self._open.pop(subject, None) is not None:
            self.say(f"{subject}: well again")


def _stamped(text: str) -> str:
    return f"{clock.stamp(clock.utc_now())} {text}"


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:
        return
    with suppress(OSError, ValueError):
        # One write per line, since several threads write.
        stream.write(f"{spelled(text)}\n")
        stream.flush()
