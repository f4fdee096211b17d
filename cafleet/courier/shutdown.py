"""End work on panes from another thread: at once, except for what is being typed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cafleet.errors import CafleetError


class ShutdownError(CafleetError):
    """The courier ends, so nothing more begins. Never shown to users."""


class Shutdown:
    """Shared by all threads that touch panes. A look is cut short. A text that was begun gets time for its
    Enter and its proof."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._halted = False
        self._typing = 0

    def rest(self, seconds: float) -> None:
        """Sleep while nothing is being typed.

        Raises:
            ShutdownError: the courier ends.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._halted, seconds)
            self._refuse_if_halted()

    @contextmanager
    def typing(self) -> Iterator[None]:
        """Let the shutdown wait for the end of the block.

        Raises:
            ShutdownError: the courier ends already.
        """
        with self._changed:
            self._refuse_if_halted()
            self._typing += 1
        try:
            yield
        finally:
            with self._changed:
                self._typing -= 1
                self._changed.notify_all()

    def _refuse_if_halted(self) -> None:
        if self._halted:
            raise ShutdownError("the courier ends; run it again")

    def end(self, seconds: float) -> None:
        """Let nothing more begin. Wait at most so many seconds for what is being typed."""
        with self._changed:
            self._halted = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._typing, seconds)
