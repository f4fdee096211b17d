"""Opening a pane for a member, so that it is there, tagged and alive, or nothing of it is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from libtmux import Pane

from cafleet.errors import MultiplexerError, PaneGoneError
from cafleet.panes.control import kill
from cafleet.panes.identity import PaneTag
from cafleet.panes.interface import NewPane, SplitError
from cafleet.panes.layout import SMALLEST, Place, choose
from cafleet.panes.pictures import TAG_OPTION
from cafleet.panes.runner import encode, one_line, packed, run
from cafleet.panes.script import ask
from cafleet.panes.server import LimitedServer
from cafleet.panes.survey import survey

ARGV_LIMIT_BYTES = 16_000
"""What ``argv`` and ``env`` of a new pane may take up, as :func:`command_bytes` counts.

tmux 3.3a carries a whole command to its server in one message of 16,384 bytes; 16,364 of them were
measured to be free for words. The rest of the command that opens a pane takes less than 300.
"""

# A program that cannot start has ended by then; an interpreter that lacks a module takes about 0.1.
_SETTLING = 0.3
_CLOSING = 2.0
_FACTS = ("session_name", "window_id", "pane_width", "pane_height", "pane_dead")


def command_bytes(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """What the program's words and its variables take up of :data:`ARGV_LIMIT_BYTES`.

    Raises:
        MultiplexerError: one of them holds a NUL or a lone surrogate.
    """
    return sum(len(word) + 1 for word in packed([*_variables(env), *_executed(argv)]))


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
    spots = survey(socket, limit=server.left())
    place = choose(spots, beside, fleet=tag.fleet(), name=f"cafleet-{tag.fleet_id}")
    pane: str | None = None
    try:
        with _signals_held():
            pane = _open(server, place, env, argv)
        return _complete(server, pane, place, tag, argv[0])
    except MultiplexerError as error:
        if pane is None:
            raise
        raise _closed_after(error, socket, pane, place) from error
    except (KeyboardInterrupt, SystemExit) as interrupt:
        if pane is not None and not _close(socket, pane, place):
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


def _executed(argv: Sequence[str]) -> list[str]:
    """``argv`` so that tmux executes it as it is: it gives a single word to a shell to parse."""
    return list(argv) if len(argv) > 1 else ["/bin/sh", "-c", 'exec "$0"', *argv]


def _variables(env: Mapping[str, str]) -> list[str]:
    return [word for name, value in env.items() for word in ("-e", f"{name}={value}")]


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let an interruption wait until the pane's id is known, which takes no longer than a limit."""
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    )
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _open(server: LimitedServer, place: Place, env: Mapping[str, str], argv: Sequence[str]) -> str:
    """Open the pane; its id.

    Raises:
        SplitError: tmux refused, or did not answer, and then nobody can tell whether it opened it.
    """
    command, *options = place.command
    words = [*options, "-d", "-P", "-F", "#{pane_id}", *_variables(env), "--", *_executed(argv)]
    try:
        done = server.cmd(command, *words, target=place.target)
    except MultiplexerError as error:
        unknown = SplitError(error.message, closed=False)
        unknown.add_remains("a pane may have been opened, its id is unknown")
        raise unknown from error
    if done.returncode:
        raise SplitError(
            f"tmux refused to open a pane ({' '.join(done.stderr)}); enlarge the window, or close panes"
        )
    return done.stdout[0]


def _complete(
    server: LimitedServer, pane: str, place: Place, tag: PaneTag, program: str
) -> NewPane:
    """Tag the pane, arrange its window, and see after a moment that it is as it should be."""
    tagging = Pane(server=server, pane_id=pane).cmd("set-option", "-p", TAG_OPTION, tag.text())
    if tagging.returncode == 0:
        for command, *words in place.arrangement:
            server.cmd(command, *words)
        time.sleep(min(_SETTLING, server.left()))
    facts = ask(server.socket, [pane], _FACTS, limit=server.left())[pane]
    if isinstance(facts, PaneGoneError):
        raise SplitError(f"{one_line(program)} ended at once; run it by hand to see why")
    if isinstance(facts, MultiplexerError):
        raise facts
    values = facts.values
    if values["pane_dead"] == "1":
        raise SplitError(f"{one_line(program)} ended at once; run it by hand to see why")
    if tagging.returncode:
        raise SplitError(f"tmux refused the tag ({' '.join(tagging.stderr)}); see its message")
    size = int(values["pane_width"]), int(values["pane_height"])
    if size[0] < SMALLEST[0] or size[1] < SMALLEST[1]:
        raise SplitError(
            f"the pane would have {size[0]}x{size[1]} cells, and an agent needs "
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
    with _signals_held():
        try:
            kill(socket, pane, missing_ok=True, limit=_CLOSING)
            run(socket, *place.arrangement, limit=_CLOSING)
        except MultiplexerError:
            return False
    return True
