"""Finding the composer on a screen, the field that an agent's user types into.

Transcripts quote composers, so the lowest one counts, and `judge` asks besides that the cursor
stands where it would if that one were in use.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from cafleet.agents.cells import Cell, Row, Style
from cafleet.agents.cues import Cues
from cafleet.screens import Picture
from cafleet.texts import is_blank

# Where the bar of a box meets the line below it.
_CORNER = "╹"
_CHOICE = re.compile(r"\s*(?P<mark>\S) ?(?P<rest> ?)\d{1,3}[.)](?:\s|$)")


class Composer(NamedTuple):
    """Rows ``top`` to ``bottom`` hold its text; the frame begins at row ``outer`` (if none, ``top``).

    ``text`` is what its user typed, rows joined by line feeds. From row ``below`` on, text is the
    agent's. ``left`` and ``right`` are the columns that belong to the composer and to the transcript
    above it, half open.
    """

    outer: int
    top: int
    bottom: int
    text: str
    below: int
    left: int = 0
    right: int | None = None


def find(rows: list[Row], picture: Picture, cues: Cues) -> Composer | None:
    """The composer, or None. One that has no frame where its agent draws one must hold the cursor."""
    match cues.frame:
        case "rules":
            return _between_rules(rows, picture, cues) or _plain(rows, picture, cues, held=True)
        case "plain":
            return _plain(rows, picture, cues, held=False)
        case "box":
            return _box(rows, picture, cues)


def is_choice(row: Row, cues: Cues) -> bool:
    """Whether the row is the selected one of numbered choices, such as ``❯ 2. No``."""
    match = _CHOICE.match(row.text)
    return match is not None and match["mark"] in cues.choices


def _between_rules(rows: list[Row], picture: Picture, cues: Cues) -> Composer | None:
    rules = [at for at, row in enumerate(rows) if _is_rule(row.text, cues.rule)]
    for upper, lower in reversed(list(pairwise(rules))):
        if lower - upper > 1 and _begins(rows[upper + 1], cues):
            top, bottom = upper + 1, lower - 1
            text = _text(rows, range(top, bottom + 1), picture, cues)
            return Composer(upper, top, bottom, text, below=lower)
    return None


def _is_rule(text: str, mark: str) -> bool:
    return text.startswith(mark * 3) and text.endswith(mark)


def _begins(row: Row, cues: Cues) -> bool:
    """Whether a composer begins in this row: its glyph alone or set off, and no choice of a menu."""
    if not row.text.startswith(cues.glyph) or not is_blank(row.text[1:2] or " "):
        return False
    # A menu draws mark and number alike; a composer draws its glyph unlike its text, or sets it
    # off by a space that does not break.
    return not is_choice(row, cues) or row.text[1] == "\N{NO-BREAK SPACE}" or _styled_apart(row)


def _styled_apart(row: Row) -> bool:
    cells = row.cells()
    return cells[0].style != cells[2].style


def _plain(rows: list[Row], picture: Picture, cues: Cues, *, held: bool) -> Composer | None:
    """A composer without a frame; with ``held`` only one in which the cursor stands."""
    marked = [at for at, row in enumerate(rows) if row.text.startswith(cues.glyph)]
    # In the transcript the glyph is dim.
    marked = [at for at in marked if not rows[at].cells()[0].style.dim]
    if not marked or not _begins(rows[marked[-1]], cues):
        return None
    top = marked[-1]
    last = max(at for at, row in enumerate(rows) if row.text)
    gaps = [at for at in range(top + 1, last) if is_blank(rows[at].text)]
    bottom = gaps[-1] - 1 if gaps else top
    if top <= picture.cursor_y <= last:
        bottom = max(bottom, picture.cursor_y)
    elif held:
        return None
    while bottom > top and is_blank(rows[bottom].text):
        bottom -= 1
    text = _text(rows, range(top, bottom + 1), picture, cues)
    return Composer(top, top, bottom, text, below=bottom + 1)


def _box(rows: list[Row], picture: Picture, cues: Cues) -> Composer | None:
    """The lowest run of rows with a bar in one column, closed by a line or holding the cursor."""
    barred = [at for at, row in enumerate(rows) if row.text.lstrip().startswith(cues.glyph)]
    if not barred:
        return None
    bottom = barred[-1]
    left = _indent(rows[bottom])
    closing = rows[bottom + 1].text if bottom + 1 < len(rows) else ""
    closed = closing[left : left + 1] == _CORNER
    background = _background(rows[bottom], left)
    top = bottom
    # A menu above a composer has bars of its own, on another ground.
    while (
        top - 1 in barred
        and _indent(rows[top - 1]) == left
        and (not closed or _background(rows[top - 1], left) == background)
    ):
        top -= 1
    if not closed:
        if not top <= picture.cursor_y <= bottom:
            return None
        text = _text(rows, range(top, bottom + 1), picture, cues, left)
        return Composer(top, top, bottom, text, below=top, left=left)
    width = len(closing) - left - 1 - len(closing[left + 1 :].lstrip(cues.rule))
    right = left + 1 + width if width else None
    inner = range(top, _footer(rows, top, bottom, left, right, picture))
    text = _text(rows, inner, picture, cues, left, right)
    return Composer(top, top, bottom, text, below=bottom + 1, left=left, right=right)


def _indent(row: Row) -> int:
    return len(row.text) - len(row.text.lstrip())


def _background(row: Row, left: int) -> str:
    cells = row.cells()
    return cells[left + 1].style.background if left + 1 < len(cells) else ""


def _footer(
    rows: list[Row], top: int, bottom: int, left: int, right: int | None, picture: Picture
) -> int:
    """The row in a closed box where the agent's own line stands, or the one after the box.

    That line is the last one, below an empty one, and the cursor is never in it.
    """
    if bottom - top < 2 or picture.cursor_y == bottom:
        return bottom + 1
    above = "".join(cell.text for cell in rows[bottom - 1].cells()[left + 1 : right])
    return bottom if is_blank(above or " ") else bottom + 1


def _text(
    rows: list[Row],
    span: range,
    picture: Picture,
    cues: Cues,
    left: int = 0,
    right: int | None = None,
) -> str:
    """What was typed: the text of the rows without glyph, indent and all that is faint.

    Where a placeholder is shown, the cursor stands on its first letter and undims it. So text under
    the cursor counts only when nothing faint stands beside it.
    """
    lines, solid, faint, under = [], False, False, False
    for at in span:
        cells = rows[at].cells()[left:right]
        cells = cells[_inset(cells, cues) :]
        whole = "".join(cell.text for cell in cells)
        if any(mark in whole for mark in cues.pastes):
            lines.append(whole.rstrip())
            solid = True
            continue
        start = len(rows[at].cells()[left:right]) - len(cells) + left
        kept = []
        for column, cell in enumerate(cells, start):
            if is_blank(cell.text or " "):
                kept.append(cell.text)
            elif is_faint(cell.style, cues):
                faint = True
            else:
                kept.append(cell.text)
                if cell.style.reverse or (column, at) == (picture.cursor_x, picture.cursor_y):
                    under = True
                else:
                    solid = True
        lines.append("".join(kept).rstrip())
    return "\n".join(lines).strip("\n") if solid or (under and not faint) else ""


def _inset(cells: list[Cell], cues: Cues) -> int:
    """How many leading cells are glyph and padding: the glyph and what is blank in two columns."""
    inset = 1 if cells and cells[0].text == cues.glyph else 0
    padding = 3 if inset and cues.frame == "box" else 2
    while inset < min(padding, len(cells)) and is_blank(cells[inset].text or "x"):
        inset += 1
    return inset


def is_faint(style: Style, cues: Cues) -> bool:
    """Whether an agent draws placeholders and hints so."""
    return style.dim or style.foreground in cues.faint
