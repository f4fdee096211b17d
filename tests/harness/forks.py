"""Runs of the program as forks of one process that has it loaded: a tenth of the time of a start.

A fork is given what a process of its own would be given: arguments, all of the environment, a
folder, and pipes as its stdin, stdout and stderr. What signals and closed descriptors do to the
program is a matter of the installed one, see :meth:`tests.harness.program.Program.start`.

Run as a script this is the process that forks, given the number of a socket. Each message there is
one run: the descriptors of a file of JSON, of the three pipes, and of a fourth, on which the process
writes the id of the fork and later its exit code, a line each. It ends with the socket.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pkgutil
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn, TextIO

_ROOT = Path(__file__).parents[2]
_LOCALE = {"LANG": "C.UTF-8"}
# Python and the C library read these when a process starts, so that a fork comes too late.
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_")
# What fits into a pipe that nobody reads yet (pipe(7)).
_MOST_STDIN = 60_000


class Forks:
    """The client's end; many threads may use it at once."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.harness.forks", str(other.fileno())],
                env={**_LOCALE, "PATH": os.defpath, "PYTHONPATH": str(_ROOT)},
                pass_fds=[other.fileno()],
                cwd=_ROOT,
            )
        atexit.register(self._close)

    def _close(self) -> None:
        self._socket.close()
        self._process.wait()

    @staticmethod
    def can_run(environment: Mapping[str, str], stdin: bytes) -> bool:
        """Whether a fork does what a process of its own would do."""
        read = {
            name: value for name, value in environment.items() if name.startswith(_READ_AT_START)
        }
        return read == _LOCALE and len(stdin) <= _MOST_STDIN

    def run(
        self,
        command: Sequence[str | bytes | Path],
        *,
        environment: Mapping[str, str],
        cwd: Path,
        stdin: bytes,
        seconds: float,
    ) -> tuple[int, bytes, bytes]:
        """Exit code, stdout and stderr of a run to its end.

        Raises:
            subprocess.TimeoutExpired: it has not ended within ``seconds``, and was killed.
        """
        case = {
            "argv": [os.fsdecode(each) for each in command],
            "environment": dict(environment),
            "cwd": str(cwd),
        }
        pipes = [os.pipe() for _ in range(4)]
        reads, writes = [read for read, _ in pipes], [write for _, write in pipes]
        theirs, ours = [reads[0], *writes[1:]], reads[1:]
        try:
            with open(writes[0], "wb") as given, tempfile.TemporaryFile() as file:
                given.write(stdin)
                file.write(json.dumps(case).encode())
                file.flush()
                socket.send_fds(self._socket, [b"run"], [file.fileno(), *theirs])
            for descriptor in theirs:
                os.close(descriptor)
            theirs = []
            ended, (out, err, told) = _read_all(ours, time.monotonic() + seconds)
        finally:
            for descriptor in (*theirs, *ours):
                os.close(descriptor)
        pid, *code = told.split()
        if not ended:
            if not code:
                os.kill(int(pid), signal.SIGKILL)
            raise subprocess.TimeoutExpired(case["argv"], seconds)
        return int(code[0]), out, err


def _read_all(descriptors: Sequence[int], deadline: float) -> tuple[bool, list[bytes]]:
    """Whether all of them have ended by the deadline, and what each has given until then."""
    found = dict.fromkeys(descriptors, b"")
    with selectors.DefaultSelector() as waiting:
        for descriptor in descriptors:
            waiting.register(descriptor, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(deadline - time.monotonic(), 0))
            if not ready:
                break
            for key, _ in ready:
                part = os.read(key.fd, 65536)
                found[key.fd] += part
                if not part:
                    waiting.unregister(key.fd)
        return not waiting.get_map(), list(found.values())


def serve(number: int) -> None:
    """Fork for every message of the socket."""
    import cafleet

    for module in pkgutil.walk_packages(cafleet.__path__, "cafleet."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    streams = sys.stdin, sys.stdout, sys.stderr
    ended, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    running: dict[int, int] = {}
    gc.freeze()
    with socket.socket(fileno=number) as client:
        while True:
            ready, _, _ = select.select([client, ended], [], [])
            if ended in ready:
                os.read(ended, 4096)
                _reap(running)
            if client in ready:
                message, sent, _, _ = socket.recv_fds(client, 8, 5)
                if not message:
                    return
                case, *pipes = sent
                pid = os.fork()
                if pid == 0:
                    _run(case, pipes[:3], streams)
                running[pid] = pipes.pop()
                os.write(running[pid], b"%d\n" % pid)
                for descriptor in (case, *pipes):
                    os.close(descriptor)


def _reap(running: dict[int, int]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        told = running.pop(pid)
        with suppress(BrokenPipeError):  # the client has stopped waiting
            os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
        os.close(told)


def _run(number: int, pipes: Sequence[int], streams: Sequence[TextIO]) -> NoReturn:
    """Be the program: what a new interpreter does, and what it does at its end."""
    code: object = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with open(number, "rb") as file:
            file.seek(0)
            case = json.load(file)
        for descriptor, pipe in enumerate(pipes):
            os.dup2(pipe, descriptor)
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(case["environment"])
        time.tzset()
        os.chdir(case["cwd"])
        sys.argv = case["argv"]
        sys.stdin, sys.stdout, sys.stderr = (
            _stream(descriptor, stream) for descriptor, stream in enumerate(streams)
        )
        from cafleet.cli.main import main

        try:
            code = main()
        except SystemExit as ending:
            code = ending.code
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - nothing may return into the process that forks
        traceback.print_exc()
    finally:
        os._exit(code if isinstance(code, int) else 71)


def _stream(descriptor: int, like: TextIO) -> TextIO:
    mode = "rb" if descriptor == 0 else "wb"
    return io.TextIOWrapper(
        open(descriptor, mode),
        encoding=like.encoding,
        errors=like.errors,
        line_buffering=descriptor == 2,
    )


if __name__ == "__main__":
    serve(int(sys.argv[1]))
