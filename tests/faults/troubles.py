"""What befalls single agents during a soak, at random times, and what a person then does about it."""

from __future__ import annotations

import random
import re
import shlex
import time
from typing import Any

from tests.faults.crowd import SIZES, Agent
from tests.harness.tmux import TmuxServer

# Later than this after the paste, a look and the Enter behind it may already be on their way.
LATEST_SECONDS = 0.8
# An agent that has not started by then is started once more.
_START_SECONDS = 8.0


class Trouble:
    """By default nothing happens; ``rng`` decides when and what."""

    def __init__(self, agent: Agent, server: TmuxServer, rng: random.Random) -> None:
        self.agent = agent
        self.server = server
        self.rng = rng
        self.next_at = time.time() + rng.uniform(0, 3)

    def step(self, now: float, news: list[dict[str, Any]]) -> None:
        """Do what is due at ``now`` (seconds since the epoch), given what the journal has new."""
        self.hear(now, news)
        if now >= self.next_at:
            self.next_at = now + self.act(now)

    def hear(self, now: float, news: list[dict[str, Any]]) -> None:
        """Take note of what the agent reports."""

    def act(self, now: float) -> float:
        """Make trouble; the seconds until the next."""
        return 3600.0

    def end(self, now: float) -> None:
        """Put an end to it."""

    def lasts(self, now: float) -> bool:
        """Whether something is still to come of it after the end."""
        return False


class _AfterPaste(Trouble):
    """A switch of the agent that does something so long after each paste, on for half the time."""

    switch: str
    latest = LATEST_SECONDS

    def act(self, now: float) -> float:
        on = self.rng.random() < 0.6
        seconds = self.rng.uniform(0, self.latest) if on else None
        self.agent.recording.tell(**{self.switch: seconds})
        return self.rng.uniform(2, 6)

    def end(self, now: float) -> None:
        self.next_at = float("inf")
        self.agent.recording.tell(**{self.switch: None})


class Question(_AfterPaste):
    """A question opens after the paste; a person closes it soon, or not so soon."""

    switch = "question_after_paste"
    _asked: float | None = None
    _close_at = 0.0

    def hear(self, now: float, news: list[dict[str, Any]]) -> None:
        for event in news:
            if event["event"] == "asked":
                self._asked = event["at"]
                self._close_at = event["at"] + self.rng.choice(
                    (self.rng.uniform(0.3, 3), self.rng.uniform(3, 10))
                )
        if self._asked is not None and now >= self._close_at:
            self.agent.recording.tell(question=False)
            # Until it has obeyed and drawn.
            self.agent.spans.append((self._asked, now + 1, "question"))
            self._asked = None


class Draft(_AfterPaste):
    """A person types after the paste; what then stands in the composer is for the tidier."""

    switch = "draft_after_paste"

    def hear(self, now: float, news: list[dict[str, Any]]) -> None:
        for event in news:
            if event["event"] == "drafted":
                self.agent.spans.append((event["at"], event["at"], "draft"))


class Crash(_AfterPaste):
    """The agent leaves a shell after the paste; a person looks at it and starts the agent again."""

    switch = "crash_after_paste"
    latest = 2.0
    _crashed: float | None = None
    _ended = _up_at = 0.0

    def hear(self, now: float, news: list[dict[str, Any]]) -> None:
        for event in news:
            if event["event"] == "crashed":
                self._crashed = event["at"]
                self._restart_at = event["at"] + self.rng.uniform(1, 5)
            if event["event"] == "start" and self._crashed is not None:
                # What it is told before it reads its control file it never obeys.
                self._up_at = event["at"] + 1
                self.agent.spans.append((self._crashed, self._up_at, "crash"))
                self._crashed = None
        if self._crashed is not None and now >= self._restart_at:
            self._restart(now)
            self._restart_at = now + _START_SECONDS

    def _restart(self, now: float) -> None:
        screen = self.server.screen(self.agent.pane)
        _, _, after = re.sub(r"(?m)^[#$] ", "\0", screen).partition("\0")
        if "[cafleet" in after:
            self.agent.events.append({"at": now, "event": "shell", "text": after})
        # The shell's line may hold something already.
        self.server.run("send-keys", "-t", self.agent.pane, "C-c")
        self.server.run("send-keys", "-t", self.agent.pane, "-l", shlex.join(self.agent.command))
        self.server.enter(self.agent.pane)

    def end(self, now: float) -> None:
        super().end(now)
        self._ended = now
        if self._crashed is not None:
            self._restart_at = now

    def lasts(self, now: float) -> bool:
        # A crash after the last paste may be due when everything else is over.
        return self._crashed is not None or now < max(self._up_at, self._ended + 2 * self.latest)


class Resize(Trouble):
    """The window gets another size."""

    def act(self, now: float) -> float:
        columns, rows = self.rng.choice(SIZES)
        size = ["-x", str(columns), "-y", str(rows)]
        self.server.run("resize-window", "-t", self.agent.pane, *size)
        return self.rng.uniform(0.3, 4)

    def end(self, now: float) -> None:
        self.next_at = float("inf")


class CopyMode(Trouble):
    """A person scrolls back in the pane, and leaves that again."""

    _entered: float | None = None

    def act(self, now: float) -> float:
        if self._entered is None:
            self._entered = now
            self.server.run("copy-mode", "-t", self.agent.pane)
            return self.rng.uniform(0.2, 4)
        # Something else may have ended it meanwhile.
        self.server.run("send-keys", "-t", self.agent.pane, "-X", "cancel", check=False)
        self.agent.spans.append((self._entered, time.time(), "copy mode"))
        self._entered = None
        return self.rng.uniform(0.5, 6)

    def end(self, now: float) -> None:
        if self._entered is not None:
            self.act(now)
        self.next_at = float("inf")


TROUBLES: dict[str | None, type[Trouble]] = {
    None: Trouble,
    "question": Question,
    "draft": Draft,
    "crash": Crash,
    "resize": Resize,
    "copymode": CopyMode,
}
