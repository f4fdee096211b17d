"""A table in a frame, for people."""

from __future__ import annotations

from collections.abc import Sequence

from cafleet.widths import display_width


def framed(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table with a frame around each cell; the cells must be printable text."""
    lines = [header, *rows]
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    drawn = [_rule("┌", "┬", "┐", widths), _line(header, widths), _rule("├", "┼", "┤", widths)]
    return [*drawn, *(_line(row, widths) for row in rows), _rule("└", "┴", "┘", widths)]


def _rule(left: str, middle: str, right: str, widths: Sequence[int]) -> str:
    return left + middle.join("─" * (width + 2) for width in widths) + right


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        f" {cell}{' ' * (width - display_width(cell))} "
        for cell, width in zip(cells, widths, strict=True)
    )
    return f"│{'│'.join(padded)}│"
