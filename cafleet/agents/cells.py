"""A captured screen as rows of styled cells."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

# CSI and its parameters; OSC up to its end; any other escape; what else draws nothing.
_CONTROL = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]*)m"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x1a\x1c-\x1f\x7f-\x9f]"
)
# Characters of one column each, as most screens have no others.
_NARROW = re.compile(
    r"[ -~\xa0-\xac\xae-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u25fc⎿⏵⏸⏺❯✢✳✶✻✽⬝⠀-⣿]*"
)
# Foreground, background and underline: the three that an extended colour follows.
_COLOURS = frozenset({"38", "48", "58"})


class Style(NamedTuple):
    """How a cell is drawn, as far as it tells anything.

    A colour is the parameters of its SGR sequence without the leading 38 or 48, such as ``5;246``
    or ``2;128;128;128``; the sixteen basic colours are ``5;0`` to ``5;15``; the default is empty.
    """

    bold: bool = False
    dim: bool = False
    reverse: bool = False
    foreground: str = ""
    background: str = ""


class Cell(NamedTuple):
    """One column. The second column of a wide character holds an empty ``text``."""

    text: str
    style: Style


class Row:
    """One row of the screen, kept as runs of one style; cells are made where they are needed."""

    def __init__(self, runs: list[tuple[str, Style]]) -> None:
        self.runs = runs
        self.text = "".join(text for text, _ in runs).rstrip()

    def cells(self) -> list[Cell]:
        """The cells from column 0; a combining character stands in the cell it combines with."""
        cells: list[Cell] = []
        for text, style in self.runs:
            if _NARROW.fullmatch(text):
                cells += [Cell(char, style) for char in text]
                continue
            for char in text:
                _append(cells, char, style)
        return cells

    def columns(self, left: int, right: int | None) -> str:
        """The plain text from column ``left`` up to ``right``, or to the end."""
        if _NARROW.fullmatch(self.text):
            return self.text[left:right].rstrip()
        return "".join(cell.text for cell in self.cells()[left:right]).rstrip()


def _append(cells: list[Cell], char: str, style: Style) -> None:
    width = 1 if char.isascii() else _width(char)
    if width == 0 and cells:
        at = len(cells) - 1
        while at and not cells[at].text:
            at -= 1
        cells[at] = Cell(cells[at].text + char, cells[at].style)
    elif width:
        cells += [Cell(char, style), *[Cell("", style)] * (width - 1)]


def _width(char: str) -> int:
    from wcwidth import wcwidth

    return max(0, wcwidth(char))


def parse(screen: str) -> list[Row]:
    """The rows of ``screen``, top to bottom. A style holds until it is changed, across rows."""
    rows = []
    style = Style()
    for line in screen.split("\n"):
        runs = []
        start = 0
        for control in _CONTROL.finditer(line):
            if control.start() > start:
                runs.append((line[start : control.start()], style))
            start = control.end()
            if control["sgr"] is not None:
                style = _restyle(style, control["sgr"])
        if start < len(line):
            runs.append((line[start:], style))
        rows.append(Row(runs))
    return rows


# A screen has few styles, and changes between them hundreds of times.
@lru_cache(maxsize=4096)
def _restyle(style: Style, parameters: str) -> Style:
    """Apply the parameters of one SGR sequence (ECMA-48, 8.3.117; colours as in ITU-T T.416)."""
    codes = parameters.split(";")
    at = 0
    while at < len(codes):
        code, *inner = codes[at].split(":")
        at += 1
        if code not in _COLOURS:
            style = style if inner else _set(style, code.lstrip("0"))
            continue
        if not inner:
            size = {"5": 2, "2": 4}.get("".join(codes[at : at + 1]), 1)
            inner = codes[at : at + size]
            at += size
        colour = ";".join(part for part in inner if part)
        if code == "38":
            style = style._replace(foreground=colour)
        elif code == "48":
            style = style._replace(background=colour)
    return style


def _set(style: Style, code: str) -> Style:
    match code:
        case "":
            return Style()
        case "1":
            return style._replace(bold=True)
        case "2":
            return style._replace(dim=True)
        case "7":
            return style._replace(reverse=True)
        case "22":
            return style._replace(bold=False, dim=False)
        case "27":
            return style._replace(reverse=False)
        case "39":
            return style._replace(foreground="")
        case "49":
            return style._replace(background="")
    return _basic_colour(style, int(code)) if len(code) <= 3 else style


def _basic_colour(style: Style, code: int) -> Style:
    if 30 <= code <= 37 or 90 <= code <= 97:
        return style._replace(foreground=f"5;{code - 30 if code < 90 else code - 82}")
    if 40 <= code <= 47 or 100 <= code <= 107:
        return style._replace(background=f"5;{code - 40 if code < 100 else code - 92}")
    return style
