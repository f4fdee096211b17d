"""Senders of a soak: some jobs by the installed program, most by processes that live longer, and all
of them may be killed in the middle."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from tests.harness.program import Program

_ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 60.0


@dataclass
class Letter:
    """A message to send; ``reported`` says that its sender was told that it is stored.

    ``patience`` is after how many seconds its sender is killed, if it is.
    """

    sender: int
    recipient: int
    text: str
    urgent: bool
    patience: float | None
    reported: bool = False
    killed: bool = False


@dataclass(frozen=True)
class Reading:
    """A member polls, and acknowledges all if ``ack``."""

    reader: int
    ack: bool


Job = Letter | Reading | None


class Posting:
    """Takes jobs from a queue each for the program and for the longer-lived senders, until it is
    closed. ``errors`` are what senders that nobody killed have complained of."""

    def __init__(self, cafleet: Program, *, by_program: int = 2, by_process: int = 3) -> None:
        self._cafleet = cafleet
        self._program: Queue[Job] = Queue(maxsize=2 * by_program)
        self._process: Queue[Job] = Queue(maxsize=2 * by_process)
        self.errors: list[str] = []
        self._threads = [
            *(threading.Thread(target=self._use_program) for _ in range(by_program)),
            *(threading.Thread(target=self._use_process) for _ in range(by_process)),
        ]
        for thread in self._threads:
            thread.start()

    def post(self, job: Letter | Reading, *, by_program: bool = False) -> None:
        """Have it done soon; waits while too much is to be done."""
        (self._program if by_program else self._process).put(job)

    def close(self) -> None:
        """Wait until all is done."""
        for thread in self._threads:
            (self._program if thread in self._threads[:2] else self._process).put(None)
        for thread in self._threads:
            thread.join()

    def _use_program(self) -> None:
        while (job := self._program.get()) is not None:
            assert isinstance(job, Letter)
            people = ["--from-member-id", str(job.sender), "--to-member-id", str(job.recipient)]
            urgent = ["--urgent"] if job.urgent else []
            process = self._cafleet.start("message", "send", *people, *urgent, "--", job.text)
            killer = _kill_later(process, job)
            _, stderr = process.communicate(b"", timeout=_SECONDS)
            killer.cancel()
            job.reported = process.returncode == 0
            if process.returncode > 0 or stderr:
                self._complain(job, stderr.decode())

    def _use_process(self) -> None:
        process: subprocess.Popen[str] | None = None
        while (job := self._process.get()) is not None:
            if process is None:
                process = self._start()
            killer = _kill_later(process, job)
            answer = _ask(process, job)
            killer.cancel()
            if answer is None:
                process.wait(_SECONDS)
                process = None
            elif "error" in answer:
                self._complain(job, answer["error"])
            elif isinstance(job, Letter):
                job.reported = True
        if process is not None:
            process.communicate(timeout=_SECONDS)

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.faults.sender"],
            env=self._cafleet.environment,
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _complain(self, job: Job, words: str) -> None:
        if not (isinstance(job, Letter) and job.killed):
            self.errors.append(f"{job}: {words.strip()}")


def _ask(process: subprocess.Popen[str], job: Letter | Reading) -> dict[str, Any] | None:
    """The answer of a sender, or nothing if it was killed before it could give one."""
    assert process.stdin is not None
    assert process.stdout is not None
    wanted = vars(job)
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(wanted) + "\n")
        process.stdin.flush()
    line = process.stdout.readline()
    return json.loads(line) if line.endswith("\n") else None


def _kill_later(process: subprocess.Popen[Any], job: Letter | Reading) -> threading.Timer:
    def kill() -> None:
        assert isinstance(job, Letter)
        if process.poll() is None:
            job.killed = True
            process.kill()

    patience = job.patience if isinstance(job, Letter) else None
    timer = threading.Timer(patience or 0, kill)
    if patience is not None:
        timer.start()
    return timer


def patience(rng: random.Random, *, by_program: bool) -> float | None:
    """When to kill the sender of the next letter, if at all: somewhere in the time that it takes."""
    if rng.random() > (0.2 if by_program else 0.03):
        return None
    return rng.uniform(0, 0.6 if by_program else 0.02)
