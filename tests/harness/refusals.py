"""Refusals, and the proof that nothing came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.harness.database import Database
from tests.harness.journals import Recorders
from tests.harness.program import Program, assert_refused
from tests.harness.tmux import TmuxServer


@dataclass(frozen=True)
class Refusals:
    """Runs commands that must be refused; every row, pane and keystroke is compared around each."""

    cafleet: Program
    database: Database
    server: TmuxServer
    recorders: Recorders

    def expect(
        self,
        exit_code: int,
        fragment: str,
        *arguments: str | bytes,
        pane: str | None = None,
        env: Mapping[str, str | None] | None = None,
        stdin: bytes = b"",
    ) -> None:
        """Run a command; it is refused with ``fragment`` in its one line, and nothing came of it.

        The line says what happened, and after a semicolon what to do.
        """
        before = self._state()
        result = self.cafleet.run(*arguments, pane=pane, env=env, stdin=stdin)
        assert_refused(result, exit_code, fragment)
        assert "; " in result.stderr, result
        assert self._state() == before

    def _state(self) -> dict[str, object]:
        journals = sorted(path.stem for path in self.recorders.folder.glob("*.jsonl"))
        return {
            "rows": self.database.dump(),
            "panes": self.server.panes(),
            "keystrokes": {pane: self.recorders.of(pane).reads() for pane in journals},
            "files": _files(self.database.path.parent),
        }


def _files(folder: Path) -> list[str]:
    """The files beside a database, its own shared memory and log left out."""
    return sorted(
        path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm"))
    )
