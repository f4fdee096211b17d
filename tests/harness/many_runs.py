"""Many runs of the program, each in a fork of a process that has it loaded.

Run as a script it serves: a case per line of JSON on stdin, a result per line on stdout. What a run
is given and leaves is what a process of its own would be given and leave.
"""

from __future__ import annotations

import io
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import cafleet
from tests.harness.program import Result

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class ManyRuns:
    """The client's end."""

    process: subprocess.Popen[str]

    def run(
        self,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        seconds: int = 60,
    ) -> Result:
        """One run to its end; an exit code of -14 is that of one that ``seconds`` have ended."""
        case = {"arguments": arguments, "env": env or {}, "stdin": stdin, "seconds": seconds}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        return Result(command=case, **told)


@contextmanager
def many_runs(environment: Mapping[str, str], cwd: Path) -> Iterator[ManyRuns]:
    """The program, ready to be run in ``environment``."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.harness.many_runs", str(cwd)],
        env={**environment, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield ManyRuns(process)
        assert process.stdin is not None
        process.stdin.close()


def serve() -> None:
    """Answer every case of stdin."""
    for module in pkgutil.walk_packages(cafleet.__path__, "cafleet."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    os.chdir(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


def _answer(case: Mapping[str, Any]) -> dict[str, object]:
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(case["stdin"].encode("utf-8", "surrogateescape"))
        given.seek(0)
        child = os.fork()
        if child == 0:
            _run(case, given, out, err)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return {
            "exit_code": os.waitstatus_to_exitcode(status),
            "stdout": out.read().decode("utf-8", "backslashreplace"),
            "stderr": err.read().decode("utf-8", "backslashreplace"),
        }


def _run(case: Mapping[str, Any], *streams: IO[bytes]) -> None:
    from cafleet.cli.main import main

    code: object = 70
    try:
        for descriptor, stream in enumerate(streams):
            os.dup2(stream.fileno(), descriptor)
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - it is this process's to its end
        sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"))
        sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb"))
        os.environ.update(case["env"])
        sys.argv = ["cafleet", *case["arguments"]]
        signal.alarm(case["seconds"])
        try:
            code = main()
        except SystemExit as ending:
            code = ending.code
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code if isinstance(code, int) else 71)


if __name__ == "__main__":
    serve()
