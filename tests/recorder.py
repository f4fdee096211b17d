"""The byte recorder: a simulated agent that writes down every byte it is given.

Per pane there is a journal, one JSON object a line, each with the moment ``at`` (seconds since the
epoch) and an ``event``: ``start`` (argv, cwd, environment, pid) for every process that ran in the
pane, ``bytes`` (hex) for every read, and what the simulated agent reports. Beside it, a control
file is obeyed line by line, and ``switches.json`` holds the switches that every start begins with.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from demo.simulated_agent import SimulatedAgent

SWITCHES = "switches.json"


def journal_of(folder: Path, pane: str) -> Path:
    return folder / f"{pane}.jsonl"


def control_of(folder: Path, pane: str) -> Path:
    return folder / f"{pane}.control"


class Journal:
    """Appends events; each is in the file before the next thing happens."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def write(self, event: str, details: dict[str, Any]) -> None:
        line = {"at": time.time(), "event": event, **details}
        self._file.write(json.dumps(line).encode() + b"\n")


def main(agent: str, argv: list[str], journals: str) -> int:
    """Run as the program ``agent`` with its arguments ``argv``, noting it in ``journals``."""
    folder = Path(journals)
    pane = os.environ.get("TMUX_PANE", "outside")
    journal = Journal(journal_of(folder, pane))
    switches = folder / SWITCHES
    recorder = SimulatedAgent(
        agent,
        argv,
        switches=json.loads(switches.read_text()) if switches.exists() else {},
        observe=journal.write,
        control=control_of(folder, pane),
    )
    start = {
        "agent": agent,
        "argv": [sys.argv[0], *argv],
        "cwd": str(Path.cwd()),
        "environment": dict(os.environ),
        "pid": os.getpid(),
    }
    journal.write("start", start)
    return recorder.run()
