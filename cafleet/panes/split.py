"""Opening a pane for a member, so that it is there, tagged and alive, or nothing of it is left."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from libtmux import Pane

from cafleet.errors import MultiplexerError, MultiplexerTimeoutError, PaneGoneError
from cafleet.panes.command import ARGV_LIMIT_BYTES, command_bytes, executed, variables
from cafleet.panes.control import kill
from cafleet.panes.identity import PaneTag
from cafleet.panes.interface import NewPane, SplitError
from cafleet.panes.layout import SMALLEST, Place, choose
from cafleet.panes.locks import layout_lock
from cafleet.panes.pictures import TAG_OPTION
from cafleet.panes.runner import run, signals_held
from cafleet.panes.script import ask, is_pane_id
from cafleet.panes.server import LimitedServer
from cafleet.panes.survey import survey
from cafleet.panes.words import encode, one_line

# A program that cannot start has ended by then; an interpreter that lacks a module takes about 0.1.
_SETTLING = 0.3
_CLOSING = 1.0
_FACTS = ("session_name", "window_id", "pane_width", "pane_height", "pane_dead", TAG_OPTION)


def open_pane(
    socket: str,
    beside: str,
    *,
    env: Mapping[str, str],
    argv: Sequence[str],
    tag: PaneTag,
    cwd: str,
    limit: float,
) -> NewPane:
    """See :meth:`cafleet.panes.interface.Multiplexer.split`."""
    _check(argv, env, cwd)
    server = LimitedServer(socket, limit=limit, cwd=cwd)
    pane: str | None = None
    place: Place | None = None
    try:
        # Until the pane is tagged and has its place nobody else can count with it.
        with layout_lock(socket, limit=server.left()):
            spots = survey(socket, limit=server.left())
            place = choose(spots, beside, fleet=tag.fleet(), name=f"cafleet-{tag.fleet_id}")
            # Until the pane's id is known, which takes no longer than a limit.
            with signals_held():
                pane = _open(server, place, env, argv)
            _furnish(server, pane, place, tag)
        return _settled(server, pane, tag, argv[0])
    except MultiplexerError as error:
        if pane is None or place is None:
            raise
        raise _closed_after(error, socket, pane, place) from error
    except (KeyboardInterrupt, SystemExit) as interrupt:
        if pane is not None and place is not None and not _close(socket, pane, place):
            interrupt.add_note(f"pane {pane} may still be open")
        raise


def _check(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
    if not argv:
        raise SplitError("no program was named for the pane; name one")
    folder = encode(cwd)
    if not (os.path.isabs(folder) and os.path.isdir(folder) and os.access(folder, os.X_OK)):
        raise SplitError(f"{cwd!r} is no folder that a pane could start in; go to one that is")
    size = command_bytes(argv, env)
    if size > ARGV_LIMIT_BYTES:
        raise SplitError(
            f"the command of the pane has {size} bytes, and tmux carries {ARGV_LIMIT_BYTES}; "
            f"hand the long part over in a file"
        )


def _open(server: LimitedServer, place: Place, env: Mapping[str, str], argv: Sequence[str]) -> str:
    """Open the pane; its id.

    Raises:
        SplitError: tmux refused, or it did not name the pane, and nobody can tell whether there is one.
    """
    command, *options = place.command
    words = [*options, "-d", "-P", "-F", "#{pane_id}", *variables(env), "--", *executed(argv)]
    try:
        done = server.cmd(command, *words, target=place.target)
    except MultiplexerTimeoutError as error:
        raise _unknown(error.message) from error
    if done.returncode:
        raise SplitError(
            f"tmux refused to open a pane ({' '.join(done.stderr)}); enlarge the window, or close panes"
        )
    if len(done.stdout) != 1 or not is_pane_id(done.stdout[0]):
        raise _unknown(
            "tmux did not name the pane that it opened; see what stands before it on PATH"
        )
    return done.stdout[0]


def _unknown(message: str) -> SplitError:
    failure = SplitError(message, closed=False)
    failure.add_remains("a pane may have been opened, its id is unknown")
    return failure


def _furnish(server: LimitedServer, pane: str, place: Place, tag: PaneTag) -> None:
    """Tag the pane and arrange its window.

    What tmux refuses here is not judged yet: most often the pane has vanished already.
    """
    Pane(server=server, pane_id=pane).cmd("set-option", "-p", TAG_OPTION, tag.text())
    for command, *words in place.arrangement:
        server.cmd(command, *words)


def _settled(server: LimitedServer, pane: str, tag: PaneTag, program: str) -> NewPane:
    """See after a moment that the pane is as it should be.

    Raises:
        MultiplexerError: it is not, and has to go.
    """
    time.sleep(min(_SETTLING, server.left()))
    found = ask(server.socket, [pane], _FACTS, limit=server.left())[pane]
    if isinstance(found, MultiplexerError) and not isinstance(found, PaneGoneError):
        raise found
    if isinstance(found, PaneGoneError) or found.values["pane_dead"] == "1":
        raise SplitError(f"{one_line(program)} ended at once; run it by hand to see why")
    values = found.values
    if values[TAG_OPTION] != tag.text():
        raise SplitError(f"pane {pane} does not keep its tag; see what sets {TAG_OPTION} on it")
    columns, rows = int(values["pane_width"]), int(values["pane_height"])
    if columns < SMALLEST[0] or rows < SMALLEST[1]:
        raise SplitError(
            f"the pane would have {columns}x{rows} cells, and an agent needs "
            f"{SMALLEST[0]}x{SMALLEST[1]}; enlarge the terminal"
        )
    return NewPane(pane=pane, session=values["session_name"], window=values["window_id"])


def _closed_after(error: MultiplexerError, socket: str, pane: str, place: Place) -> SplitError:
    closed = _close(socket, pane, place)
    failure = SplitError(error.message, pane=pane, closed=closed)
    if not closed:
        failure.add_remains(f"pane {pane} may still be open")
    return failure


def _close(socket: str, pane: str, place: Place) -> bool:
    """Close the pane and give its room back as the layout has it; whether it is gone for certain."""
    with signals_held():
        try:
            kill(socket, pane, missing_ok=True, limit=_CLOSING)
        except MultiplexerError:
            return False
        if place.arrangement:
            with suppress(MultiplexerError):
                run(socket, *place.arrangement, limit=_CLOSING)
    return True
