"""What was typed into a composer, told from what its agent draws there."""

from __future__ import annotations

from itertools import pairwise

from cafleet.agents.cells import Cell, Row
from cafleet.agents.cues import Cues
from cafleet.agents.patterns import fits
from cafleet.screens import Picture
from cafleet.texts import is_blank

# What stands between agent and model in the last line of a box.
SEPARATOR = "·"


def typed_text(
    rows: list[Row],
    span: range,
    picture: Picture,
    cues: Cues,
    left: int = 0,
    right: int | None = None,
    muted: str = "",
) -> str:
    """The text of the rows in ``span`` without glyph, padding and all that is faint.

    A placeholder that is known by its words is no text either where the cursor stands on its first
    character and it is drawn in the colour ``muted``, or without any, as on a screen without colours.

    Where a placeholder is shown, the cursor stands on its first letter and undims it. So one cell
    under the cursor is text only when nothing faint stands beside it.
    """
    lines = []
    kinds: list[str] = []
    for at in span:
        cells = rows[at].cells()[left:right]
        start = _inset(cells, cues)
        whole = "".join(cell.text for cell in cells[start:]).rstrip()
        if any(mark in whole for mark in cues.pastes):
            kinds.append("solid")
            lines.append(whole)
            continue
        cursor = picture.cursor_x - left if at == picture.cursor_y else -1
        kept = ""
        for column, cell in enumerate(cells[start:], start):
            kinds.append(_kind(cell, column == cursor, cues))
            kept += cell.text if kinds[-1] != "faint" else ""
        lines.append(kept.rstrip())
    under = kinds.count("under")
    if not ("solid" in kinds or under > 1 or (under and "faint" not in kinds)):
        return ""
    text = "\n".join(lines).strip("\n")
    if fits(text, cues.placeholders) and _is_placeholder(rows, span, picture, left, right, muted):
        return ""
    return text


def _is_placeholder(
    rows: list[Row], span: range, picture: Picture, left: int, right: int | None, muted: str
) -> bool:
    """Whether the text looks like one that its agent put there, apart from its words."""
    if picture.cursor_y not in span:
        return False
    row = rows[picture.cursor_y].cells()
    before = row[left + 1 : picture.cursor_x]
    colours = {
        cell.style.foreground
        for at in span
        for cell in rows[at].cells()[left + 1 : right]
        if not is_blank(cell.text) and not cell.style.dim
    }
    return all(is_blank(cell.text) for cell in before) and colours <= {"", muted}


def _kind(cell: Cell, at_cursor: bool, cues: Cues) -> str:
    """``blank``, ``faint`` (a placeholder or hint), ``under`` the cursor, or else ``solid``."""
    if is_blank(cell.text):
        return "blank"
    if cell.style.dim or cell.style.foreground in cues.faint:
        return "faint"
    return "under" if at_cursor or cell.style.reverse else "solid"


def _inset(cells: list[Cell], cues: Cues) -> int:
    """How many leading cells are no text: the glyph, and the blank ones up to where text begins."""
    glyph = 1 if cells and cells[0].text == cues.glyph else 0
    # A box keeps two columns of padding beside its bar, the others one beside their glyph.
    start = min(3 if glyph and cues.frame == "box" else 2, len(cells))
    return next((at for at in range(glyph, start) if not is_blank(cells[at].text)), start)


def muted_colour(footer: list[Cell]) -> str:
    """The colour in which the agent's theme draws placeholders: that of the footer's separator.

    Empty where the theme draws the text behind the separator in the same colour.
    """
    inks = [(cell.text, cell.style.foreground) for cell in footer if not is_blank(cell.text)]
    for (mark, muted), (_, ink) in pairwise(inks):
        if mark == SEPARATOR:
            return muted if muted != ink else ""
    return ""
