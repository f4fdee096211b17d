"""Mutants of recorded screens: the same state, drawn otherwise, or with less of the evidence.

A screen is a grid of styled cells. Each mutation takes a scene and draws another one with the help
of a random generator, or returns None where it does not apply.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import msgspec

from cafleet.agents.cells import Cell, Style, parse
from cafleet.screens import Picture

Grid = list[list[Cell]]

# Not ■ and ●: at the head of a block Codex means an error by the one, Claude Code an answer by the
# other, and in the middle of an answer Codex shows nothing else of its work.
SPINNERS = "·✢✳✶✻✽*•◦⠂⠐⠋⠙⬝◐◓"
KEYS = ("ctrl+x", "ctrl+shift+c", "f5", "⌃C", "alt+q")
QUOTES = (
    ("  ❯ 1. Yes", "    2. No"),
    ("  › 1. Yes, proceed (y)", "    2. No (esc)"),
    ("  Permission required", "  Overwrite? [y/n]"),
    ("  ✻ Working… (12s · esc to interrupt)",),
    ("  • Working (12s • esc to interrupt)", "    └ Tip: none"),
    ("  ⬝⬝⬝⬝  esc interrupt",),
    (f"  {'─' * 40}", "  ❯ a quoted draft", f"  {'─' * 40}", "    ? for shortcuts"),
    ("  › Ask Codex to do anything", "", "  gpt-5 default · /home/u", "  ? for shortcuts"),
    ("  ┃", "  ┃  quoted", "  ┃  Build · m1", "  ╹▀▀▀▀▀▀▀▀▀▀", "   /home/u   ctrl+p commands"),
    ("  search prompts:", "  no matching prompt: x"),
)


class Scene(msgspec.Struct, frozen=True):
    """A screen as cells. ``composer`` are the rows of the composer with its frame, none where there
    is no composer, and ``end`` is the row at which the block begins that ends the transcript."""

    grid: Grid
    columns: int
    rows: int
    x: int
    y: int
    composer: range
    end: int


Mutation = Callable[[Scene, random.Random], Scene | None]


def scene_of(picture: Picture, composer: range) -> Scene:
    grid = [row.cells() for row in parse(picture.screen)]
    return Scene(
        grid,
        picture.columns,
        picture.rows,
        picture.cursor_x,
        picture.cursor_y,
        composer,
        _end(grid[: composer.start]),
    )


def _end(above: Grid) -> int:
    """Where the last block begins: after a blank row, in the first column if any does so."""
    lines = [at for at, row in enumerate(above) if text_of(row)]
    heads = [at for at in lines if at - 1 not in lines]
    first = [at for at in heads if not text_of(above[at])[0].isspace()]
    return max([0, *(first or heads)])


def picture_of(scene: Scene, picture: Picture) -> Picture:
    """The scene as a picture, all else as in ``picture``."""
    return msgspec.structs.replace(
        picture,
        screen="\n".join(_drawn(row) for row in scene.grid),
        columns=scene.columns,
        rows=scene.rows,
        cursor_x=scene.x,
        cursor_y=scene.y,
    )


def _drawn(row: list[Cell]) -> str:
    text, before = "", Style()
    for cell in row:
        if cell.style != before:
            text += "\x1b[0m" + _sgr(cell.style)
            before = cell.style
        text += cell.text
    return text if before == Style() else text + "\x1b[0m"


def _sgr(style: Style) -> str:
    codes = [code for on, code in ((style.bold, "1"), (style.dim, "2"), (style.reverse, "7")) if on]
    codes += [f"38;{style.foreground}"] if style.foreground else []
    codes += [f"48;{style.background}"] if style.background else []
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def text_of(row: list[Cell]) -> str:
    return "".join(cell.text for cell in row).rstrip()


def _cells(text: str) -> list[Cell]:
    return parse(text)[0].cells()


def _with(scene: Scene, grid: Grid, *, above: int = 0) -> Scene:
    """``scene`` with another grid, that has so many rows more or less above the composer."""
    return msgspec.structs.replace(
        scene,
        grid=grid,
        rows=scene.rows + above,
        y=scene.y + above,
        composer=range(scene.composer.start + above, scene.composer.stop + above),
        end=scene.end + above,
    )


# What changes nothing that tells.


def no_styles(scene: Scene, rng: random.Random) -> Scene | None:
    return _with(scene, [[Cell(cell.text, Style()) for cell in row] for row in scene.grid])


def other_colours(scene: Scene, rng: random.Random) -> Scene | None:
    """Another theme: each colour is another one, two are never the same."""
    colours = _colours(scene.grid)
    others = rng.sample(range(256), len(colours))
    return _with(scene, _recoloured(scene.grid, dict(zip(colours, others, strict=True))))


def quoted(scene: Scene, rng: random.Random) -> Scene | None:
    """A transcript that quotes what a screen may tell, at its top."""
    lines = [_cells(line) for _ in range(rng.randint(1, 3)) for line in rng.choice(QUOTES)]
    lines.append([])
    return _with(scene, [*lines, *scene.grid], above=len(lines))


def rows_cut(scene: Scene, rng: random.Random) -> Scene | None:
    """Rows at the top are out of observation; what ends the transcript stays."""
    most = min(scene.end, scene.rows - 12)
    if most < 1:
        return None
    count = rng.randint(1, most)
    return _with(scene, scene.grid[count:], above=-count)


def columns_cut(scene: Scene, rng: random.Random) -> Scene | None:
    """A narrower pane, what is beyond its edge cut off."""
    if scene.columns <= 60 or scene.x >= 60:
        return None
    columns = rng.randint(60, scene.columns - 1)
    grid = [row[:columns] for row in scene.grid]
    return msgspec.structs.replace(_with(scene, grid), columns=columns)


def blank_row(scene: Scene, rng: random.Random) -> Scene | None:
    """A blank row more in the transcript."""
    at = rng.randint(0, max(scene.end, 0))
    return _with(scene, [*scene.grid[:at], [], *scene.grid[at:]], above=1)


# What may take evidence away, one piece of it.


def merged_colours(scene: Scene, rng: random.Random) -> Scene | None:
    """A theme of few colours: things that were told apart by them look alike."""
    few = {colour: rng.choice((1, 7, 8, 15)) for colour in _colours(scene.grid)}
    return _with(scene, _recoloured(scene.grid, few))


def other_spinner(scene: Scene, rng: random.Random) -> Scene | None:
    glyph = rng.choice(SPINNERS)
    grid = []
    for at, row in enumerate(scene.grid):
        first = next((x for x, cell in enumerate(row) if not cell.text.isspace()), None)
        is_spinner = first is not None and row[first].text in set(SPINNERS)
        if is_spinner and at not in scene.composer:
            row = [*row[:first], Cell(glyph, row[first].style), *row[first + 1 :]]
        grid.append(row)
    return _with(scene, grid)


def other_key(scene: Scene, rng: random.Random) -> Scene | None:
    """The key that interrupts is another one."""
    key = rng.choice(KEYS)
    grid = []
    changed = False
    for row in scene.grid:
        text = "".join(cell.text for cell in row)
        found = re.search(r"\besc( again)?(?= (to )?interrupt)", text)
        if found and len(text) == len(row):
            style = row[found.start()].style
            new = [Cell(char, style) for char in key]
            row = [*row[: found.start()], *new, *row[found.end() :]]
            changed = True
        grid.append(row)
    return _with(scene, grid) if changed else None


def line_cut(scene: Scene, rng: random.Random) -> Scene | None:
    """A line above or below the composer ends at any column."""
    at = _some_line(scene, rng)
    if at is None:
        return None
    column = rng.randint(0, len(text_of(scene.grid[at])))
    return _with(scene, [row[:column] if y == at else row for y, row in enumerate(scene.grid)])


def row_less(scene: Scene, rng: random.Random) -> Scene | None:
    """A line above the composer is missing, or one below it."""
    at = _some_line(scene, rng)
    if at is None:
        return None
    grid = [row for y, row in enumerate(scene.grid) if y != at]
    return _with(scene, grid, above=-1 if at < scene.composer.start else 0)


def row_twice(scene: Scene, rng: random.Random) -> Scene | None:
    at = _some_line(scene, rng)
    if at is None:
        return None
    grid = [*scene.grid[: at + 1], *scene.grid[at:]]
    return _with(scene, grid, above=1 if at < scene.composer.start else 0)


def no_footer(scene: Scene, rng: random.Random) -> Scene | None:
    return _with(scene, scene.grid[: scene.composer.stop])


def moved_cursor(scene: Scene, rng: random.Random) -> Scene | None:
    rows = list(range(scene.rows))
    rows += list(scene.composer) * 5
    return msgspec.structs.replace(
        scene, x=rng.choice((0, 1, 2, 3, 5, rng.randrange(scene.columns))), y=rng.choice(rows)
    )


def wrapped(scene: Scene, rng: random.Random) -> Scene | None:
    """A pane that was made narrower before its program has drawn again: the rows are wrapped."""
    if scene.columns <= 60:
        return None
    columns = rng.randint(60, scene.columns - 1)
    grid: Grid = []
    y = 0
    for at, row in enumerate(scene.grid):
        if at == scene.y:
            y = len(grid)
        width = max(len(text_of(row)), 1)
        grid += [row[start : start + columns] for start in range(0, width, columns)]
    less = max(len(grid) - scene.rows, 0)
    if y < less:
        return None
    x = min(scene.x, columns - 1)
    return Scene(grid[less:], columns, scene.rows, x, y - less, range(0), 0)


def _some_line(scene: Scene, rng: random.Random) -> int | None:
    """A row with text outside the composer, more often one near it."""
    lines = [
        at for at, row in enumerate(scene.grid) if at not in scene.composer and text_of(row).strip()
    ]
    near = [at for at in lines if at > scene.composer.start - 8]
    return rng.choice(near + lines) if lines else None


def _colours(grid: Grid) -> list[str]:
    styles = {cell.style for row in grid for cell in row}
    return sorted({each for style in styles for each in style[3:] if each})


def _recoloured(grid: Grid, others: dict[str, int]) -> Grid:
    def other(colour: str) -> str:
        return f"5;{others[colour]}" if colour else ""

    def styled(style: Style) -> Style:
        return style._replace(
            foreground=other(style.foreground), background=other(style.background)
        )

    return [[Cell(cell.text, styled(cell.style)) for cell in row] for row in grid]


HARMLESS: tuple[Mutation, ...] = (
    no_styles,
    other_colours,
    quoted,
    rows_cut,
    columns_cut,
    blank_row,
)
HARMFUL: tuple[Mutation, ...] = (
    merged_colours,
    other_spinner,
    other_key,
    line_cut,
    row_less,
    row_twice,
    no_footer,
    moved_cursor,
    wrapped,
)
