"""A terminal for one full-screen program: raw input, its size, whole frames in one write."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from contextlib import suppress
from types import FrameType, TracebackType
from typing import NamedTuple

_READ_BYTES = 65536


class Frame(NamedTuple):
    """What a screen shows: rows with their SGR sequences, and the cursor's cell from 0, 0."""

    rows: list[str]
    x: int
    y: int
    cursor: bool = True


class Terminal:
    """The controlling terminal in raw mode, from ``with`` to its end.

    ``wake`` may be called from any thread or signal handler and ends a running :meth:`wait`.
    """

    def __init__(self, *, bracketed_paste: bool, alternate_screen: bool) -> None:
        self._input = sys.stdin.fileno()
        self._output = sys.stdout.fileno()
        self._modes = [
            mode for mode, on in (("?1049", alternate_screen), ("?2004", bracketed_paste)) if on
        ]
        self._alarm, self._bell = os.pipe()
        os.set_blocking(self._bell, False)
        self.resized = False

    def __enter__(self) -> Terminal:
        self._saved = termios.tcgetattr(self._input)
        tty.setraw(self._input)
        signal.signal(signal.SIGWINCH, self._on_resize)
        self._write("".join(f"\x1b[{mode}h" for mode in self._modes) + "\x1b[2J")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        last_row = self.size()[1]
        switched_off = "".join(f"\x1b[{mode}l" for mode in reversed(self._modes))
        self._write(f"\x1b[0m\x1b[?25h\x1b[{last_row};1H\r\n{switched_off}")
        termios.tcsetattr(self._input, termios.TCSANOW, self._saved)

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        size = os.get_terminal_size(self._output)
        return size.columns, size.lines

    def wake(self) -> None:
        # A full pipe holds calls that nobody has answered yet: the wait will end all the same.
        with suppress(BlockingIOError):
            os.write(self._bell, b"!")

    def wait(self, seconds: float | None) -> bytes | None:
        """What was typed: some bytes, empty at the end of input, None when there was nothing.

        Returns at the latest after ``seconds``, and at once when woken.
        """
        ready, _, _ = select.select([self._input, self._alarm], [], [], seconds)
        if self._alarm in ready:
            os.read(self._alarm, _READ_BYTES)
        if self._input not in ready:
            return None
        try:
            return os.read(self._input, _READ_BYTES)
        except OSError:
            return b""  # EIO: the other side of the terminal is gone

    def draw(self, frame: Frame) -> None:
        """Put ``frame``, which has all of the screen's rows, over what is there.

        Nothing is erased first, so that whoever looks meanwhile sees no half-empty screen.
        """
        rows = [f"\x1b[{y};1H{row}\x1b[K\x1b[0m" for y, row in enumerate(frame.rows, 1)]
        shown = "h" if frame.cursor else "l"
        place = f"\x1b[{frame.y + 1};{frame.x + 1}H\x1b[?25{shown}"
        self._write("\x1b[?25l" + "".join(rows) + place)

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._output, data) :]

    def _on_resize(self, number: int, frame: FrameType | None) -> None:
        self.resized = True
        self.wake()
