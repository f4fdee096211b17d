"""The one place where tmux is called. No shell is involved, and no call lasts for ever."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence

import msgspec

from cafleet.errors import MultiplexerError, MultiplexerTimeoutError

LIMIT = 5.0

_UNREACHABLE = ("no server running on", "error connecting to", "lost server", "server exited")
# They would make a pane of the caller's the default target of every command.
_CALLER = (b"TMUX", b"TMUX_PANE")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What tmux said; ``err`` is one line, without control characters."""

    status: int
    out: str
    err: str


def run(
    socket: str,
    *commands: Sequence[str],
    stdin: bytes = b"",
    limit: float = LIMIT,
    cwd: str | None = None,
) -> Answer:
    """Have the server at ``socket`` carry out ``commands``, one after the other up to a failure.

    The status of the answer is the caller's to judge. ``cwd`` is the folder tmux is started in,
    which new panes inherit; unlike ``-c`` nothing expands it.

    Raises:
        MultiplexerError: tmux is not on PATH, no server answers at the socket, ``limit`` seconds
            have passed, or a word cannot be passed on (NUL, a lone surrogate).
    """
    argv = [b"tmux", b"-u", b"-S", encode(socket), *packed(*commands)]
    environment = {k: v for k, v in os.environb.items() if k not in _CALLER}
    if cwd is not None:
        environment[b"PWD"] = encode(cwd)
    try:
        # A session of its own: Ctrl-C reaches this program and not the tmux that works for it, and
        # whatever a wrapper around tmux has started ends with it.
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=cwd,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise MultiplexerError("tmux is not on PATH; install it or correct PATH") from None
    except OSError as error:
        raise MultiplexerError(f"tmux cannot be started ({error.strerror}); mend that") from error
    out, err = _finish(process, stdin, limit)
    answer = Answer(
        status=process.returncode,
        out=out.decode("utf-8", "replace"),
        err=one_line(err.decode("utf-8", "replace")),
    )
    if answer.status and any(sign in answer.err for sign in _UNREACHABLE):
        raise MultiplexerError(
            f"no tmux server answers at {one_line(socket)} ({answer.err}); start it, or check the socket"
        )
    return answer


def packed(*commands: Sequence[str]) -> list[bytes]:
    """The words of ``commands`` as tmux's command line takes them.

    tmux ends a command at a word that ends in ``;`` (tmux(1), COMMAND PARSING AND EXECUTION) unless
    a backslash stands before it, which it then removes.
    """
    words: list[bytes] = []
    for command in commands:
        if words:
            words.append(b";")
        for word in command:
            data = encode(word)
            words.append(data[:-1] + b"\\;" if data.endswith(b";") else data)
    return words


def one_line(text: str) -> str:
    """``text`` fit to stand in an error message."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def encode(word: str) -> bytes:
    """The bytes of a word, or of a path, for tmux.

    Raises:
        MultiplexerError: it holds a NUL or a lone surrogate.
    """
    if "\0" in word:
        raise MultiplexerError("a NUL character cannot be passed to tmux; remove it")
    try:
        # Not the locale's encoding: tmux speaks UTF-8, and a path may hold any byte.
        return word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise MultiplexerError("a lone surrogate cannot be passed to tmux; remove it") from None


def _finish(process: subprocess.Popen[bytes], stdin: bytes, limit: float) -> tuple[bytes, bytes]:
    with process:
        try:
            return process.communicate(stdin, timeout=limit)
        except subprocess.TimeoutExpired:
            raise MultiplexerTimeoutError(
                f"tmux did not answer within {limit:.3g} s; see whether its server hangs"
            ) from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
