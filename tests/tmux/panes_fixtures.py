"""Panes on a private tmux server, with a byte recorder in them, for the tests of cafleet.panes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cafleet.panes import Multiplexer, PaneTag, multiplexer
from cafleet.records import Backend
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

DATABASE = "0f" * 8
FLEET = 7


def tag(member_id: int, *, fleet_id: int = FLEET) -> PaneTag:
    return PaneTag(database_id=DATABASE, fleet_id=fleet_id, member_id=member_id)


class ByteRecorders:
    """Starts byte recorders; each is ready for input when its pane id is returned."""

    def __init__(self, server: TmuxServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self._program = str(Path(__file__).with_name("byte_recorder.py"))

    def command(self, *words: str, bracketed: bool = False) -> list[str]:
        mode = "bracketed" if bracketed else "plain"
        return [sys.executable, self._program, str(self.folder), mode, *words]

    def session(self, name: str = "main", *, bracketed: bool = False, **size: int) -> str:
        """A recorder in the first pane of a new session."""
        return self.ready(self.server.session(name, self.command(bracketed=bracketed), **size))

    def beside(self, pane: str, *, bracketed: bool = False) -> str:
        return self.ready(self.server.split(pane, self.command(bracketed=bracketed)))

    def ready(self, pane: str) -> str:
        wait_for(lambda: "READY" in self.server.screen(pane), f"a recorder runs in {pane}")
        return pane

    def start(self, pane: str) -> dict[str, Any]:
        path = self.folder / f"{pane}.json"
        wait_for(path.exists, f"{pane} has noted its start")
        start: dict[str, Any] = wait_for(lambda: json.loads(path.read_text() or "null"), "its note")
        start["argv"] = [bytes.fromhex(word) for word in start["argv"]]
        start["cwd"] = bytes.fromhex(start["cwd"])
        return start

    def received(self, pane: str) -> bytes:
        return (self.folder / f"{pane}.bytes").read_bytes()

    def expect(self, pane: str, data: bytes, *, start: int = 0) -> None:
        """Wait for so many bytes from ``start`` on, and compare."""
        wait_for(lambda: len(self.received(pane)) - start >= len(data), f"{pane} got its bytes")
        assert self.received(pane)[start:] == data


def restarted(server: TmuxServer) -> str:
    """Kill the server and start another; the first pane of its session ``main``."""
    server.stop()

    def begin() -> str:
        # The old server may still be about to end, and take the new client with it.
        with contextlib.suppress(subprocess.CalledProcessError):
            return server.session("main")
        return ""

    return wait_for(begin, "a new server runs")


@pytest.fixture
def recorder(tmux_server: TmuxServer, tmp_path: Path) -> ByteRecorders:
    folder = tmp_path / "bytes"
    folder.mkdir()
    return ByteRecorders(tmux_server, folder)


@pytest.fixture
def mux(tmux_server: TmuxServer) -> Multiplexer:
    return multiplexer(Backend.TMUX, tmux_server.socket)


@pytest.fixture
def tmux_wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder at the head of PATH in which :func:`wrap` puts a program named tmux."""
    folder = tmp_path / "wrapper"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def wrap(folder: Path, script: str) -> None:
    """Put a shell script named tmux into ``folder``; ``$REAL`` in it is the real one."""
    path = folder / "tmux"
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\nREAL={shutil.which('tmux')}\n{script}\n")
    path.chmod(0o755)
