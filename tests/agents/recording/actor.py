"""One real agent in a pane of its own tmux server, and the steps that a scene makes with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.agents.homes import furnish
from tests.agents.model import Model
from tests.agents.recording.table import Tour
from tests.harness.tmux import TmuxServer

START_SECONDS = 300.0
SEE_SECONDS = 45.0
# Longer than the longest scene of work.
_LONGEST_ANSWER = 1200.0
_READY_SECONDS = 5.0
# What follows an Escape too soon makes one key with it.
_ESCAPE_SECONDS = 1.2
_KEY_SECONDS = 0.25
# Agents take an Enter that comes at once for a part of what was pasted.
_ENTER_SECONDS = 1.0
_TAKEN_SECONDS = 15.0
# A look starts a process, and many agents are looked at.
_LOOK_SECONDS = 1.0
_TMUX_SECONDS = 60.0
_RESIZED_SECONDS = 3.0
_STILL_SECONDS = 0.6


class UnseenError(Exception):
    """What a scene must show did not appear."""


class Actor:
    """The agent in its pane. Each step is a line: a verb and what it is done with."""

    def __init__(self, server: TmuxServer, pane: str, model: Model, work: Path) -> None:
        self.server = server
        self.pane = pane
        self.model = model
        self.work = str(work)
        self._said_at = time.monotonic()

    def perform(self, step: str) -> None:
        """Do one step.

        Raises:
            UnseenError: it waits for something that did not come.
        """
        verb, _, rest = step.replace("{work}", self.work).partition(" ")
        getattr(self, f"do_{verb}")(rest)

    def do_key(self, names: str) -> None:
        """Press keys one after the other."""
        for name in names.split():
            self.do_keys(name)
            time.sleep(_ESCAPE_SECONDS if name == "Escape" else _KEY_SECONDS)

    def do_keys(self, names: str) -> None:
        """Press keys at once."""
        self.server.run("send-keys", "-t", self.pane, *names.split())

    def do_type(self, text: str) -> None:
        self.server.run("send-keys", "-l", "-t", self.pane, "--", text)
        time.sleep(_KEY_SECONDS)

    def do_paste(self, text: str) -> None:
        self.server.paste(self.pane, text.replace("\\n", "\n"))
        time.sleep(_KEY_SECONDS)

    def do_say(self, text: str) -> None:
        """Submit a text as a turn."""
        self.do_paste(text)
        time.sleep(_ENTER_SECONDS)
        typed = self.screen()
        self.server.enter(self.pane)
        self._said_at = time.monotonic()
        while self.screen() == typed and time.monotonic() < self._said_at + _TAKEN_SECONDS:
            time.sleep(_LOOK_SECONDS)
        time.sleep(_ENTER_SECONDS)

    def do_at(self, seconds: str) -> None:
        """Wait until so long after the last text was submitted."""
        time.sleep(max(0.0, self._said_at + float(seconds) - time.monotonic()))

    def do_see(self, pattern: str) -> None:
        self.see(pattern)

    def do_gone(self, pattern: str) -> None:
        self.see(pattern, shown=False)

    def do_sleep(self, seconds: str) -> None:
        time.sleep(float(seconds))

    def do_unplug(self, _: str) -> None:
        """Let the model's port refuse connections."""
        self.model.unplug()

    def do_plug(self, _: str) -> None:
        self.model.plug()

    def see(self, pattern: str, *, shown: bool = True, seconds: float = SEE_SECONDS) -> None:
        """Wait until the plain screen matches, or until it does not."""
        deadline = time.monotonic() + seconds
        while bool(re.search(pattern, self.screen())) is not shown:
            if time.monotonic() > deadline:
                raise UnseenError(f"{'not seen' if shown else 'still seen'}: {pattern}")
            time.sleep(_LOOK_SECONDS)

    def still(self, seconds: float = 4.0) -> None:
        """Wait until two looks agree; an agent at work never stands still."""
        deadline = time.monotonic() + seconds
        before = None
        while (now := self.screen()) != before and time.monotonic() < deadline:
            before = now
            time.sleep(_STILL_SECONDS)

    def resize(self, columns: int, rows: int) -> None:
        """Give the pane a size, and the agent time to draw itself anew if it is another."""
        if self.server.ask(self.pane, "#{pane_width}x#{pane_height}") == f"{columns}x{rows}":
            return
        self.server.run("resize-window", "-t", self.pane, "-x", str(columns), "-y", str(rows))
        time.sleep(_RESIZED_SECONDS)

    def screen(self) -> str:
        return self.server.screen(self.pane)


@contextmanager
def acting(tour: Tour, home: Path, columns: int, rows: int) -> Iterator[Actor]:
    """Start the agent of a tour in a pane of this size; all of its files lie in ``home``."""
    work = home / "ws1"
    work.mkdir(parents=True)
    model = Model(_LONGEST_ANSWER)
    model.rules = tour.rules
    with model.serving():
        given = furnish(home, work, model.url)
        for name, content in tour.files.items():
            _write(home / name, content)
        environment = {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "COLORTERM": "truecolor",
            "EDITOR": "vi",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            **given,
            "PATH": f"{given['PATH']}:/usr/local/bin:/usr/bin:/bin",
            **tour.environment,
        }
        environment = {name: value for name, value in environment.items() if value}
        server = TmuxServer(environment, _TMUX_SECONDS)
        try:
            actor = Actor(server, _pane(server, columns, rows, work), model, work)
            for command in tour.before:
                server.run("run-shell", f"cd {work} && {command}")
            launch = tour.launch or (tour.agent, *tour.options)
            words = ["env", f"TERM={tour.term}", *launch]
            server.run("respawn-pane", "-k", "-c", str(work), "-t", actor.pane, "--", *words)
            if tour.ready:
                actor.see(tour.ready, seconds=START_SECONDS)
                # Codex draws its composer before it takes an Enter.
                time.sleep(_READY_SECONDS)
                actor.still()
            yield actor
        finally:
            server.close()


def _pane(server: TmuxServer, columns: int, rows: int, work: Path) -> str:
    """A pane of exactly this size, the only one of its window; nothing runs in it yet."""
    pane = server.session("screens", columns=columns, rows=rows, cwd=work)
    server.run("set-option", "-g", "status", "off")
    server.run("set-option", "-g", "remain-on-exit", "on")
    server.run("set-option", "-sa", "terminal-overrides", ",*:Tc")
    server.run("resize-window", "-t", pane, "-x", str(columns), "-y", str(rows))
    return pane


def _write(file: Path, content: Any) -> None:
    """Merge a table into a JSON file, or put a text at the end of another."""
    file.parent.mkdir(parents=True, exist_ok=True)
    there = file.read_text(encoding="utf-8") if file.exists() else ""
    if isinstance(content, str):
        file.write_text(there + content, encoding="utf-8")
    else:
        merged = {**json.loads(there or "{}"), **content}
        file.write_text(json.dumps(merged), encoding="utf-8")


def remove(home: Path) -> None:
    """End what still runs with this home, such as an agent's background server, and remove it."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            mine = f"HOME={home}".encode() in (entry / "environ").read_bytes().split(b"\0")
            if mine:
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:  # It has ended, or is another user's.
            continue
    shutil.rmtree(home, ignore_errors=True)
