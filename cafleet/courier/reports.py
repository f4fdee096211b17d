"""What a loop has to say, once per change of state."""

from __future__ import annotations

import sys

from cafleet import clock


class Reports:
    """Lines for the log. Of a trouble that lasts only the beginning and the end are told."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}

    def say(self, text: str) -> None:
        """An event, at once."""
        print(f"{clock.stamp(clock.utc_now())} {text}", flush=True)

    def trouble(self, subject: str, text: str) -> None:
        """What is wrong with a subject; said only if it was not said last."""
        if self._open.get(subject) != text:
            self._open[subject] = text
            print(f"{clock.stamp(clock.utc_now())} {text}", file=sys.stderr, flush=True)

    def mended(self, subject: str) -> None:
        """A subject is well again; said only if there was trouble."""
        if self._open.pop(subject, None) is not None:
            self.say(f"{subject}: well again")
