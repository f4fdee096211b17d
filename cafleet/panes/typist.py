"""Typing: text as a paste, Enter as a pasted carriage return.

Text never stands in a command. tmux reads it from stdin into a buffer with a name for this paste
alone, and pastes it unchanged: ``-p`` brackets it if the program asked for that, ``-r`` keeps line
feeds. Enter is pasted, too: ``synchronize-panes`` copies key presses to other panes, and copy mode
swallows them. Enter is pasted without ``-p``, or programs would take it for text.

tmux 3.3a crashes, with every session in it, when something is pasted into a dead pane (one kept by
``remain-on-exit``), and drops silently what is pasted into a pane whose input is off. Hence the
condition, which the server evaluates in the same command as the paste. It also checks that the pane
still runs the program that was seen there: a shell in its place would execute the text. We look for
the agent's processes right before the paste, too, since another program may have the same name.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping, Sequence

from cafleet.errors import MultiplexerError, MultiplexerTimeoutError, PaneGoneError
from cafleet.panes.pictures import PASTE_OPTION
from cafleet.panes.processes import is_in_foreground
from cafleet.panes.runner import run
from cafleet.panes.script import Reply, ask, is_pane_id, pane_gone
from cafleet.screens import Process

_FLAGS = ("pane_dead", "pane_input_off", "pane_in_mode")
_DONE = "typed"
# Each text needs a tmux process of its own, which mostly waits.
_LOADERS = 4
_TAKES_INPUT = "#{==:#{pane_dead}#{pane_input_off},00}"
# In copy mode tmux 3.3a asks that mode's screen whether to bracket, and does not.
_TAKES_PASTES = "#{==:#{pane_dead}#{pane_input_off}#{?pane_in_mode,1,0},000}"
# The buffer is deleted, and what the pane is like is told as for any other refusal.
_NEVER = "0"
# A name of other characters could mean something in a format; its program is not held to it.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+-]+")


def paste(
    socket: str,
    texts: Mapping[str, str],
    programs: Mapping[str, str],
    processes: Mapping[str, Sequence[Process]],
    tokens: Mapping[str, str],
) -> dict[str, MultiplexerError]:
    """Paste each pane's text. Returns the failures.

    ``programs`` are those that run in the panes, and ``processes`` those that have to be in their
    foreground, where that is known. Each pane's token is written on it in the same breath: whoever
    comes after a crash can tell whether the paste was made. An empty text is no paste at all, and so
    no failure. A text with a lone surrogate is refused, since no bytes stand for it.
    """
    failed: dict[str, MultiplexerError] = {}
    data: dict[str, bytes] = {}
    for pane, text in texts.items():
        if not text:
            continue
        if not is_pane_id(pane):
            failed[pane] = pane_gone(pane)
            continue
        try:
            data[pane] = text.encode()
        except UnicodeEncodeError:
            failed[pane] = MultiplexerError("a lone surrogate cannot be typed; remove it")
    try:
        buffers = _load_all(socket, data)
    except MultiplexerError as error:
        return failed | dict.fromkeys(data, error)
    there = {pane for pane in data if all(map(is_in_foreground, processes.get(pane, ())))}
    replies = ask(
        socket,
        data,
        _FLAGS,
        then=lambda pane: _guarded(
            pane,
            _condition(programs.get(pane, "")) if pane in there else _NEVER,
            f"{_note(pane, tokens.get(pane, ''))}paste-buffer -p -r -d -b {buffers[pane]} -t {pane}",
            f"delete-buffer -b {buffers[pane]}",
        ),
    )
    return failed | _refusals(replies)


def _note(pane: str, token: str) -> str:
    return f"set-option -p -t {pane} {PASTE_OPTION} {token} ; " if token.isalnum() else ""


def _condition(program: str) -> str:
    if not _PLAIN_NAME.fullmatch(program):
        return _TAKES_PASTES
    return f"#{{&&:{_TAKES_PASTES},#{{==:#{{pane_current_command}},{program}}}}}"


def enter(socket: str, panes: Sequence[str]) -> dict[str, MultiplexerError]:
    """Press Enter in each pane. Returns the failures."""
    try:
        buffer = _load(socket, b"\r")
    except MultiplexerError as error:
        return dict.fromkeys(panes, error)
    replies = ask(
        socket,
        panes,
        _FLAGS,
        then=lambda pane: _guarded(
            pane, _TAKES_INPUT, f"paste-buffer -r -b {buffer} -t {pane}", ""
        ),
        finally_=f"delete-buffer -b {buffer}",
    )
    return _refusals(replies)


def _load_all(socket: str, data: Mapping[str, bytes]) -> dict[str, str]:
    """Load the panes' texts, several at a time. Returns the name of each pane's buffer.

    Raises:
        MultiplexerError: one could not be loaded; those after it were not tried.
    """
    names: dict[str, str] = {}
    errors: list[MultiplexerError] = []

    def work(panes: Sequence[str]) -> None:
        for pane in panes:
            if errors:
                return
            try:
                names[pane] = _load(socket, data[pane])
            except MultiplexerError as error:
                errors.append(error)

    shares = [list(data)[start::_LOADERS] for start in range(min(_LOADERS, len(data)))]
    threads = [threading.Thread(target=work, args=(share,), daemon=True) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return names


def _load(socket: str, data: bytes) -> str:
    name = f"cafleet-{os.getpid()}-{os.urandom(8).hex()}"
    try:
        answer = run(socket, ["load-buffer", "-b", name, "-"], stdin=data)
    except MultiplexerTimeoutError as error:
        # Whatever became of the buffer: nothing was typed yet.
        raise MultiplexerError(error.message) from error
    if answer.status:
        raise MultiplexerError(f"tmux refused a text ({answer.err}); nothing was typed")
    return name


def _guarded(pane: str, condition: str, commands: str, otherwise: str) -> str:
    done = f"{commands} ; display-message -p {_DONE}"
    return f"if-shell -F -t '{pane}' '{condition}' '{done}' '{otherwise}'"


def _refusals(replies: Mapping[str, Reply | MultiplexerError]) -> dict[str, MultiplexerError]:
    failed: dict[str, MultiplexerError] = {}
    for pane, reply in replies.items():
        if isinstance(reply, MultiplexerError):
            failed[pane] = reply
        elif reply.values["pane_dead"] == "1":
            failed[pane] = PaneGoneError(f"the program in pane {pane} has ended; start it again")
        elif reply.values["pane_input_off"] == "1":
            failed[pane] = MultiplexerError(
                f"pane {pane} takes no input; switch it on with: tmux select-pane -e -t {pane}"
            )
        elif reply.printed.strip() == _DONE:
            continue
        elif reply.values["pane_in_mode"] not in ("", "0"):
            failed[pane] = MultiplexerError(f"pane {pane} is in copy mode; leave that with q")
        else:
            failed[pane] = MultiplexerError(
                f"tmux did not type into pane {pane}, where another program may run by now; try again"
            )
    return failed
