"""What the rest of the program may ask of a multiplexer; nothing here knows which one it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from cafleet.errors import MultiplexerError
from cafleet.panes.identity import PaneTag
from cafleet.records import Backend
from cafleet.screens import Picture, Process


class CallerPane(msgspec.Struct, frozen=True, kw_only=True):
    """The pane that this process runs in. ``tag`` is what stands on it, empty if nothing does;
    ``server_pid`` is the process id of its server."""

    backend: Backend
    socket: str
    server_pid: int
    session: str
    window: str
    pane: str
    tag: str


class NewPane(msgspec.Struct, frozen=True, kw_only=True):
    """``server_pid`` is the process id of the server that holds the pane."""

    pane: str
    server_pid: int
    session: str
    window: str


# Below this a look at a pane says nothing (columns, rows).
SMALLEST = (60, 12)


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """A pane and its window. Sizes are in cells; ``index`` is the pane's number in the window, and
    ``room`` the window's height without the rows of the panes' titles.

    ``active`` is the pane that has the window's focus, ``shown`` a window that some client shows.
    ``creating`` and ``director`` are what else was written on a tagged pane: that the creation of its
    fleet is not committed, and that it is a Director's.
    """

    pane: str
    index: int
    columns: int
    height: int
    active: bool
    session_id: str
    window: str
    shown: bool
    width: int
    room: int
    zoomed: bool
    tag: str
    creating: bool
    director: bool

    @property
    def is_small(self) -> bool:
        """Whether an agent in the pane cannot be judged."""
        return self.columns < SMALLEST[0] or self.height < SMALLEST[1]


class SplitError(MultiplexerError):
    """No pane for a member.

    ``closed`` says that nothing is left: no pane was opened, or the one that was is closed again.
    Otherwise ``pane`` is what is still open, ``None`` where its id was never learned.
    """

    def __init__(self, message: str, *, pane: str | None = None, closed: bool = True) -> None:
        super().__init__(message)
        self.pane = pane
        self.closed = closed


class Multiplexer(Protocol):
    """One server. Every call ends within its limit, five seconds where none is given.

    Where the result is a dict it has an entry per pane, and one pane's trouble is not another's:
    a :class:`~cafleet.errors.PaneGoneError` stands for a pane that is absent, and if the server
    cannot be reached all panes have that same error. Nothing is raised then.
    """

    @property
    def socket(self) -> str:
        """The absolute path of the server's socket."""
        ...

    def is_listening(self) -> bool:
        """Whether a server accepts connections at the socket, without asking it anything."""
        ...

    def is_in_sight(self) -> bool:
        """Whether the server's process can be seen from here. Not from a PID namespace that it is
        no part of, such as a sandbox's, where all processes end with the first."""
        ...

    def split(
        self,
        beside: str,
        *,
        env: Mapping[str, str],
        argv: Sequence[str],
        tag: PaneTag,
        title: str,
        cwd: str,
        creating: bool = False,
        limit: float = 5.0,
    ) -> NewPane:
        """Open a pane near ``beside`` that runs ``argv`` in ``cwd``; it is tagged from the first moment.

        It stays when its program ends, for people to read, until it is killed. No shell parses
        ``argv``; ``env`` is added to what the server gives every pane; ``title`` is shown to people;
        ``creating`` is written on it, see :class:`Spot`. The focus stays where it is. ``limit``
        (seconds) holds for the whole of it; only the closing of a pane after a failure may come on
        top.

        Raises:
            SplitError: there is no pane, and it says what is left.
            MultiplexerError: the server or ``beside`` cannot be reached; nothing was opened.
        """
        ...

    def set_tag(
        self, pane: str, tag: PaneTag | None, *, creating: bool = False, director: bool = False
    ) -> None:
        """Write ``tag`` on the pane with what else a :class:`Spot` tells, or take off all of it.

        Raises:
            PaneGoneError: the pane is absent.
            MultiplexerError: the server cannot be reached.
        """
        ...

    def end_creation(self, panes: Sequence[str]) -> None:
        """Take ``creating`` off the panes, those that are absent apart.

        Raises:
            MultiplexerError: the server cannot be reached.
        """
        ...

    def kill(self, pane: str, *, missing_ok: bool) -> None:
        """Close the pane and end what runs in it.

        Raises:
            PaneGoneError: it is absent, unless ``missing_ok``.
            MultiplexerError: the server cannot be reached, whatever ``missing_ok`` says.
        """
        ...

    def pictures(self, panes: Sequence[str]) -> dict[str, Picture | MultiplexerError]:
        """Look at the panes, all at one instant, without any effect on them."""
        ...

    def paste(
        self,
        texts: Mapping[str, str],
        programs: Mapping[str, str] | None = None,
        processes: Mapping[str, Sequence[Process]] | None = None,
        tokens: Mapping[str, str] | None = None,
    ) -> dict[str, MultiplexerError]:
        """Hand each pane its text as a paste, exactly as it is; only failures are returned.

        A pane that is dead, takes no input, runs another program than the one that ``programs`` has
        for it (``command`` in a picture), or has not all of its ``processes`` in the foreground any
        more, is a failure and gets nothing. The call that pastes also writes the pane's of ``tokens``
        (letters and digits) on it, as ``last_paste``. After a MultiplexerTimeoutError the text may have
        arrived or not, after any other it has not.
        """
        ...

    def enter(self, panes: Sequence[str]) -> dict[str, MultiplexerError]:
        """Press Enter in each pane and in no other; failures are returned as by :meth:`paste`."""
        ...

    def capture(
        self, panes: Sequence[str], *, lines: int, ansi: bool
    ) -> dict[str, str | MultiplexerError]:
        """The last ``lines`` drawn lines of each pane, joined by line feeds.

        Blank lines at the end are left out, those in between are kept. With ``ansi`` colours and
        attributes stay in, as SGR sequences; without it there is no control character at all.
        """
        ...

    def tagged_panes(self) -> dict[str, str]:
        """Every tagged pane of the server with the text of its tag.

        Raises:
            MultiplexerError: the server cannot be reached.
        """
        ...

    def survey(self) -> list[Spot]:
        """All panes of the server, those of a window in the order of their layout.

        Raises:
            MultiplexerError: the server cannot be reached.
        """
        ...

    def resettle(
        self, panes: Collection[str], small: Collection[str], *, fleet: str, name: str
    ) -> list[str]:
        """Move those of ``small`` that still are too small for an agent into windows with room; which
        were moved. ``panes`` are all of the fleet that may be moved, ``fleet`` is what its tags begin
        with, and ``name`` is for new windows.

        What a person looks at stays as it is: the active pane of a window that a client shows, and
        zoomed windows.

        Raises:
            MultiplexerError: the server cannot be reached.
        """
        ...

    def variable(self, pane: str, name: str) -> str | None:
        """What a program that is opened beside ``pane`` finds in the variable ``name``; null if it is
        unset or empty.

        Raises:
            PaneGoneError: the pane is absent.
            MultiplexerError: the server cannot be reached.
        """
        ...
