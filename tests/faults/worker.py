"""One process of a message soak, which may be killed at any moment.

    python -m tests.faults.worker ROLE NAME FOLDER SEED COUNT

It works on the database of its environment and appends to ``FOLDER/NAME.jsonl``: a line before each
step that counts, and one after it with what came of it. A line is one write, so that what a killed
process has written is whole.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from cafleet.broker import deliveries, fleets, members, messages
from cafleet.cli.session import open_session
from cafleet.clock import utc_now
from cafleet.errors import CafleetError, RefusedError
from cafleet.operations import sending
from tests.harness.program import CAFLEET

# The file in the folder whose presence ends those who would go on for ever.
STOP = "stop"
_BROADCASTS = 0.01
_KILLED_COMMANDS = 0.3
_SECONDS = 120.0
# Agents do something else between two looks at their messages.
_REST_SECONDS = 0.4
_BODY = " with some words for a body, and 日本語 🙂" * 3


class Worker:
    """A role is one of its public methods but :meth:`note`; there is one fleet, and nobody leaves."""

    def __init__(self, name: str, folder: Path, seed: str, count: int) -> None:
        self._name = name
        self._stop = folder / STOP
        self._rng = random.Random(seed)
        self._count = count
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._journal = os.open(folder / f"{name}.jsonl", flags, 0o600)
        self._serial = f"{name} {os.getpid()} "

    def note(self, **what: Any) -> None:
        os.write(self._journal, json.dumps(what).encode() + b"\n")

    def send(self) -> None:
        """COUNT messages over one connection, a few of them broadcasts."""
        with open_session() as conn:
            everybody = _everybody(conn)
            for number in range(self._count):
                text = f"{self._serial}{number}{_BODY}"
                sender, recipient = self._rng.choices(everybody, k=2)
                with self._told(text):
                    if self._rng.random() < _BROADCASTS:
                        self.note(casting=text)
                        cast = sending.broadcast(
                            conn, sender_id=sender, text=text, urgent=False, wait=None
                        )
                        self.note(cast=text, id=cast.message.message_id, ids=[*cast.deliveries])
                    else:
                        self.note(sending=text)
                        sent = sending.send(
                            conn,
                            sender_id=sender,
                            recipient_id=recipient,
                            text=text,
                            urgent=False,
                            wait=None,
                        )
                        self.note(sent=text, id=sent.message.message_id)

    def read(self) -> None:
        """Poll for somebody and acknowledge some of what is there, each time as a new command."""
        while not self._stop.exists():
            with self._told(), open_session() as conn:
                reader = self._rng.choice(_everybody(conn))
                ids = [each.message_id for each in messages.poll(conn, member_id=reader)]
                deliveries.mark_seen(conn, message_ids=ids, now=utc_now())
                for message_id in self._rng.sample(ids, min(len(ids), 40)):
                    self.note(acking=message_id)
                    try:
                        done = messages.ack(conn, message_id=message_id, now=utc_now())
                    except RefusedError:
                        self.note(beaten=message_id)
                    else:
                        self.note(acked=message_id, at=done.status_timestamp)
            time.sleep(self._rng.uniform(0, _REST_SECONDS))

    def look(self) -> None:
        """List whatever can be listed, over one connection."""
        with open_session() as conn:
            [fleet] = fleets.list_fleets(conn)[0]
            while not self._stop.exists():
                with self._told():
                    member_id = self._rng.choice(_everybody(conn))
                    members.list_activity(conn, fleet_id=fleet.fleet_id, now=utc_now())
                    found = messages.timeline(conn, fleet_id=fleet.fleet_id)
                    deliveries.life_lines(conn, message_ids=[each.message_id for each in found])
                    messages.inbox(conn, member_id=member_id)
                    messages.sent(conn, member_id=member_id)
                time.sleep(self._rng.uniform(0, _REST_SECONDS))

    def command(self) -> None:
        """COUNT messages by the installed program, some of whose processes are killed."""
        with open_session() as conn:
            everybody = _everybody(conn)
        for number in range(self._count):
            text = f"{self._serial}{number}"
            sender, recipient = (str(each) for each in self._rng.choices(everybody, k=2))
            people = ["--from-member-id", sender, "--to-member-id", recipient]
            self.note(sending=text)
            process = subprocess.Popen(
                [CAFLEET, "message", "send", *people, "--json", "--", text],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            killer = threading.Timer(self._rng.uniform(0.05, 1.0), process.kill)
            if self._rng.random() < _KILLED_COMMANDS:
                killer.start()
            out, err = process.communicate(timeout=_SECONDS)
            killer.cancel()
            if process.returncode == 0:
                self.note(sent=text, id=json.loads(out)["message"]["message_id"])
            elif process.returncode < 0:
                self.note(killed=text)
            else:
                self.note(refused=text, error=err.decode())

    @contextmanager
    def _told(self, text: str | None = None) -> Iterator[None]:
        """Write down what fails; ``text`` is then not to be stored."""
        began = time.monotonic()
        try:
            yield
        except CafleetError as error:
            words = f"{self._name}, after {time.monotonic() - began:.3f} s: {error}"
            self.note(refused=text, error=words)


ROLES: dict[str, Callable[[Worker], None]] = {
    "send": Worker.send,
    "read": Worker.read,
    "look": Worker.look,
    "command": Worker.command,
}


def _everybody(conn: Connection) -> list[int]:
    [fleet] = fleets.list_fleets(conn)[0]
    return [each.member_id for each in members.list_active(conn, fleet_id=fleet.fleet_id)]


def journal(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """What a worker, and those that took its place, have written down."""
    path = folder / f"{name}.jsonl"
    data = path.read_bytes() if path.exists() else b""
    return map(json.loads, data.splitlines())


def notes(folder: Path, name: str) -> int:
    """How many notes that are."""
    path = folder / f"{name}.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


if __name__ == "__main__":
    role, name, folder, seed, count = sys.argv[1:]
    ROLES[role](Worker(name, Path(folder), seed, int(count)))
