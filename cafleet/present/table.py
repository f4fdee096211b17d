"""Plain tables, aligned by the width that a terminal gives each character."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.widths import display_width

_GAP = "  "


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines joined by line feeds, the header first; columns left-aligned, nothing cut.

    The cells must be printable text (:func:`cafleet.present.cells.cell`).
    """
    lines = [header, *rows]
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        text + " " * (width - display_width(text))
        for text, width in zip(cells, widths, strict=True)
    )
    return _GAP.join(padded).rstrip(" ")
