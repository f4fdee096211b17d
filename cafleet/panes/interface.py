"""The interface of a multiplexer. Nothing here depends on which multiplexer it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from cafleet.errors import MultiplexerError
from cafleet.panes.identity import PaneTag
from cafleet.records import Backend
from cafleet.screens import Picture, Process


class CallerPane(msgspec.Struct, frozen=True, kw_only=True):
    """The pane that this process runs in. ``tag`` is empty if it has none; ``server_pid`` is the process
    id of its server."""

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


# A pane below this size (columns, rows) cannot be judged.
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
    session: str
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
        """Whether the pane is too small to judge an agent in it."""
        return self.columns < SMALLEST[0] or self.height < SMALLEST[1]


class SplitError(MultiplexerError):
    """A pane could not be opened.

    ``closed`` says that no pane is left: none was opened, or it is closed again. Otherwise ``pane`` is the
    pane that is still open, ``None`` if its id is not known.
    """

    def __init__(self, message: str, *, pane: str | None = None, closed: bool = True) -> None:
        super().__init__(message)
        self.pane = pane
        self.closed = closed


class Multiplexer(Protocol):
    """One server. Every call ends within its limit, five seconds where none is given.

    A result that is a dict has an entry per pane. An absent pane has a
    :class:`~cafleet.errors.PaneGoneError` as its entry. If the server cannot be reached, every pane has
    that error as its entry. Such calls raise nothing.
    """

    @property
    def socket(self) -> str:
        """The absolute path of the server's socket."""
        ...

    def is_listening(self) -> bool:
        """Whether a server accepts connections at the socket. Asks the server nothing."""
        ...

    def is_in_sight(self) -> bool:
        """Whether this process can see the server's process. In another PID namespace, such as a
        sandbox's, it cannot; there all processes end with the namespace's first."""
        ...

    def split(
        self,
        beside: str | None,
        *,
        env: Mapping[str, str],
        argv: Sequence[str],
        tag: PaneTag,
        title: str,
        cwd: str,
        session: str = "",
        creating: bool = False,
        director: bool = False,
        limit: float = 5.0,
    ) -> NewPane:
        """Open a pane near ``beside`` that runs ``argv`` in ``cwd``. The call that opens it tags it.

        With ``None`` for ``beside`` it gets a window of its own in the ``session`` of that name, or in
        another one if there is none. If no server listens, one is started, with that session.

        The pane stays readable when its program ends, until it is killed. No shell parses ``argv``.
        ``env`` is added to the variables that the server gives every pane. ``title`` is shown to people.
        ``creating`` and ``director`` are written on the pane, see :class:`Spot`. The focus does not
        change. The whole call takes at most ``limit`` seconds, plus the time to close a pane after a
        failure.

        Raises:
            SplitError: no pane was opened. It says what is left.
            MultiplexerError: the server or ``beside`` cannot be reached; nothing was opened.
        """
        ...

    def set_tag(
        self, pane: str, tag: PaneTag | None, *, creating: bool = False, director: bool = False
    ) -> None:
        """Write ``tag`` and the other options of :class:`Spot` on the pane, or remove them all.

        Raises:
            PaneGoneError: the pane is absent.
            MultiplexerError: the server cannot be reached.
        """
        ...

    def end_creation(self, panes: Sequence[str]) -> None:
        """Remove ``creating`` from the panes. Absent panes are skipped.

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
        """Take a picture of all the panes at one instant. The panes do not notice."""
        ...

    def paste(
        self,
        texts: Mapping[str, str],
        programs: Mapping[str, str] | None = None,
        processes: Mapping[str, Sequence[Process]] | None = None,
        tokens: Mapping[str, str] | None = None,
    ) -> dict[str, MultiplexerError]:
        """Paste each pane's text exactly as it is. Returns the failures alone.

        A pane fails and gets nothing if it is dead or takes no input, if its ``command`` differs from the
        one in ``programs``, or if one of its ``processes`` is no longer in the foreground. The call that
        pastes also writes the pane's token (letters and digits) on it, as ``last_paste``. After a
        MultiplexerTimeoutError the text may have arrived. After any other failure it has not.
        """
        ...

    def enter(self, panes: Sequence[str]) -> dict[str, MultiplexerError]:
        """Press Enter in each pane and in no other. Returns failures as :meth:`paste` does."""
        ...

    def capture(
        self, panes: Sequence[str], *, lines: int, ansi: bool
    ) -> dict[str, str | MultiplexerError]:
        """Read the last ``lines`` drawn lines of each pane, joined by line feeds.

        Blank lines at the end are dropped, those in between stay. With ``ansi`` the text keeps colours
        and attributes as SGR sequences. Without it the text has no control character.
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

    def server_pid(self, pane: str) -> int:
        """The process id of the server that holds the pane.

        Raises:
            PaneGoneError: the pane is absent.
            MultiplexerError: the server cannot be reached.
        """
        ...

    def variable(self, pane: str, name: str) -> str | None:
        """The value of the variable ``name`` for a program that is opened beside ``pane``; null if it is
        unset or empty.

        Raises:
            PaneGoneError: the pane is absent.
            MultiplexerError: the server cannot be reached.
        """
        ...
