"""What the byte recorders have written down, and how to command them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.launchers import install
from tests.harness.waiting import wait_for
from tests.recorder import SWITCHES, control_of, journal_of

PASTE_START = b"\x1b[200~"
PASTE_END = b"\x1b[201~"


@dataclass(frozen=True)
class Recording:
    """The journal of one pane."""

    folder: Path
    pane: str

    def events(self, *names: str) -> list[dict[str, Any]]:
        """The events so far, only those of the ``names`` if any are given."""
        path = journal_of(self.folder, self.pane)
        data = path.read_bytes() if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        events = [json.loads(line) for line in whole.splitlines()]
        return [event for event in events if not names or event["event"] in names]

    def started(self) -> dict[str, Any]:
        """The newest start: argv, cwd, environment, pid; waited for."""
        return wait_for(lambda: self.events("start"), f"a recorder has started in {self.pane}")[-1]

    def received(self) -> bytes:
        """Every byte that was read, with the brackets of pastes."""
        return b"".join(self.reads())

    def reads(self) -> list[bytes]:
        """The bytes of each read of its own."""
        return [bytes.fromhex(event["hex"]) for event in self.events("bytes")]

    def typed(self) -> bytes:
        """Every byte that was read, the brackets of pastes removed."""
        return self.received().replace(PASTE_START, b"").replace(PASTE_END, b"")

    def submits(self) -> list[str]:
        """The texts that were submitted with Enter, the spawn prompt first if there was one."""
        return [event["text"] for event in self.events("submit")]

    def command(self, **values: Any) -> None:
        """Set switches (fields of :class:`demo.simulated_agent.Switches`) or act, and wait.

        Actions: ``question=True`` opens a question, ``type="…"`` takes a draft, ``clear=True``
        empties the composer, ``work=2.5`` works so long, ``hang=True`` reads and draws
        nothing until ``hang=False``, ``crash=True`` leaves a shell,
        ``restart=True`` starts again in the same pane, ``exit=0`` ends.
        """
        before = len(self.events("obeyed"))
        self.tell(**values)
        obeyed = f"{self.pane} has obeyed {values}"
        wait_for(lambda: len(self.events("obeyed")) > before, obeyed, seconds=60)

    def tell(self, **values: Any) -> None:
        """The same without the wait."""
        with control_of(self.folder, self.pane).open("ab") as control:
            control.write(json.dumps(values).encode() + b"\n")


@dataclass(frozen=True)
class Recorders:
    """The recorders of one test: ``programs`` goes first on PATH, ``folder`` holds the journals."""

    programs: Path
    folder: Path

    @classmethod
    def installed(cls, root: Path) -> Recorders:
        """Install ``claude``, ``codex`` and ``opencode`` as recorders below ``root``."""
        recorders = cls(programs=root / "programs", folder=root / "journals")
        recorders.folder.mkdir(parents=True)
        install(recorders.programs, "tests.recorder", journals=str(recorders.folder))
        return recorders

    def of(self, pane: str) -> Recording:
        return Recording(self.folder, pane)

    def start_with(self, **switches: Any) -> None:
        """Give every recorder that starts from now on these switches."""
        (self.folder / SWITCHES).write_text(json.dumps(switches), encoding="utf-8")
