"""``make demo``: a whole fleet at work, told as a story.

A tmux server and a database of their own, and scripted agents in the place of models; the
messages, the panes and the answers are real. Exits 0 if every message was acknowledged and every
question answered.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import datetime
from typing import NamedTuple

from cafleet.broker import messages
from cafleet.records import MessageRecord, MessageState
from cafleet.store.guard import open_database
from demo.stage import Stage, StageError

_ANSWER_SECONDS = 40.0
_PATIENCE_SECONDS = 2.5
_PROMPT = (
    "You are member {member_id} of fleet {fleet_id}; your Director is member {director_member_id}. "
    "Wait for messages."
)
_TASK = "Please count the words of this message and tell me how many there are."
_NEWS = "The release is tomorrow; who has read this?"


class Member(NamedTuple):
    member_id: int
    name: str
    pane: str


class Story:
    """Does what is told, on ``stage``."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._began = time.monotonic()
        self._bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._members: dict[int, Member] = {}

    def tell(self) -> None:
        """The whole story.

        Raises:
            StageError: something in it did not come true.
        """
        self._chapter("1. A database, and a Director in the first pane of a new tmux server")
        self._run("setup")
        self._fleet_id, director = self._found()
        self._gather(director)
        self._talk(director)
        self._show()
        self._come_back(director)
        self._chapter("9. The end")
        self._run("fleet", "delete", self._fleet_id, "--kill-panes")
        deliveries = self._deliveries()
        self._say(
            f"{len(self._members)} agents exchanged {len(deliveries)} messages, "
            f"{len(_answers(deliveries))} of them answers; all were acknowledged. "
            f"It took {time.monotonic() - self._began:.0f} s."
        )

    def _found(self) -> tuple[str, str]:
        """Found the fleet; its id and its Director's."""
        self._chapter("2. The Director founds a fleet; a monitor starts in a pane beside it")
        said = self._run("fleet", "create", "--name", "demo", "--coding-agent", "claude")
        match = re.match(r"(\d+) director=(\d+) monitor=\d+", said)
        if match is None:
            raise StageError(f"`fleet create` was expected to name its ids, and said {said!r}")
        return match[1], match[2]

    def _gather(self, director: str) -> None:
        self._chapter("3. Two members join, one in Claude Code's place, one in Codex's")
        for name, agent, work in (("alice", "claude", "Counts words"), ("bob", "codex", "Reads")):
            wishes = ["--name", name, "--description", work, "--coding-agent", agent]
            self._run("member", "create", "--fleet-id", self._fleet_id, *wishes, _PROMPT)
        self._look_up_panes()
        self._until_all_rest()
        self._say("The Director was there before the fleet, so it is told who it is:")
        self._run("member", "prompt", director, f"You are member {director}.")

    def _look_up_panes(self) -> None:
        for row in json.loads(self._stage.cafleet("member", "list", self._fleet_id, "--json")):
            member = Member(row["member_id"], row["name"], row["placement"]["mux_pane_id"])
            self._members[member.member_id] = member

    def _talk(self, director: str) -> None:
        _, _, alice, *_ = self._members
        self._chapter("4. A message: stored, then noticed in alice's pane, since alice is at rest")
        sender = ["--from-member-id", director]
        self._run("message", "send", *sender, "--to-member-id", str(alice), _TASK)
        self._wait(lambda: self._shows_notice(alice), "the notice was typed into alice's pane")
        self._say("Alice's pane, a moment later:")
        # Her answer may have come by then; the notice stands above it.
        self._capture(alice, lines=40)
        self._until_answered(2)
        self._chapter("5. A broadcast to everybody else")
        self._run("message", "broadcast", *sender, _NEWS)
        self._until_answered(2 + 2 * (len(self._members) - 1))

    def _show(self) -> None:
        self._until_all_rest()
        self._chapter(
            "6. What was said, and the roster with what the last look at each screen found"
        )
        for message in self._deliveries():
            self._say(self._line(message))
        self._run("member", "list", self._fleet_id)
        self._chapter("7. What the panes show")
        for member_id in self._members:
            self._capture(member_id)

    def _come_back(self, director: str) -> None:
        self._chapter("8. tmux is killed with everything in it, and the fleet comes back")
        self._stage.kill_tmux()
        self._run("fleet", "resume", self._fleet_id)
        self._look_up_panes()
        self._until_all_rest()
        self._say("The same members under the same ids, and what was said is kept. Bob is asked:")
        _, _, _, bob = self._members
        count = len(self._deliveries())
        ids = ("--from-member-id", director, "--to-member-id", str(bob))
        self._run("message", "send", *ids, "Are you back?")
        self._until_answered(count + 2)

    def _capture(self, member_id: int, *, lines: int = 18) -> None:
        self._run("member", "capture", str(member_id), "--lines", str(lines))

    # Waiting

    def _rests(self, member_id: int) -> bool:
        screen = self._stage.screen(self._members[member_id].pane)
        return "? for shortcuts" in screen and "esc to interrupt" not in screen

    def _shows_notice(self, member_id: int) -> bool:
        return "[cafleet msg " in self._stage.screen(self._members[member_id].pane)

    def _until_all_rest(self) -> None:
        self._wait(lambda: all(map(self._rests, self._members)), "the agents came to rest")

    def _until_answered(self, count: int) -> None:
        """Wait for ``count`` deliveries, all acknowledged; a reader that rests is pinged."""
        began = quiet_since = time.monotonic()
        seen = self._deliveries()
        known = len(_answers(seen))

        def answered() -> bool:
            nonlocal seen, quiet_since
            deliveries = self._deliveries()
            waiting = _open(deliveries)
            if deliveries != seen or not all(self._rests(one.owner_member_id) for one in waiting):
                seen, quiet_since = deliveries, time.monotonic()
            elif time.monotonic() - quiet_since > _PATIENCE_SECONDS:
                self._wake(waiting)
                quiet_since = time.monotonic()
            return len(deliveries) == count and not waiting

        self._wait(answered, f"{count} messages were stored and acknowledged")
        self._say(f"Answered after {time.monotonic() - began:.1f} s:")
        for message in _answers(seen)[known:]:
            self._say(self._line(message))

    def _wake(self, waiting: list[MessageRecord]) -> None:
        for member_id in sorted({message.owner_member_id for message in waiting}):
            name = self._members[member_id].name
            self._say(f"{name} was at work when a notice came; a ping asks it to read now:")
            self._run("member", "ping", str(member_id))

    def _wait(self, probe: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _ANSWER_SECONDS
        while not probe():
            if time.monotonic() > deadline:
                raise StageError(f"not within {_ANSWER_SECONDS:.0f} s: {what}")
            time.sleep(0.1)

    def _deliveries(self) -> list[MessageRecord]:
        """All deliveries of the fleet, the oldest first."""
        with closing(open_database(str(self._stage.database))) as connection:
            timeline = messages.timeline(connection, fleet_id=int(self._fleet_id))
        return sorted(timeline, key=lambda message: message.message_id)

    # Telling

    def _chapter(self, title: str) -> None:
        print(f"\n\x1b[1m{title}\x1b[0m\n" if self._bold else f"\n{title}\n", flush=True)

    def _say(self, text: str) -> None:
        print(f"  {text}", flush=True)

    def _run(self, *arguments: str) -> str:
        """Run ``cafleet``, show the command and its output, and return that."""
        self._say(f"$ {shlex.join(['cafleet', *arguments])}")
        output = self._stage.cafleet(*arguments)
        for line in output.splitlines():
            self._say(f"  │ {line}")
        return output

    def _line(self, message: MessageRecord) -> str:
        """One delivery: who to whom, the body, and how long its acknowledgement took."""
        sender, reader = (
            self._members[one].name for one in (message.from_member_id, message.owner_member_id)
        )
        sent, read = map(datetime.fromisoformat, (message.created_at, message.status_timestamp))
        waited = f"acknowledged after {(read - sent).total_seconds():.1f} s"
        return f"[{message.message_id}] {sender} → {reader}: {message.text}  ({waited})"


def _open(deliveries: Iterable[MessageRecord]) -> list[MessageRecord]:
    return [one for one in deliveries if one.status_state is MessageState.INPUT_REQUIRED]


def _answers(deliveries: Iterable[MessageRecord]) -> list[MessageRecord]:
    return [one for one in deliveries if one.text.startswith("re:")]


def main() -> int:
    """Play it once; the exit status."""
    try:
        with Stage() as stage:
            print("Nothing of yours is touched: all of this happens in", stage.folder)
            Story(stage).tell()
    except StageError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
