"""A simulated coding agent: a real terminal program with a composer, a transcript and a queue.

What it does with a submitted turn is given to it. How it misbehaves is set by switches and by
commands in a control file: it can swallow Enters, draw slowly, open questions, crash.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from demo.composer import Composer
from demo.keys import BracketedDecoder, BurstDecoder, Decoder, Event, Kind
from demo.screens import View, Voice, painter
from demo.terminal import Terminal

Say = Callable[[Voice, str], None]
Turn = Callable[[str, Say], None]
Observer = Callable[[str, dict[str, Any]], None]

_ESCAPE_SECONDS = 0.05
_CONTROL_SECONDS = 0.03
_SPINNER_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class Switches:
    """How the agent misbehaves; by default not at all. Times are seconds.

    ``swallow_enter`` n loses every n-th Enter. ``draw_delay`` is between a change and its
    picture. ``lose_pastes`` drops each paste and says so. ``menu_after_at`` opens a menu after
    ``@word``, which eats the Enter. Pastes of more lines than ``collapse_lines`` (0: none) are
    shown as a placeholder. ``…_after_paste`` happen that long after each paste: a question opens,
    a person types ``draft``, the agent ends and leaves a shell. ``question_on_submit`` opens one
    as soon as a turn begins. ``work_seconds`` is how long a turn takes when nothing else decides
    it. ``merge_queue`` makes one turn of all that was queued. ``paste_burst`` tells pastes by
    speed, not by brackets. ``exit_status`` ends it before it has drawn anything.
    """

    swallow_enter: int = 0
    draw_delay: float = 0.0
    lose_pastes: bool = False
    menu_after_at: bool = False
    collapse_lines: int = 0
    question_after_paste: float | None = None
    draft_after_paste: float | None = None
    crash_after_paste: float | None = None
    question_on_submit: bool = False
    draft: str = "half a thought"
    work_seconds: float = 0.0
    merge_queue: bool = False
    paste_burst: bool = False
    exit_status: int | None = None

    def changed(self, values: dict[str, Any]) -> Switches:
        """These switches with those in ``values`` set; names that are no switches are ignored."""
        names = {field.name for field in fields(self)}
        return replace(self, **{name: values[name] for name in values if name in names})


def ignore(event: str, details: dict[str, Any]) -> None:
    """The observer of an agent that nobody observes."""


def spawn_prompt(argv: list[str]) -> str:
    """The prompt in an agent's arguments: after ``--``, or in ``--prompt=``; empty if none."""
    for index, argument in enumerate(argv):
        if argument == "--":
            return " ".join(argv[index + 1 :])
        if argument.startswith("--prompt="):
            return argument.removeprefix("--prompt=")
    return ""


def display_name(agent: str, argv: list[str]) -> str:
    """What ``--name`` says, else the agent's own name."""
    before_prompt = argv[: argv.index("--")] if "--" in argv else argv
    for name, value in itertools.pairwise(before_prompt):
        if name == "--name":
            return value
    return agent


class SimulatedAgent:
    """One run of the agent in the terminal of this process.

    ``turn`` answers a submitted text in a thread of its own, speaking through the function it is
    given; without one, each turn takes ``work_seconds`` and gets one sentence. ``/new`` clears the
    transcript and ``/model`` opens a menu, as the real agents do. ``observe`` hears
    what happens: ``bytes`` (hex) for every read, ``submit``, ``swallowed``, ``approved`` and so on.
    """

    def __init__(
        self,
        agent: str,
        argv: list[str],
        *,
        turn: Turn | None = None,
        switches: dict[str, Any] | None = None,
        observe: Observer = ignore,
        control: Path | None = None,
    ) -> None:
        self._agent = agent
        self._argv = argv
        self._turn = turn
        self._switches = Switches(merge_queue=agent == "claude").changed(switches or {})
        self._observe = observe
        self._control = control
        # What is there already was meant for an earlier run in the same pane.
        self._control_read = len(self._commands())
        self._paint = painter(agent)
        self._composer = Composer(agent)
        self._transcript: list[tuple[Voice, str]] = []
        self._queued: list[str] = []
        self._question = False
        self._hangs = False
        self._working_since: float | None = None
        self._enters = 0
        self._timers: list[tuple[float, Callable[[], None]]] = []
        self._said: queue.SimpleQueue[tuple[Voice, str] | None] = queue.SimpleQueue()
        self._draw_at: float | None = 0.0
        self._end: Callable[[], int] | None = None
        self._decoder: Decoder = (
            BurstDecoder() if self._switches.paste_burst else BracketedDecoder()
        )

    def run(self) -> int:
        """Work until the terminal closes or a command ends it; the exit status."""
        if self._switches.exit_status is not None:
            return self._switches.exit_status
        with Terminal(
            bracketed_paste=not self._switches.paste_burst,
            alternate_screen=self._agent == "opencode",
        ) as self._terminal:
            prompt = spawn_prompt(self._argv)
            if prompt:
                self._submit(prompt)
            while self._end is None:
                self._step()
        return self._end()

    # The loop

    def _step(self) -> None:
        self._obey_control_file()
        while self._hangs:
            time.sleep(_CONTROL_SECONDS)
            self._obey_control_file()
        self._fire_timers()
        self._hear_turn()
        if self._terminal.resized:
            self._terminal.resized = False
            self._change()
        if self._draw_at is not None and self._draw_at <= time.monotonic():
            self._draw()
        if self._end is None:
            self._read(self._terminal.wait(self._pause()))

    def _pause(self) -> float | None:
        now = time.monotonic()
        moments = [when for when, _ in self._timers]
        if self._draw_at is not None:
            moments.append(self._draw_at)
        if self._control is not None:
            moments.append(now + _CONTROL_SECONDS)
        return max(min(moments) - now, 0.0) if moments else None

    def _read(self, data: bytes | None) -> None:
        if data is None:
            return
        if not data:
            self._end = lambda: 0
            return
        self._observe("bytes", {"hex": data.hex()})
        for event in self._decoder.feed(data, time.monotonic()):
            self._on_event(event)
        if data.endswith(b"\x1b"):
            self._later(_ESCAPE_SECONDS, self._flush)
        self._change()

    def _flush(self) -> None:
        for event in self._decoder.flush():
            self._on_event(event)

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        self._timers.append((time.monotonic() + seconds, action))

    def _fire_timers(self) -> None:
        now = time.monotonic()
        due = [action for when, action in self._timers if when <= now]
        self._timers = [timer for timer in self._timers if timer[0] > now]
        for action in due:
            action()
            self._change()

    # The screen

    def _change(self) -> None:
        wanted = time.monotonic() + self._switches.draw_delay
        self._draw_at = wanted if self._draw_at is None else min(self._draw_at, wanted)

    def _draw(self) -> None:
        columns, rows = self._terminal.size()
        working = self._working_since
        now = time.monotonic()
        view = View(
            columns=max(columns, 20),
            rows=rows,
            title=display_name(self._agent, self._argv),
            folder=str(Path.cwd()),
            transcript=self._transcript,
            composer=self._composer.shown,
            working=None if working is None else now - working,
            queued=tuple(self._queued),
            question=self._question,
            menu=("+ README.md", "+ CHANGELOG.md") if self._menu_is_open() else (),
        )
        self._terminal.draw(self._paint(view))
        self._draw_at = None if working is None else now + _SPINNER_SECONDS

    def _menu_is_open(self) -> bool:
        return self._switches.menu_after_at and bool(re.search(r"@\w+\Z", self._composer.text))

    # The keyboard

    def _on_event(self, event: Event) -> None:
        if self._question:
            self._on_answer(event)
            return
        match event.kind:
            case Kind.TEXT:
                self._composer.type(event.text)
            case Kind.PASTE:
                self._on_paste(event.text)
            case Kind.BACKSPACE:
                self._composer.erase()
            case Kind.ENTER:
                self._on_enter()
            case Kind.ESCAPE:
                self._observe("escape", {})

    def _on_answer(self, event: Event) -> None:
        if event.kind is Kind.ESCAPE:
            self._observe("dismissed", {})
            self._question = False
        elif event.kind is Kind.ENTER or re.search(r"[123\n]", event.text):
            self._observe("approved", {})
            self._question = False

    def _on_paste(self, text: str) -> None:
        if self._switches.lose_pastes:
            self._observe("lost", {"text": text})
            self._transcript.append((Voice.AGENT, f"{text.count(' ')} words are lost."))
            return
        limit = self._switches.collapse_lines
        self._composer.paste(text, collapse=0 < limit <= text.count("\n"))
        for seconds, action in (
            (self._switches.question_after_paste, self._ask),
            (self._switches.draft_after_paste, self._take_draft),
            (self._switches.crash_after_paste, self._crash),
        ):
            if seconds is not None:
                self._later(seconds, action)

    def _on_enter(self) -> None:
        self._enters += 1
        every = self._switches.swallow_enter
        if every and self._enters % every == 0:
            self._observe("swallowed", {})
        elif self._menu_is_open():
            self._observe("completed", {})
            self._composer.type(" ")
        elif self._composer.text.strip():
            self._submit(self._composer.take())

    # Turns

    def _submit(self, text: str) -> None:
        self._observe("submit", {"text": text})
        if self._working_since is None:
            self._begin(text)
        else:
            self._queued.append(text)

    def _begin(self, text: str) -> None:
        match text.split():
            case ["/new"]:
                self._transcript.clear()
                return
            case ["/model"]:
                self._question = True
                return
        self._transcript.append((Voice.USER, text))
        self._question = self._switches.question_on_submit
        if self._turn is not None:
            self._working_since = time.monotonic()
            threading.Thread(target=self._answer, args=(self._turn, text), daemon=True).start()
        elif self._switches.work_seconds:
            self._work(self._switches.work_seconds)
        else:
            self._transcript.append((Voice.AGENT, "Understood."))

    def _work(self, seconds: float) -> None:
        self._working_since = time.monotonic()
        self._later(seconds, self._understand)

    def _understand(self) -> None:
        self._transcript.append((Voice.AGENT, "Understood."))
        self._finish()

    def _answer(self, turn: Turn, text: str) -> None:
        try:
            turn(text, self._say)
        finally:
            self._said.put(None)
            self._terminal.wake()

    def _say(self, voice: Voice, text: str) -> None:
        self._said.put((voice, text))
        self._terminal.wake()

    def _hear_turn(self) -> None:
        while not self._said.empty():
            entry = self._said.get()
            if entry is None:
                self._finish()
            else:
                self._transcript.append(entry)
            self._change()

    def _finish(self) -> None:
        self._working_since = None
        if self._queued:
            count = len(self._queued) if self._switches.merge_queue else 1
            merged = "\n".join(self._queued[:count])
            del self._queued[:count]
            self._begin(merged)

    # What a person, a mishap or a test may do to it

    def _ask(self) -> None:
        self._observe("asked", {})
        self._question = True

    def _take_draft(self) -> None:
        self._observe("drafted", {"text": self._switches.draft})
        self._composer.type(self._switches.draft)

    def _crash(self) -> None:
        self._observe("crashed", {})
        self._end = _become_a_shell

    def _commands(self) -> list[bytes]:
        """The whole lines of the control file so far."""
        if self._control is None or not self._control.exists():
            return []
        data = self._control.read_bytes()
        return data[: data.rfind(b"\n") + 1].splitlines()

    def _obey_control_file(self) -> None:
        lines = self._commands()
        for line in lines[self._control_read :]:
            self._obey(json.loads(line))
            self._change()
        self._control_read = len(lines)

    def _obey(self, command: dict[str, Any]) -> None:
        self._switches = self._switches.changed(command)
        for name, value in command.items():
            match name:
                case "question":
                    self._question = value
                case "type":
                    self._composer.type(value)
                case "clear":
                    self._observe("cleared", {"text": self._composer.take()})
                case "work":
                    self._work(value)
                case "hang":
                    self._hangs = value
                case "crash":
                    self._crash()
                case "restart":
                    self._end = _start_again
                case "exit":
                    self._end = partial(int, value)
        self._observe("obeyed", command)


def _become_a_shell() -> int:
    os.execv("/bin/sh", ["sh", "-i"])


def _start_again() -> int:
    os.execv(sys.executable, sys.orig_argv)
