"""The one place that calls tmux. It uses no shell, and every call has a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

import msgspec

from cafleet.errors import MultiplexerError, MultiplexerTimeoutError
from cafleet.panes.words import encode, one_line, packed
from cafleet.settings import IDENTITY

LIMIT = 5.0
_HELD = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))

_UNREACHABLE = ("no server running on", "error connecting to", "lost server", "server exited")
# The first two would make a pane of the caller's the default target of every command; a server that
# is started by a call would hand the others to all its panes.
_CALLER = (b"TMUX", b"TMUX_PANE", *(name.encode() for name in IDENTITY))


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call. ``err`` is one line without control characters."""

    status: int
    out: str
    err: str


def run(
    socket: str,
    *commands: Sequence[str],
    stdin: bytes = b"",
    limit: float = LIMIT,
    cwd: str | None = None,
    starts_server: bool = False,
) -> CommandResult:
    """Have the server at ``socket`` execute the commands in order, up to the first failure.

    The caller judges the exit status. tmux is started in ``cwd``, which new panes inherit; tmux does not
    expand it, unlike the argument of ``-c``. ``starts_server`` says that the first command starts a
    server.

    Raises:
        MultiplexerTimeoutError: ``limit`` seconds have passed, or a signal has ended tmux. The
            commands may have been executed.
        MultiplexerError: tmux is not on PATH, no server answers at the socket, or a word cannot be
            passed on (NUL, a lone surrogate).
    """
    argv = [b"tmux", b"-u", b"-S", encode(socket), *packed(*commands)]
    environment = {k: v for k, v in os.environb.items() if k not in _CALLER}
    folder = None if cwd is None else encode(cwd)
    if folder is not None:
        environment[b"PWD"] = folder
    try:
        status, out, err = _call(
            argv, environment, folder, stdin, limit, starts_server=starts_server
        )
    except FileNotFoundError:
        raise MultiplexerError("tmux is not on PATH; install it or correct PATH") from None
    except OSError as error:
        raise MultiplexerError(f"tmux cannot be started ({error.strerror}); mend that") from error
    if status < 0:
        raise MultiplexerTimeoutError(
            f"tmux was ended by signal {-status} before it had answered; try again"
        )
    answer = CommandResult(
        status=status,
        out=out.decode("utf-8", "replace"),
        err=one_line(err.decode("utf-8", "replace")),
    )
    if answer.status and any(sign in answer.err for sign in _UNREACHABLE):
        raise MultiplexerError(
            f"no tmux server answers at {one_line(socket)} ({answer.err}); start it, or check the socket"
        )
    return answer


def _call(
    argv: Sequence[bytes],
    environment: Mapping[bytes, bytes],
    folder: bytes | None,
    stdin: bytes,
    limit: float,
    *,
    starts_server: bool,
) -> tuple[int, bytes, bytes]:
    """Run tmux to its end. If this is interrupted, end tmux: it never goes on by itself."""
    process = None
    try:
        # A server hands the signals that it blocks to all its panes.
        with nullcontext() if starts_server else signals_held():
            # A session of its own: Ctrl-C reaches this program and not the tmux that works for it,
            # and whatever a wrapper around tmux has started ends with it.
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
        out, err = process.communicate(stdin, timeout=limit)
    except subprocess.TimeoutExpired:
        raise MultiplexerTimeoutError(
            "tmux did not answer in time; see whether its server hangs"
        ) from None
    finally:
        if process is not None:
            with process:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out, err


@contextmanager
def signals_held() -> Iterator[None]:
    """Delay signals until the end of the block. The block must be short."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
