"""What a courier has to say, once per change of state."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TextIO

from cafleet import clock
from cafleet.invisible import spelled


class Reports:
    """Lines for the log. Of a trouble that lasts only the beginning and the end are told.

    A log that cannot be written, on a full disk perhaps, is no reason to stop.
    """

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._ending = False

    def say(self, text: str) -> None:
        """An event, at once."""
        _write(sys.stdout, _stamped(text))

    def started(self, text: str) -> None:
        """That the courier has begun, for whoever waits for that line: it stands alone."""
        _write(sys.stdout, text)

    def trouble(self, subject: str, text: str) -> None:
        """What is wrong with a subject; said only if it was not said last."""
        if self._open.get(subject) != text and not self._ending:
            self._open[subject] = text
            _write(sys.stderr, _stamped(text))

    def ending(self) -> None:
        """The courier ends: what goes wrong from now on is not tried again, and of no interest."""
        self._ending = True

    def mended(self, subject: str) -> None:
        """A subject is well again; said only if there was trouble."""
        if self._open.pop(subject, None) is not None:
            self.say(f"{subject}: well again")


def _stamped(text: str) -> str:
    return f"{clock.stamp(clock.utc_now())} {text}"


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:
        return
    with suppress(OSError, ValueError):
        # One write a line: several threads have something to say.
        stream.write(f"{spelled(text)}\n")
        stream.flush()
