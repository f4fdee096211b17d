"""``make demo``: a whole fleet at work, told as a story.

A tmux server and a database of their own, and scripted agents in the place of models; the
messages, the panes and the answers are real. Exits 0 if every message was acknowledged and every
question answered.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import datetime
from typing import Any, NamedTuple

from cafleet.broker import messages
from cafleet.records import MessageRecord, MessageState
from cafleet.store.guard import open_database
from demo.stage import Stage, StageError

_ANSWER_SECONDS = 12.0
_PATIENCE_SECONDS = 2.5
_PROMPT = (
    "You are member {member_id} of fleet {fleet_id}; your Director is member {director_member_id}. "
    "Wait for messages."
)
_TASK = "Please count the words of this message and tell me how many there are."
_NEWS = "The release is tomorrow; who has read this?"


class Fleet(NamedTuple):
    fleet_id: int
    names: dict[int, str]


class Story:
    """Does what is told, on ``stage``."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._began = time.monotonic()
        self._bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def tell(self) -> None:
        """The whole story.

        Raises:
            StageError: something in it did not come true.
        """
        self._chapter("1. A database, and a Director in the first pane of a new tmux server")
        self._run("setup")
        fleet = self._found()
        self._talk(fleet)
        self._show(fleet)
        self._chapter("8. The end")
        self._run("fleet", "delete", str(fleet.fleet_id), "--kill-panes")
        deliveries = self._deliveries(fleet)
        answers = sum(message.text.startswith("re:") for message in deliveries)
        self._say(
            f"{len(fleet.names)} agents exchanged {len(deliveries)} messages, {answers} of them "
            f"answers; all were acknowledged. It took {time.monotonic() - self._began:.0f} s."
        )

    def _found(self) -> Fleet:
        self._chapter("2. The Director founds a fleet; a monitor starts in a pane beside it")
        created = self._run_json(
            "fleet", "create", "--name", "demo", "--coding-agent", "claude", "--json"
        )
        fleet = Fleet(created["fleet_id"], {})
        for role in ("director", "monitor"):
            fleet.names[created[role]["member_id"]] = created[role]["name"]
        self._chapter("3. Two members join, one in Claude Code's place, one in Codex's")
        for name, agent, work in (("alice", "claude", "Counts words"), ("bob", "codex", "Reads")):
            wishes = ["--name", name, "--description", work, "--coding-agent", agent]
            where = ["--fleet-id", str(fleet.fleet_id)]
            member = self._run_json("member", "create", *where, *wishes, "--json", "--", _PROMPT)
            fleet.names[member["member_id"]] = name
        director = created["director"]["member_id"]
        self._say("The Director was there before the fleet, so it is told who it is:")
        self._resting(fleet, [director])
        self._run("member", "prompt", str(director), f"You are member {director}.")
        return fleet

    def _talk(self, fleet: Fleet) -> None:
        director, _, alice, *_ = fleet.names
        self._resting(fleet, list(fleet.names))
        self._chapter("4. A message: stored, then noticed in alice's pane, since alice is at rest")
        sender = ["--from-member-id", str(director)]
        self._run("message", "send", *sender, "--to-member-id", str(alice), _TASK)
        self._until_answered(fleet, 2)
        self._chapter("5. A broadcast to everybody else")
        self._run("message", "broadcast", *sender, _NEWS)
        self._until_answered(fleet, 2 + 2 * (len(fleet.names) - 1))

    def _show(self, fleet: Fleet) -> None:
        self._chapter("6. What was said, and who is idle since when")
        for message in self._deliveries(fleet):
            self._say(_line(message, fleet))
        self._run("member", "list", str(fleet.fleet_id))
        self._chapter("7. What the panes show")
        for member_id in fleet.names:
            self._run("member", "capture", str(member_id), "--lines", "18")

    # Waiting

    def _resting(self, fleet: Fleet, members: list[int]) -> None:
        """Wait until the agents have drawn their composers: what starts is not typed into."""
        hints = ("? for shortcuts", "ctrl+p commands")

        def at_rest() -> bool:
            screens = (self._stage.cafleet("member", "capture", str(one)) for one in members)
            return all(any(hint in screen for hint in hints) for screen in screens)

        self._wait(at_rest, f"the agents of {members} came to rest")

    def _until_answered(self, fleet: Fleet, count: int) -> None:
        """Wait for ``count`` deliveries, all acknowledged; who dozes over a held notice is pinged."""
        began = quiet_since = time.monotonic()
        seen: list[MessageRecord] = []

        def answered() -> bool:
            nonlocal seen, quiet_since
            deliveries = self._deliveries(fleet)
            if deliveries != seen:
                seen, quiet_since = deliveries, time.monotonic()
            if len(seen) == count and not _open(seen):
                return True
            if time.monotonic() - quiet_since > _PATIENCE_SECONDS:
                self._wake(_open(seen))
                quiet_since = time.monotonic()
            return False

        self._wait(answered, f"{count} messages were acknowledged")
        self._say(f"Answered after {time.monotonic() - began:.1f} s:")
        for message in seen[-count // 2 :]:
            self._say(_line(message, fleet))

    def _wake(self, waiting: list[MessageRecord]) -> None:
        for member_id in sorted({message.owner_member_id for message in waiting}):
            self._say("A notice was held, for its reader was at work; a ping asks it to read:")
            self._run("member", "ping", str(member_id))

    def _wait(self, probe: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _ANSWER_SECONDS
        while not probe():
            if time.monotonic() > deadline:
                raise StageError(f"not within {_ANSWER_SECONDS:.0f} s: {what}")
            time.sleep(0.1)

    def _deliveries(self, fleet: Fleet) -> list[MessageRecord]:
        """All deliveries of the fleet, the oldest first."""
        with closing(open_database(str(self._stage.database))) as connection:
            timeline = messages.timeline(connection, fleet_id=fleet.fleet_id)
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

    def _run_json(self, *arguments: str) -> Any:
        return json.loads(self._run(*arguments))


def _open(deliveries: Iterable[MessageRecord]) -> list[MessageRecord]:
    return [one for one in deliveries if one.status_state is MessageState.INPUT_REQUIRED]


def _line(message: MessageRecord, fleet: Fleet) -> str:
    """One delivery: who to whom, the body, and how long it waited for its acknowledgement."""
    sender, reader = fleet.names[message.from_member_id], fleet.names[message.owner_member_id]
    created, changed = map(datetime.fromisoformat, (message.created_at, message.status_timestamp))
    waited = f"acknowledged after {(changed - created).total_seconds():.1f} s"
    return f"[{message.message_id}] {sender} → {reader}: {message.text}  ({waited})"


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
