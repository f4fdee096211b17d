"""libtmux on top of our runner: its calls get our time limits, escapes and errors."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from libtmux import Server
from libtmux.common import tmux_cmd

from cafleet.errors import MultiplexerTimeoutError
from cafleet.panes.runner import CommandResult, run


class LimitedServer(Server):
    """A server for one operation. All its calls together may take ``limit`` seconds.

    New panes start in ``cwd``. Only ``cmd`` and what merely forwards to it is used: libtmux's
    listings read every pane of the server with formats of their own and fail on odd ones.
    """

    def __init__(self, socket: str, *, limit: float, cwd: str) -> None:
        super().__init__(socket_path=socket)
        self.socket = socket
        self._limit = limit
        self._ends = time.monotonic() + limit
        self.cwd = cwd

    def left(self) -> float:
        """The seconds that remain.

        Raises:
            MultiplexerTimeoutError: no time remains.
        """
        left = self._ends - time.monotonic()
        if left <= 0:
            raise MultiplexerTimeoutError(
                f"tmux did not finish within {self._limit:.3g} s; see whether its server hangs"
            )
        return left

    def cmd(self, cmd: str, *args: Any, target: str | int | None = None) -> tmux_cmd:
        """Run one command. The result says whether tmux refused it, as everywhere in libtmux.

        Raises:
            MultiplexerError: see :func:`cafleet.panes.runner.run`.
        """
        aim = [] if target is None else ["-t", str(target)]
        words = [cmd, *aim, *(str(arg) for arg in args)]
        return _Finished(words, self.chain(words))

    def chain(self, *commands: Sequence[str], starts_server: bool = False) -> CommandResult:
        """Run commands in one call, in order, up to the first failure. ``starts_server`` says that the
        first one starts a server.

        Raises:
            MultiplexerError: see :func:`cafleet.panes.runner.run`.
        """
        return run(
            self.socket,
            *commands,
            limit=self.left(),
            cwd=self.cwd,
            starts_server=starts_server,
        )


class _Finished(tmux_cmd):
    """The result of a command in libtmux's form."""

    def __init__(self, words: list[str], answer: CommandResult) -> None:
        # Not the base's __init__, which would run tmux itself.
        self.cmd = ["tmux", *words]
        self.returncode = answer.status
        self.stdout = answer.out.splitlines()
        self.stderr = answer.err.splitlines()
