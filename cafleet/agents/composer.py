"""Finding the composer on a screen, the field that an agent's user types into.

Transcripts quote composers, so the lowest one counts, and `judge` asks besides that the cursor
stands where it would if that one were in use. A glyph alone is found as a composer too, since what
is typed there must be seen, but only one that has all that its agent draws around it is `whole`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from cafleet.agents.cells import Row
from cafleet.agents.cues import Cues
from cafleet.agents.typed import SEPARATOR, muted_colour, typed_text
from cafleet.screens import Picture
from cafleet.texts import is_blank

# How many lines an agent's status takes below its composer, at most.
STATUS_ROWS = 4
# The columns before the text: the glyph and a space, or a box's bar and its padding.
_INSET = 2
_BOX_INSET = 3
# Where the bar of a box meets the line below it.
_CORNER = "╹"
_CHOICE = re.compile(r"\s*(?P<mark>\S)\s{0,2}\d{1,3}[.)](?:\s|$)")


class Composer(NamedTuple):
    """Rows ``top`` to ``bottom`` hold its text; the frame begins at row ``outer`` (if none, ``top``).

    ``text`` is what its user typed, rows joined by line feeds. From row ``below`` on, text is the
    agent's, from ``status`` on its status lines. ``left`` and ``right`` are the columns that belong
    to the composer and to the transcript above it, half open. ``whole`` says that the frame is all
    there. ``start`` is the cell of its first character, x and y, where the cursor stands when it is
    empty.
    """

    outer: int
    top: int
    bottom: int
    text: str
    below: int
    left: int = 0
    right: int | None = None
    whole: bool = False
    start: tuple[int, int] = (-1, -1)
    status: int = 0


def find(rows: list[Row], picture: Picture, cues: Cues) -> Composer | None:
    """The composer, or None. One that has no frame where its agent draws one must hold the cursor."""
    match cues.frame:
        case "rules":
            return (
                _between_rules(rows, picture, cues)
                or _bare(rows, picture, cues)
                or _overgrown(rows, picture, cues)
            )
        case "plain":
            return _plain(rows, picture, cues)
        case "box":
            return _box(rows, picture, cues)


def is_choice(row: Row, cues: Cues) -> bool:
    """Whether the row is the selected one of numbered choices, such as ``❯ 2. No``."""
    match = _CHOICE.match(row.text)
    return match is not None and match["mark"] in cues.choices


def _between_rules(rows: list[Row], picture: Picture, cues: Cues) -> Composer | None:
    lines = _rule_lines(rows, picture.columns, cues)
    for upper, lower in reversed(list(pairwise(lines))):
        top, bottom = upper[-1] + 1, lower[0] - 1
        if top <= bottom and _begins(rows[top], cues):
            return Composer(
                outer=upper[0],
                top=top,
                bottom=bottom,
                text=typed_text(rows, range(top, bottom + 1), picture, cues),
                below=lower[0],
                whole=all(_width(rows[at]) >= picture.columns - 1 for at in (upper[0], lower[0])),
                start=(_INSET, top),
                status=lower[-1] + 1,
            )
    return None


def _rule_lines(rows: list[Row], columns: int, cues: Cues) -> list[range]:
    """The lines of a frame, each with its rows: a pane that has become narrower wraps a line."""
    lines: list[range] = []
    for at, row in enumerate(rows):
        follows = bool(lines) and lines[-1].stop == at
        if follows and _is_rest_of_rule(rows, at, columns, cues):
            lines[-1] = range(lines[-1].start, at + 1)
        elif _is_rule(row.text, cues.rule):
            lines.append(range(at, at + 1))
    return lines


def _is_rest_of_rule(rows: list[Row], at: int, columns: int, cues: Cues) -> bool:
    """Whether a row goes on with the line of the row above, which fills the pane."""
    if _has_glyph(rows[at], cues) or _width(rows[at - 1]) < columns - 1:
        return False
    return rows[at].text.endswith(cues.rule)


def _width(row: Row) -> int:
    return len(row.text) if row.text.isascii() else len(row.cells())


def _is_rule(text: str, mark: str) -> bool:
    """Whether a row is a line of ``mark``, which a name may stand in, set off by a blank."""
    return text.startswith(mark * 3) and text.lstrip(mark)[:1] in ("", " ")


def _begins(row: Row, cues: Cues) -> bool:
    """Whether a composer begins in this row: its glyph alone or set off, and no choice of a menu."""
    if not _has_glyph(row, cues) or not is_blank(row.text[1:2] or " "):
        return False
    # A menu draws mark and number alike, behind a space. A composer sets its glyph off by a space
    # that does not break, or draws it unlike its text.
    set_off = row.text[1:2] == "\N{NO-BREAK SPACE}"
    return set_off or not is_choice(row, cues) or (cues.frame == "plain" and _styled_apart(row))


def _has_glyph(row: Row, cues: Cues) -> bool:
    return row.text[:1] in {cues.glyph, cues.shell_glyph}


def _styled_apart(row: Row) -> bool:
    glyph, *rest = (cell.style for cell in row.cells() if not is_blank(cell.text))
    return glyph != rest[0]


def _bare(rows: list[Row], picture: Picture, cues: Cues) -> Composer | None:
    """A composer without the frame it should have: the cursor stands in it, a status follows."""
    top = _lowest_glyph(rows, cues)
    if top is None or not _begins(rows[top], cues):
        return None
    bottom = picture.cursor_y
    below = [row for row in rows[bottom + 1 :] if row.text]
    if not top <= bottom < len(rows) or len(below) > STATUS_ROWS:
        return None
    # In the transcript the glyph has a ground of its own.
    if not all(row.text for row in rows[top : bottom + 1]) or rows[top].cells()[0].style.background:
        return None
    text = typed_text(rows, range(top, bottom + 1), picture, cues)
    return Composer(top, top, bottom, text, below=bottom + 1, status=bottom + 1)


def _overgrown(rows: list[Row], picture: Picture, cues: Cues) -> Composer | None:
    """A composer whose text is taller than the pane: its beginning is off the screen.

    Dialogs can look alike, so all of it is left open to be read as a question as well.
    """
    rule = next((at for at, row in enumerate(rows) if _is_rule(row.text, cues.rule)), 0)
    indented = rows[1 if _begins(rows[0], cues) else 0 : rule]
    if not 0 <= picture.cursor_y < rule or not all(is_blank(row.text[:2]) for row in indented):
        return None
    text = typed_text(rows, range(rule), picture, cues)
    return Composer(0, 0, rule - 1, text, below=0, status=rule + 1) if text else None


def _plain(rows: list[Row], picture: Picture, cues: Cues) -> Composer | None:
    """A composer without a frame: an empty row stands between it and the status."""
    top = _lowest_glyph(rows, cues)
    if top is None or not _begins(rows[top], cues):
        return None
    last = max(at for at, row in enumerate(rows) if row.text)
    bottom = _plain_end(rows, top, last, picture, cues)
    if top <= picture.cursor_y <= last:
        bottom = max(bottom, picture.cursor_y)
    text = typed_text(rows, range(top, bottom + 1), picture, cues)
    if not text and _scrolled(rows[top : last + 1], cues):
        text = "…"
    # The row above is blank, and so is the one between it and the status.
    whole = top > 0 and not rows[top - 1].text and bottom + 1 < last and not rows[bottom + 1].text
    return Composer(
        top,
        top,
        max(bottom, min(picture.cursor_y, last)),
        text,
        below=bottom + 1,
        whole=whole,
        start=(_INSET, top),
        status=bottom + 1,
    )


def _plain_end(rows: list[Row], top: int, last: int, picture: Picture, cues: Cues) -> int:
    """The last row of a composer without a frame, as far as can be told without the cursor."""
    if _scrolled(rows[top : last + 1], cues):
        return last
    gaps = [at for at in range(top + 1, last) if not rows[at].text]
    if gaps:
        return gaps[-1] - 1
    if not typed_text(rows, range(top, top + 1), picture, cues):
        return top
    ends = (at for at in range(top + 1, last + 1) if not is_blank(rows[at].text[:2]))
    return next(ends, last + 1) - 1


def _scrolled(rows: list[Row], cues: Cues) -> bool:
    """Whether a row says at its end that the composer holds more text than it shows."""
    marked = (row for row in rows if row.text[-1:] in cues.scrolled)
    return any(style.dim for row in marked for text, style in row.runs if row.text[-1] in text)


def _lowest_glyph(rows: list[Row], cues: Cues) -> int | None:
    """The lowest row that begins with the glyph, unless it is dim as in the transcript."""
    marked = (at for at in range(len(rows) - 1, -1, -1) if _has_glyph(rows[at], cues))
    return next((at for at in marked if not rows[at].cells()[0].style.dim), None)


def _box(rows: list[Row], picture: Picture, cues: Cues) -> Composer | None:
    """The lowest run of rows with a bar in one column, closed by a line or holding the cursor."""
    barred = [at for at, row in enumerate(rows) if row.text.lstrip().startswith(cues.glyph)]
    if not barred:
        return None
    bottom = barred[-1]
    left = _indent(rows[bottom])
    closing = rows[bottom + 1].text if bottom + 1 < len(rows) else ""
    closed = closing[left : left + 1] == _CORNER
    colours = _bar_colours(rows[bottom], left)
    top = bottom
    # A menu above a composer has bars of its own, in other colours.
    while (
        top - 1 in barred
        and _indent(rows[top - 1]) == left
        and (not closed or _bar_colours(rows[top - 1], left) == colours)
    ):
        top -= 1
    if not closed:
        if not top <= picture.cursor_y <= bottom:
            return None
        text = typed_text(rows, range(top, bottom + 1), picture, cues, left)
        return Composer(top, top, bottom, text, below=top, left=left, status=bottom + 1)
    width = len(closing) - left - 1 - len(closing[left + 1 :].lstrip(cues.rule))
    right = left + 1 + width if width else None
    inner = range(top, bottom + 1)
    muted = ""
    whole = False
    if _has_footer(rows, inner, left, right, picture):
        inner = inner[:-1]
        footer = rows[bottom].cells()[left + 1 : right]
        muted = muted_colour(footer)
        whole = any(cell.text == SEPARATOR for cell in footer)
    text = typed_text(rows, inner, picture, cues, left, right, muted)
    start = (left + _BOX_INSET, top + 1)
    return Composer(
        top, top, bottom, text, bottom + 1, left, right, whole, start, status=bottom + 2
    )


def _indent(row: Row) -> int:
    return len(row.text) - len(row.text.lstrip())


def _bar_colours(row: Row, left: int) -> tuple[str, str]:
    """The colour of the bar, and that of the ground beside it."""
    bar, *beside = (cell.style for cell in row.cells()[left : left + 2])
    return bar.foreground, beside[0].background if beside else ""


def _has_footer(
    rows: list[Row], box: range, left: int, right: int | None, picture: Picture
) -> bool:
    """Whether the last row of a box is the agent's own line.

    An empty row stands above that line, and the cursor is never in it.
    """
    if len(box) < 3 or picture.cursor_y == box[-1]:
        return False
    return is_blank(rows[box[-2]].columns(left + 1, right))
