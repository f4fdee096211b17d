"""What the picture of a pane says about the agent in it.

The evidence is asked for in a fixed order, and the first that holds decides. Everything is found
relative to the composer: what stands above it belongs to the transcript, which may quote any
question, status line or composer, and counts for nothing.

*Rest* is what is left only when everything is known: a composer with all that its agent always
draws around it, empty, the cursor at its start, and around it no line but those that the cues know
at rest. Where the processes of the pane can be seen, the agent's own has to be in the foreground.
"""

from __future__ import annotations

from cafleet.agents.cells import Row, parse
from cafleet.agents.composer import STATUS_ROWS, Composer, find, is_choice
from cafleet.agents.cues import USER_FILE, Cues, current_cues
from cafleet.agents.patterns import found
from cafleet.agents.presence import is_shell, may_run, of_agent, only_shells
from cafleet.agents.surroundings import Surroundings, is_spinner, read, without_settings
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Look, Picture, Process

# So much of an unknown line is quoted.
_QUOTED_CHARACTERS = 80
_QUOTED_LINES = 3


def judge(picture: Picture, agent: CodingAgent, *, cues: Cues | None = None) -> Look:
    """Judge one picture of a pane in which ``agent`` was started.

    Whose pane it is, is the caller's question; a dead one is *gone* here. Given ``cues`` it is a
    pure function and never raises, whatever is on the screen.

    Raises:
        SettingError: no ``cues`` are given and the user's file of cues is unusable.
    """
    cues = current_cues(agent) if cues is None else cues
    look = _outside(picture, cues)
    if look is not None:
        return look
    look = _inside(picture, agent, cues)
    if picture.foreground is None:
        if is_shell(picture.command, cues) and look.state is ScreenState.UNKNOWN:
            return _shell(picture)
        if look.state is ScreenState.REST and not may_run(picture.command, cues):
            # Any program can draw such a screen, and a shell would execute what is typed.
            return _unknown(
                f"no process of the pane can be seen, and {picture.command} is not {agent}"
            )
        return look
    return _process_fault(picture.foreground, agent, cues) or look


def _outside(picture: Picture, cues: Cues) -> Look | None:
    """What can be said without reading the screen."""
    if picture.dead:
        return _unknown("the program in the pane has ended", ScreenState.GONE)
    if picture.in_mode:
        return _unknown("the pane is in copy mode or another mode", ScreenState.BLOCKED)
    if picture.input_off:
        return _unknown("input to the pane is switched off", ScreenState.BLOCKED)
    if is_shell(picture.command, cues) and (
        picture.foreground is not None and only_shells(picture.foreground, cues)
    ):
        return _shell(picture)
    if picture.columns < cues.columns or picture.rows < cues.rows:
        if picture.foreground is None and is_shell(picture.command, cues):
            return _shell(picture)
        return _unknown(f"the pane is smaller than {cues.columns}×{cues.rows}")
    return None


def _shell(picture: Picture) -> Look:
    name = picture.command.removeprefix("-").rpartition("/")[2]
    return _unknown(f"{name} is running in the pane", ScreenState.SHELL)


def _unknown(cue: str, state: ScreenState = ScreenState.UNKNOWN) -> Look:
    return Look(state=state, cue=cue)


def _process_fault(seen: tuple[Process, ...], agent: CodingAgent, cues: Cues) -> Look | None:
    """What the processes in the foreground say against all that the screen may show."""
    for process in seen:
        if process.stopped:
            return _unknown(
                f"{process.name} is stopped (process {process.pid}); "
                f"let it go on with: kill -CONT {process.pid}"
            )
    if not seen or of_agent(seen, cues):
        return None
    names = ", ".join(dict.fromkeys(process.name for process in seen))
    return _unknown(f"{agent} is not in the foreground of the pane, {names} is")


def _inside(picture: Picture, agent: CodingAgent, cues: Cues) -> Look:
    rows = parse(picture.screen)
    composer = find(rows, picture, cues)
    if composer is not None and not _in_use(rows, composer, picture, cues):
        composer = None
    asking = rows if composer is None else _telling(rows[composer.below :], picture.columns, cues)
    if asked := _question(asking, cues):
        above = _above_choice(rows, cues) if composer is None else _transcript(rows, composer, cues)
        return Look(state=ScreenState.AWAITING, cue=asked, transcript=above)
    if composer is None:
        return _unknown("no composer in use is on the screen")
    around = read(rows, composer, picture.columns, cues)
    transcript = _transcript(rows, composer, cues)
    if around.elsewhere:
        return Look(state=ScreenState.UNKNOWN, cue=around.elsewhere, transcript=transcript)
    text = composer.text
    if found(cues.shell_mode, _below(rows, composer)):
        text = f"{cues.shell_glyph} {text}".rstrip()
    state, cue = _state(composer, text, around, picture, agent)
    unknown = around.unknown if state is ScreenState.UNKNOWN else ()
    return Look(state=state, cue=cue, composer=text, transcript=transcript, unknown=unknown)


def _state(
    composer: Composer, text: str, around: Surroundings, picture: Picture, agent: CodingAgent
) -> tuple[ScreenState, str]:
    """The state of an agent that shows a composer in use, and what says so."""
    if around.working:
        return ScreenState.WORKING, around.working
    if text:
        return ScreenState.DRAFT, "text in the composer"
    if is_spinner(picture.title[:1]):
        return ScreenState.WORKING, "a spinner in the pane's title"
    # A title is known of all panes that are looked at, if not of all that were recorded.
    if picture.title and around.starting:
        return ScreenState.UNKNOWN, f"{agent} is starting"
    missing = _missing(composer, around, picture)
    if not missing and not around.unknown:
        return ScreenState.REST, "an empty composer"
    if _holds_blanks(composer, picture):
        return ScreenState.DRAFT, "blanks in the composer"
    return ScreenState.UNKNOWN, missing or _quoted(around, agent)


def _holds_blanks(composer: Composer, picture: Picture) -> bool:
    x, y = composer.start
    return composer.whole and picture.cursor_y == y and picture.cursor_x > x


def _missing(composer: Composer, around: Surroundings, picture: Picture) -> str:
    """What an empty composer lacks of what its agent always draws; empty if nothing."""
    if not composer.whole:
        return "the composer has no frame as its agent draws it"
    x, y = composer.start
    end = picture.columns if composer.right is None else composer.right
    if picture.cursor_y != y or not x <= picture.cursor_x < end:
        return "the cursor is not in the composer's first line"
    return around.missing


def _quoted(around: Surroundings, agent: CodingAgent) -> str:
    """The lines that are not known, and what would make them known."""
    quotes = " and ".join(f"“{_cut(line)}”" for line in around.unknown[:_QUOTED_LINES])
    entry = ", ".join(map(_toml_string, dict.fromkeys(around.entries)))
    return (
        f"not known at rest: {quotes}; if {agent} rests there, "
        f"add to {USER_FILE}: [[{agent}]] resting = [{entry}]"
    )


def _cut(line: str) -> str:
    return line if len(line) <= _QUOTED_CHARACTERS else f"{line[: _QUOTED_CHARACTERS - 1]}…"


def _toml_string(text: str) -> str:
    """A string of TOML 1.0 that holds ``text``: a literal one, or a basic one where it has quotes."""
    shown = text if len(text) <= _QUOTED_CHARACTERS else f"{text[: _QUOTED_CHARACTERS - 1]}*"
    if "'" not in shown:
        return f"'{shown}'"
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _in_use(rows: list[Row], composer: Composer, picture: Picture, cues: Cues) -> bool:
    """Whether the cursor stands in the composer, or behind all output with only a status between.

    Below what an agent has left on the screen when it ended stands a shell's prompt.
    """
    if is_shell(picture.command, cues):
        return composer.whole and composer.top <= picture.cursor_y <= composer.bottom
    if composer.outer <= picture.cursor_y <= composer.bottom:
        return True
    below = [at for at in range(composer.bottom + 1, len(rows)) if rows[at].text]
    end = below[-1] if below else composer.bottom
    return picture.cursor_y >= end and len(below) <= STATUS_ROWS + 1


def _telling(rows: list[Row], columns: int, cues: Cues) -> list[Row]:
    """Those of the rows that hold no words of the user's, such as the title of the session."""
    telling = without_settings([row.text for row in rows if row.text], columns, cues)
    return [row for row in rows if is_choice(row, cues) or row.text in telling]


def _question(rows: list[Row], cues: Cues) -> str | None:
    if any(is_choice(row, cues) for row in rows):
        return "a selected choice"
    return found((*cues.questions, *cues.hints), " ".join(row.text for row in rows))


def _above_choice(rows: list[Row], cues: Cues) -> str:
    """The text above the selected choice of a dialog that stands in the composer's place."""
    chosen = next((at for at, row in enumerate(rows) if is_choice(row, cues)), len(rows))
    return _joined([row.text for row in rows[:chosen]], cues)


def _below(rows: list[Row], composer: Composer) -> str:
    return " ".join(row.text for row in rows[composer.below :])


def _transcript(rows: list[Row], composer: Composer, cues: Cues) -> str:
    texts = [row.columns(composer.left, composer.right) for row in rows[: composer.outer]]
    return _joined(texts, cues)


def _joined(texts: list[str], cues: Cues) -> str:
    """Lines of a transcript as one text, without the bar beside the user's messages in a box."""
    if cues.frame == "box":
        texts = [text.lstrip().removeprefix(cues.glyph) for text in texts]
    return "\n".join(texts)
