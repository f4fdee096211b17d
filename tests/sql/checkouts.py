"""A copy of the checkout that a test may damage, and the checks that are then to notice."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = "cafleet/store/queries.py"

# Runs the generator once per line of its input: starting Python each time would cost seconds.
_GENERATOR = """
import contextlib, io, json, sys
import cafleet.store.codegen
print(cafleet.__file__, flush=True)
for line in sys.stdin:
    cafleet.store.files.query_file.cache_clear()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cafleet.store.codegen.main(json.loads(line))
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


@dataclass(frozen=True)
class Verdict:
    """The end of one run of the generator."""

    exit_code: int
    stdout: str
    stderr: str


class Checkout:
    """The code and the SQL files under ``folder``, and a generator that runs on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "cafleet", folder / "cafleet")
        self.repair()
        self._generator = subprocess.Popen(
            [sys.executable, "-c", _GENERATOR],
            env={**os.environ, "PYTHONPATH": str(folder)},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert Path(self._answer()).is_relative_to(folder)

    def close(self) -> None:
        self._generator.communicate(timeout=10)

    def repair(self) -> None:
        """Make the SQL files and the generated code as they are in the checkout."""
        shutil.rmtree(self.folder / "sql", ignore_errors=True)
        shutil.copytree(ROOT / "sql", self.folder / "sql")
        shutil.copy(ROOT / GENERATED, self.folder / GENERATED)

    def replace(self, file: str, old: str, new: str) -> int:
        """Put ``new`` in the place of ``old``, which stands there once; the line that it was on."""
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file} holds {text.count(old)} times {old!r}"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return text.count("\n", 0, text.index(old)) + 1

    def replace_in(self, file: str, query: str, old: str, new: str) -> None:
        """Put ``new`` in the place of the first ``old`` from ``query`` on, or at all: a name may be
        what is new."""
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        start = max(text.find(f"-- name: {query}("), 0)
        assert old in text[start:], f"{file} does not hold {old!r} from {query} on"
        path.write_text(text[:start] + text[start:].replace(old, new, 1), encoding="utf-8")

    def append(self, file: str, text: str) -> int:
        """Add ``text``, after an empty line, to the end of a file; the line that it begins on."""
        path = self.folder / file
        before = path.read_text(encoding="utf-8") + "\n"
        path.write_text(before + text, encoding="utf-8")
        return before.count("\n") + 1

    def line_of(self, file: str, query: str) -> int:
        """The line on which a query's header stands."""
        lines = (self.folder / file).read_text(encoding="utf-8").splitlines()
        [number] = [
            number for number, line in enumerate(lines, 1) if re.match(rf"-- name: {query}\(", line)
        ]
        return number

    def generate(self, *arguments: str) -> Verdict:
        """What ``make generate`` runs, and with ``--check`` what ``make check`` does."""
        assert self._generator.stdin is not None
        self._generator.stdin.write(json.dumps(arguments) + "\n")
        self._generator.stdin.flush()
        return Verdict(*json.loads(self._answer()))

    def _answer(self) -> str:
        assert self._generator.stdout is not None
        answer = self._generator.stdout.readline()
        assert answer, "the generator ended with a traceback, see stderr"
        return answer.strip()
