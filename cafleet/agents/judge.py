"""What the picture of a pane says about the agent in it.

The evidence is asked for in a fixed order, and the first that holds decides. Everything is found
relative to the composer: what stands above it belongs to the transcript, which may quote any
question, status line or composer, and counts for nothing.
"""

from __future__ import annotations

from cafleet.agents.cells import Row, Style, parse
from cafleet.agents.composer import STATUS_ROWS, Composer, find, is_choice
from cafleet.agents.cues import Cues, cues_for
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Look, Picture


def judge(picture: Picture, agent: CodingAgent, *, cues: Cues | None = None) -> Look:
    """Judge one picture of a pane in which ``agent`` was started.

    Whose pane it is, is the caller's question; a dead one is *gone* here. Given ``cues`` it is a
    pure function and never raises, whatever is on the screen.

    Raises:
        SettingError: no ``cues`` are given and the user's file of cues is unusable.
    """
    cues = cues_for(agent) if cues is None else cues
    return _outside(picture, cues) or _inside(picture, cues)


def _outside(picture: Picture, cues: Cues) -> Look | None:
    """What can be said without reading the screen."""
    command = picture.command.removeprefix("-").rpartition("/")[2]
    if picture.dead:
        return Look(state=ScreenState.GONE, cue="the program in the pane has ended")
    if picture.in_mode:
        return Look(state=ScreenState.BLOCKED, cue="the pane is in copy mode or another mode")
    if picture.input_off:
        return Look(state=ScreenState.BLOCKED, cue="input to the pane is switched off")
    if command in cues.shells:
        return Look(state=ScreenState.SHELL, cue=f"{command} is running in the pane")
    if picture.columns < cues.columns or picture.rows < cues.rows:
        return Look(
            state=ScreenState.UNKNOWN,
            cue=f"the pane is smaller than {cues.columns}×{cues.rows}",
        )
    return None


def _inside(picture: Picture, cues: Cues) -> Look:
    rows = parse(picture.screen)
    composer = find(rows, picture, cues)
    if composer is not None and not _in_use(rows, composer, picture):
        composer = None
    if asked := _question(rows if composer is None else rows[composer.below :], cues):
        above = _above_choice(rows, cues) if composer is None else _transcript(rows, composer, cues)
        return Look(state=ScreenState.AWAITING, cue=asked, transcript=above)
    if composer is None:
        return Look(state=ScreenState.UNKNOWN, cue="no composer in use is on the screen")
    text = composer.text
    if _found(cues.shell_mode, _below(rows, composer)):
        text = f"{cues.shell_glyph} {text}".rstrip()
    if status := _status(rows, composer, cues):
        state, cue = ScreenState.WORKING, status
    elif text:
        state, cue = ScreenState.DRAFT, "text in the composer"
    else:
        state, cue = ScreenState.REST, "an empty composer"
    transcript = _transcript(rows, composer, cues)
    return Look(state=state, cue=cue, composer=text, transcript=transcript)


def _in_use(rows: list[Row], composer: Composer, picture: Picture) -> bool:
    """Whether the cursor stands in the composer, or behind all output with only a status between."""
    if composer.outer <= picture.cursor_y <= composer.bottom:
        return True
    below = [at for at in range(composer.bottom + 1, len(rows)) if rows[at].text]
    end = below[-1] if below else composer.bottom
    return picture.cursor_y >= end and len(below) <= STATUS_ROWS + 1


def _question(rows: list[Row], cues: Cues) -> str | None:
    if any(is_choice(row, cues) for row in rows):
        return "a selected choice"
    return _found((*cues.questions, *cues.hints), " ".join(row.text for row in rows))


def _above_choice(rows: list[Row], cues: Cues) -> str:
    """The text above the selected choice of a dialog that stands in the composer's place."""
    chosen = next((at for at, row in enumerate(rows) if is_choice(row, cues)), len(rows))
    return _joined([row.text for row in rows[:chosen]], cues)


def _found(phrases: tuple[str, ...], text: str) -> str | None:
    """The first of ``phrases`` that ``text`` holds, however it is spaced, wrapped or capitalised."""
    text = _folded(text)
    return next((phrase for phrase in phrases if _folded(phrase) in text), None)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _status(rows: list[Row], composer: Composer, cues: Cues) -> str | None:
    return _found(cues.working, _below(rows, composer)) or _status_above(
        rows[: composer.outer], cues
    )


def _below(rows: list[Row], composer: Composer) -> str:
    return " ".join(row.text for row in rows[composer.below :])


def _status_above(rows: list[Row], cues: Cues) -> str | None:
    """The cue in the status line above the composer: the nearest row that begins in column 0.

    It is told from a line of the transcript by its first character, by what stands in it, and, where
    it is drawn in styles at all, by the style of its brackets.
    """
    heads = [at for at, row in enumerate(rows) if row.text and not row.text[0].isspace()]
    if not heads or rows[heads[-1]].text[0] not in cues.spinners:
        return None
    head = heads[-1]
    end = next((at for at in range(head, len(rows)) if not rows[at].text), len(rows))
    if unfinished := _found(cues.unfinished, rows[head].text):
        return f"a status line with {unfinished}"
    line = " ".join(row.text for row in rows[head:end])
    bracketed = [part.partition(")")[0] for part in line.split("(")[1:] if ")" in part]
    if not _set_apart(rows[head:end]):
        return None
    return _found(cues.working, "\n".join(bracketed))


def _set_apart(block: list[Row]) -> bool:
    """Whether the block ends in a style of its own, or has no styles at all."""
    runs = [run for row in block for run in row.runs if not run[0].isspace()]
    return all(style == Style() for _, style in runs) or runs[-1][1] != Style()


def _transcript(rows: list[Row], composer: Composer, cues: Cues) -> str:
    texts = [row.columns(composer.left, composer.right) for row in rows[: composer.outer]]
    return _joined(texts, cues)


def _joined(texts: list[str], cues: Cues) -> str:
    """Lines of a transcript as one text, without the bar beside the user's messages in a box."""
    if cues.frame == "box":
        texts = [text.lstrip().removeprefix(cues.glyph) for text in texts]
    return "\n".join(texts)
