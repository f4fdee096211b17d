"""The installed program, run as a user or an agent would run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        return self._start(
            [CAFLEET, *arguments],
            {**(self._server.inside(pane) if pane else {}), **(env or {})},
            cwd,
        )

    def start_script(
        self, code: str, *arguments: str, env: Mapping[str, str | None] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start Python code that uses the program's modules, as :meth:`start` does."""
        return self._start([sys.executable, "-c", code, *arguments], env or {}, None)

    def _start(
        self, command: Sequence[str | bytes | Path], env: Mapping[str, str | None], cwd: Path | None
    ) -> subprocess.Popen[bytes]:
        environment = {**self.environment, **env}
        return subprocess.Popen(
            command,
            env={name: value for name, value in environment.items() if value is not None},
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
        """Run it to its end, as :meth:`start` does; a traceback in its output fails the test."""
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
        result = Result(
            command=process.args,
            exit_code=process.returncode,
            stdout=stdout.decode("utf-8", "backslashreplace"),
            stderr=stderr.decode("utf-8", "backslashreplace"),
        )
        assert "Traceback (most recent call last)" not in result.stdout + result.stderr, result
        return result
