"""The installed program, run as a user or an agent would run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.harness.forks import Forks
from tests.harness.tmux import TmuxServer

CAFLEET = Path(sys.executable).parent / "cafleet"
# Root may read and write everything, unless it gives up the right to.
_UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"]


@dataclass(frozen=True)
class Result:
    """One finished run; ``stdout`` and ``stderr`` are UTF-8, what is not shown as escapes."""

    command: object
    exit_code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """The payload of a run that must have succeeded."""
        assert self.exit_code == 0, self
        return json.loads(self.stdout)

    def ok(self) -> Result:
        """This result, which must be a success."""
        assert self.exit_code == 0, self
        return self


def assert_refused(result: Result, exit_code: int, fragment: str) -> None:
    """The refusal is one line ``Error: …`` on stderr that holds ``fragment``, and nothing else."""
    assert result.exit_code == exit_code, result
    assert result.stdout == "", result
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result
    assert lines[0].startswith("Error: "), result
    assert fragment in lines[0], result


class Program:
    """Runs ``cafleet`` with nothing in its environment but what is given.

    ``server`` is the tmux server whose panes :meth:`run` and :meth:`start` can run it in.
    """

    def __init__(self, environment: Mapping[str, str], server: TmuxServer, cwd: Path) -> None:
        self.environment = dict(environment)
        self._server = server
        self._cwd = cwd

    @property
    def path(self) -> str:
        """The installed program itself."""
        return str(CAFLEET)

    def start(
        self,
        *arguments: str | bytes,
        pane: str | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start it and do not wait; stdin, stdout and stderr are pipes.

        With ``pane`` it finds itself in that pane. ``env`` adds variables, and removes those whose
        value is None.
        """
        return self._start([CAFLEET, *arguments], self._environment(pane, env), cwd)

    def start_script(
        self, code: str, *arguments: str, env: Mapping[str, str | None] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start Python code that uses the program's modules, as :meth:`start` does."""
        command = [sys.executable, "-c", code, *arguments]
        return self._start(command, self._environment(None, env), None)

    def _environment(
        self, pane: str | None, env: Mapping[str, str | None] | None
    ) -> dict[str, str]:
        found = {
            **self.environment,
            **(self._server.inside(pane) if pane else {}),
            **(env or {}),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _start(
        self, command: Sequence[str | bytes | Path], environment: dict[str, str], cwd: Path | None
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            env=environment,
            cwd=cwd or self._cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(
        self,
        *arguments: str | bytes,
        pane: str | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
        stdin: bytes = b"",
        seconds: float = 60.0,
    ) -> Result:
        """Run it to its end, in a fork where that does what a process of its own would do.

        A traceback in its output fails the test. :meth:`run_installed` is the same for what starts.
        """
        command = [CAFLEET, *arguments]
        environment = self._environment(pane, env)
        if not Forks.can_run(environment, stdin):
            process = self._start(command, environment, cwd)
            return self.finish(process, stdin=stdin, seconds=seconds)
        code, out, err = _forks().run(
            command, environment=environment, cwd=cwd or self._cwd, stdin=stdin, seconds=seconds
        )
        return _result(command, code, out, err)

    def run_installed(
        self,
        *arguments: str | bytes,
        pane: str | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
        stdin: bytes = b"",
        seconds: float = 60.0,
    ) -> Result:
        """The same, always as a process that starts, as a user would start it."""
        process = self.start(*arguments, pane=pane, cwd=cwd, env=env)
        return self.finish(process, stdin=stdin, seconds=seconds)

    def run_unprivileged(self, *arguments: str) -> Result:
        """Run it as a user who is bound by the permissions of files, whoever runs the tests."""
        process = subprocess.Popen(
            [*(_UNPRIVILEGED if os.geteuid() == 0 else []), CAFLEET, *arguments],
            env=self.environment,
            cwd=self._cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return self.finish(process)

    def finish(
        self, process: subprocess.Popen[bytes], *, stdin: bytes = b"", seconds: float = 60.0
    ) -> Result:
        """The result of a run that :meth:`start` began; it is killed after ``seconds``."""
        try:
            stdout, stderr = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return _result(process.args, process.returncode, stdout, stderr)


def _result(command: object, code: int, stdout: bytes, stderr: bytes) -> Result:
    result = Result(
        command=command,
        exit_code=code,
        stdout=stdout.decode("utf-8", "backslashreplace"),
        stderr=stderr.decode("utf-8", "backslashreplace"),
    )
    assert "Traceback (most recent call last)" not in result.stdout + result.stderr, result
    return result


@cache
def _forks() -> Forks:
    """The one process that forks for this process."""
    return Forks()
