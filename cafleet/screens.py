"""What a pane shows, and what a look at it says: the words that panes and agents share."""

from __future__ import annotations

import msgspec

from cafleet.records import ScreenState


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process. ``words`` is the beginning of its command line; ``started`` is the system's own
    word for when it began, so that a process that was given the same id later is another one."""

    pid: int
    name: str
    words: tuple[str, ...] = ()
    started: str = ""
    stopped: bool = False


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """One pane at one instant, as its multiplexer drew it; taken without any side effect.

    ``screen`` is the visible rows joined by line feeds, top to bottom, with their SGR sequences.
    ``cursor_x`` and ``cursor_y`` count cells from 0 at the top left. ``tag`` is what was written on
    the pane when it joined a fleet, empty on a pane that is nobody's. ``pid`` is the pane's first
    process, 0 if that is not known. ``foreground`` are the processes that the terminal's keys go to,
    ``None`` where they cannot be seen (another PID namespace, another machine), and empty where
    nobody has looked.
    """

    screen: str
    columns: int
    rows: int
    cursor_x: int
    cursor_y: int
    command: str
    tag: str
    session: str
    window: str
    dead: bool = False
    in_mode: bool = False
    input_off: bool = False
    pid: int = 0
    foreground: tuple[Process, ...] | None = ()


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A judged picture.

    ``cue`` says in a few words what was seen. ``composer`` is the text in the composer (rows joined
    by line feeds, prompt glyph, frame and dim placeholder removed), ``transcript`` the plain text
    above it; both are empty where there is no composer. Where a question stands in its place,
    ``transcript`` is what is above that. ``unknown`` are the lines around an empty composer that
    kept it from being judged as rest.
    """

    state: ScreenState
    cue: str
    composer: str = ""
    transcript: str = ""
    unknown: tuple[str, ...] = ()
