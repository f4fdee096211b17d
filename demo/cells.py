"""Text measured and broken in terminal cells, by the standard library alone."""

from __future__ import annotations

import unicodedata

_CONTROLS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) != "\n"}
_CONTROLS |= {0x7F: "\u2421"} | dict.fromkeys(range(0x80, 0xA0), "\ufffd")
_INVISIBLE = {"Mn", "Me", "Cf"}


def visible(text: str) -> str:
    """``text`` without anything a terminal would obey: control characters become pictures."""
    return text.replace("\t", "    ").translate(_CONTROLS)


def width(text: str) -> int:
    """How many cells ``text`` (a single line) takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.category(character) in _INVISIBLE:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrap(text: str, columns: int) -> list[str]:
    """Break ``text`` into rows of at most ``columns`` cells, after a blank where there is one.

    Blanks at the end of a row are kept, so that the rows of one line join to that line again.
    """
    return [row for line in text.split("\n") for row in _wrap_line(line, columns)]


def _wrap_line(line: str, columns: int) -> list[str]:
    rows: list[str] = []
    start = used = 0
    blank = -1
    for index, character in enumerate(line):
        size = _cells(character)
        while used + size > columns and index > start:
            cut = blank + 1 if blank >= start else index
            rows.append(line[start:cut])
            used = width(line[cut:index])
            start = cut
        used += size
        if character == " ":
            blank = index
    return [*rows, line[start:]]


def clip(text: str, columns: int) -> str:
    """``text`` cut to at most ``columns`` cells."""
    used = 0
    for index, character in enumerate(text):
        used += _cells(character)
        if used > columns:
            return text[:index]
    return text
