"""Where a body comes from: the command line, a file, or stdin; it is taken exactly as it is."""

from __future__ import annotations

import os
import stat
import sys

from cafleet.errors import BodyError, UsageError
from cafleet.texts import is_blank

STDIN = "-"


class BodySource:
    """One of the two forms of a body, not read yet.

    Raises:
        UsageError: both forms are given, or neither.
    """

    def __init__(self, inline: str | None, file: str | None, *, name: str) -> None:
        if inline is not None and file is not None:
            raise UsageError(f"{name} and --file are both given; give one of them")
        if inline is None and file is None:
            raise UsageError(f"there is no body; give {name}, or --file PATH (- reads stdin)")
        self._inline = inline or ""
        self._file = file
        self._name = name

    def read(self) -> str:
        """The body.

        Raises:
            UsageError: the inline text is blank.
            BodyError: the file or stdin cannot be read, is not UTF-8, or is blank.
        """
        if self._file is not None:
            return read_file(self._file)
        if is_blank(self._inline):
            raise UsageError(f"{self._name} is blank; give it some text")
        return self._inline


def read_file(path: str) -> str:
    """The text of the file at ``path``, or of stdin for ``-``; line ends and a BOM stay in it.

    Raises:
        BodyError: it cannot be read, is not UTF-8, or is blank (:func:`cafleet.texts.is_blank`).
    """
    source, data = ("stdin", _stdin()) if path == STDIN else (f"the file {path}", _file(path))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise BodyError(
            f"{source} is not valid UTF-8 at byte offset {error.start}; convert it to UTF-8"
        ) from error
    if is_blank(text):
        raise BodyError(f"{source} is empty or blank; put some text into it")
    return text


def _stdin() -> bytes:
    if sys.stdin is None:
        raise BodyError("stdin is closed; pipe the text into it, or give --file a path")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise BodyError(
            f"stdin cannot be read ({error.strerror}); pipe the text into it, or give --file a path"
        ) from error


def _file(path: str) -> bytes:
    # As bytes, so that a name that is not UTF-8 still names its file whatever the locale.
    raw = path.encode("utf-8", "surrogateescape")
    try:
        # Not to be held up by a pipe that nobody writes to.
        with open(raw, "rb", opener=_open_without_waiting) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read()
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(raw):
            raise BodyError(
                f"the file {path} is a symbolic link to nothing; correct the path"
            ) from None
        raise BodyError(f"the file {path} does not exist; correct the path") from None
    except IsADirectoryError:
        pass
    except OSError as error:
        raise BodyError(
            f"the file {path} cannot be read ({error.strerror}); check its permissions and path"
        ) from error
    raise BodyError(
        f"{path} is not a regular file; give the path of one, or pipe the text into --file -"
    )


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
