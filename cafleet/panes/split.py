"""Open a member's pane. Either it is there, tagged and alive, or nothing of it is left."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from cafleet.errors import MultiplexerError, MultiplexerTimeoutError, PaneGoneError
from cafleet.panes.command import ARGV_LIMIT_BYTES, command_bytes, started, variables
from cafleet.panes.control import kill
from cafleet.panes.identity import CREATING_OPTION, DIRECTOR_OPTION, PaneTag
from cafleet.panes.interface import SMALLEST, NewPane, SplitError
from cafleet.panes.layout import Position, alone, choose
from cafleet.panes.locks import layout_lock
from cafleet.panes.pictures import TAG_OPTION
from cafleet.panes.runner import run, signals_held
from cafleet.panes.script import Marks, ask, is_pane_id
from cafleet.panes.server import LimitedServer
from cafleet.panes.survey import survey
from cafleet.panes.words import encode, one_line, plain

# A program that cannot start has ended by then. An interpreter without a needed module takes 0.1 s.
_SETTLING = 0.3
_CLOSING = 1.0
# The size (columns, rows) of a session that no terminal shows yet.
_FIRST_SIZE = (200, 50)
_FACTS = (
    "pid",
    "session_name",
    "window_id",
    "pane_width",
    "pane_height",
    "pane_dead",
    TAG_OPTION,
)


def open_pane(
    socket: str,
    beside: str | None,
    *,
    env: Mapping[str, str],
    argv: Sequence[str],
    tag: PaneTag,
    title: str,
    cwd: str,
    session: str | None,
    listening: bool,
    creating: bool,
    director: bool,
    limit: float,
) -> NewPane:
    """See :meth:`cafleet.panes.interface.Multiplexer.split`; without a ``session`` beside a pane."""
    _check(argv, env, cwd, tag)
    server = LimitedServer(socket, limit=limit, cwd=cwd)
    options = _options(tag, creating=creating, director=director)
    pane: str | None = None
    place: Position | None = None
    try:
        # Until the pane is tagged and has its place nobody else can count with it.
        with layout_lock(socket, limit=server.left()):
            name = f"cafleet-{tag.fleet_id}"
            if not listening:
                _start_server(server, session or name)
            spots = survey(socket, limit=server.left())
            if beside is None:
                place = alone(spots, session or name, name=name)
            else:
                place = choose(spots, beside, fleet=tag.fleet(), name=name)
            # Until the pane's id is known, which takes no longer than a limit.
            with signals_held():
                pane = _open(server, place, env, argv, options)
            _furnish(server, pane, place, options, title)
        return _settled(server, pane, tag, argv[0])
    except MultiplexerError as error:
        if pane is None or place is None:
            raise
        raise _closed_after(error, socket, pane, place) from error
    except (KeyboardInterrupt, SystemExit) as interrupt:
        if pane is not None and place is not None and not _close(socket, pane, place):
            interrupt.add_note(f"pane {pane} may still be open")
        raise


def _check(argv: Sequence[str], env: Mapping[str, str], cwd: str, tag: PaneTag) -> None:
    if not argv:
        raise SplitError("no program was named for the pane; name one")
    folder = encode(cwd)
    if not (os.path.isabs(folder) and os.path.isdir(folder) and os.access(folder, os.X_OK)):
        raise SplitError(f"{cwd!r} is no folder that a pane could start in; go to one that is")
    if not tag.text().replace(":", "").isalnum():
        raise SplitError(f"{tag.text()!r} cannot be written on a pane; see `cafleet db check`")
    size = command_bytes(argv, env, cwd)
    if size > ARGV_LIMIT_BYTES:
        raise SplitError(
            f"the command of the pane has {size} bytes, and tmux carries {ARGV_LIMIT_BYTES}; "
            f"hand the long part over in a file"
        )


def _start_server(server: LimitedServer, session: str) -> None:
    """Start a server at a socket, with a session that has the user's shell in its one window.

    The folder of the socket may be gone since a restart of the machine.
    """
    try:
        os.makedirs(os.path.dirname(server.socket), mode=0o700, exist_ok=True)
    except OSError as error:
        raise SplitError(
            f"the folder of the socket {one_line(server.socket)} cannot be made ({error.strerror}); "
            f"mend that"
        ) from error
    columns, rows = _FIRST_SIZE
    # tmux would put another character in the place of a colon or a full stop.
    named = ["-s", re.sub("[.:]", "_", session)]
    size = ["-x", str(columns), "-y", str(rows)]
    answer = server.chain(["new-session", "-d", *named, *size], starts_server=True)
    if answer.status:
        raise SplitError(f"tmux refused to start a server ({answer.err}); see its configuration")


def _open(
    server: LimitedServer,
    place: Position,
    env: Mapping[str, str],
    argv: Sequence[str],
    options: Mapping[str, str],
) -> str:
    """Open the pane and tag it in the same call of tmux. Returns its id.

    So a pane is never without its tag, even if this program or tmux is killed meanwhile. tmux cannot
    name a pane that was just opened without focus: we look where it has to be, and know it by a mark
    in its command.

    Raises:
        SplitError: tmux refused, or it did not name the pane, and nobody can tell whether there is one.
    """
    marks = Marks.draw()
    command, *words = place.command
    opening = [command, "-t", place.target, *words, "-d", "-P", "-F", marks.format(["pane_id"])]
    opening += [*variables(env), "--", *started(argv, server.cwd, marks.record)]
    is_it = f"#{{m:*{marks.record}*,#{{pane_start_command}}}}"
    write = " ; ".join(map(shlex.join, _set(place.opened, options)))
    try:
        answer = server.chain(opening, ["if-shell", "-F", "-t", place.opened, is_it, write])
    except MultiplexerTimeoutError as error:
        raise _unknown(error.message) from error
    # The user's hooks may have printed something, or may have failed.
    opened = [record[0] for record in marks.records(answer.out)]
    if len(opened) == 1 and is_pane_id(opened[0]):
        return opened[0]
    if answer.status and not opened:
        raise SplitError(
            f"tmux refused to open a pane ({answer.err}); enlarge the window, or close panes"
        )
    raise _unknown("tmux did not name the pane that it opened; see what stands before it on PATH")


def _unknown(message: str) -> SplitError:
    failure = SplitError(message, closed=False)
    failure.add_remains("a pane may have been opened, its id is unknown")
    return failure


def _options(tag: PaneTag, *, creating: bool, director: bool) -> dict[str, str]:
    """What is set on the pane: whose it is, that it stays when its program ends, and that the program
    changes neither the window's name nor, where tmux knows that option, the pane's title."""
    options = {TAG_OPTION: tag.text()} | ({CREATING_OPTION: "on"} if creating else {})
    options |= {DIRECTOR_OPTION: "on"} if director else {}
    off = dict.fromkeys(["allow-rename", "allow-set-title"], "off")
    return {**options, "remain-on-exit": "on", **off}


def _set(pane: str, options: Mapping[str, str]) -> list[list[str]]:
    # With -q an option that this version of tmux does not know is no failure.
    return [["set-option", "-pq", "-t", pane, name, value] for name, value in options.items()]


def _furnish(
    server: LimitedServer, pane: str, place: Position, options: Mapping[str, str], title: str
) -> None:
    """Give the pane its options and its title, and arrange its window.

    Refusals of tmux are not judged here: most often the pane has vanished already.
    """
    # Where a hook has moved the pane, these were not set when it was opened.
    server.chain(*_set(pane, options), ["select-pane", "-t", pane, "-T", plain(title)])
    for command, *words in place.arrangement:
        server.cmd(command, *words)


def _settled(server: LimitedServer, pane: str, tag: PaneTag, program: str) -> NewPane:
    """Check after a moment that the pane is as it should be.

    Raises:
        MultiplexerError: it is not, so the caller closes it.
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
    return NewPane(
        pane=pane,
        server_pid=int(values["pid"]),
        session=values["session_name"],
        window=values["window_id"],
    )


def _closed_after(error: MultiplexerError, socket: str, pane: str, place: Position) -> SplitError:
    closed = _close(socket, pane, place)
    failure = SplitError(error.message, pane=pane, closed=closed)
    if not closed:
        failure.add_remains(f"pane {pane} may still be open")
    return failure


def _close(socket: str, pane: str, place: Position) -> bool:
    """Close the pane and arrange the window again. Returns whether the pane is certainly gone."""
    with signals_held():
        try:
            kill(socket, pane, missing_ok=True, limit=_CLOSING)
        except MultiplexerError:
            return False
        if place.arrangement:
            with suppress(MultiplexerError):
                run(socket, *place.arrangement, limit=_CLOSING)
    return True
