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
    nobody has looked. ``last_paste`` is the token of the last paste of ours, empty if there was none,
    null where the multiplexer cannot tell.
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
    title: str = ""
    last_paste: str | None = None


def digest(picture: Picture) -> str:
    """What tells a picture from the next one of the same pane, the cursor aside:
    ``<columns>x<rows>:<hash>``."""
    from hashlib import sha256

    drawn = sha256(picture.screen.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{picture.columns}x{picture.rows}:{drawn}"


def is_same_size(one: str, other: str) -> bool:
    """Whether two digests are those of panes of one size. A pane that is resized looks different,
    whether or not the program in it lives."""
    return one.partition(":")[0] == other.partition(":")[0]


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
