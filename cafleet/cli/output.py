"""Everything that goes to stdout and stderr."""

from __future__ import annotations

import io
import os
import sys

from cafleet.errors import CafleetError
from cafleet.present.visible import visible


def prepare() -> None:
    """Make both streams take any text, whatever the locale, and keep 0, 1 and 2 from being reused.

    A descriptor that was closed by the caller would be given to the next file that is opened, and
    what is meant for the terminal could end in it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def say(text: str, *, end: str = "\n") -> None:
    """Write the result of a command and hand it to the system at once.

    Raises:
        BrokenPipeError: nobody reads on.
        CafleetError: it could not be written, to a full disk perhaps.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text + end)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CafleetError(
            f"the result could not be written ({error.strerror}); the command itself was carried "
            "out, look before you repeat it"
        ) from error


def to_json(value: object) -> str:
    """``value`` as one line of JSON; for a terminal, its hidden characters are escaped."""
    from cafleet.present import wire

    line = wire.to_json(value)
    if sys.stdout is None or not sys.stdout.isatty() or (line.isascii() and line.isprintable()):
        return line
    from cafleet.invisible import spelled

    return spelled(line, spell=_escaped)


def _escaped(character: str) -> str:
    """A character as a string of JSON has it, RFC 8259, section 7."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def warn(text: str) -> None:
    """One line on stderr beside a result that stands."""
    _complain("Warning", text)


def fail(text: str) -> None:
    """The one line that a refused command leaves on stderr."""
    _complain("Error", text)


def let_go() -> None:
    """Drop what could not be written, so that the interpreter does not try once more at its end."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _complain(kind: str, text: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{kind}: {visible(text)}\n")
        sys.stderr.flush()
    except OSError:
        # There is nowhere left to say it; the exit code still does.
        return
