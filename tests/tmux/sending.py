"""Sends of messages by the installed program, one at a time or many at once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.harness.database import Database
from tests.harness.fleet import Seat
from tests.harness.loops import settled
from tests.harness.program import Program, Result

MONITOR = 2
ROOT = Path(__file__).parents[2]


def start_send(
    cafleet: Program,
    seat: Seat,
    text: str,
    *options: str,
    sender: int = MONITOR,
    env: Mapping[str, str | None] | None = None,
) -> subprocess.Popen[bytes]:
    """Begin to send ``text`` to the member in ``seat``; does not wait."""
    return cafleet.start(*_sending(seat, text, *options, sender=sender), env=env)


def send(
    cafleet: Program,
    seat: Seat,
    text: str,
    *options: str,
    sender: int = MONITOR,
    env: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """Send ``text``; the state and the reason of its notice once the courier has looked."""
    result = cafleet.run(*_sending(seat, text, *options, sender=sender), env=env)
    return _settled(cafleet, result)


def outcome(cafleet: Program, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The same for what :func:`start_send` began."""
    return _settled(cafleet, cafleet.finish(process))


def _sending(seat: Seat, text: str, *options: str, sender: int) -> list[str]:
    people = ["--from-member-id", str(sender), "--to-member-id", str(seat.member_id)]
    return ["message", "send", *people, *options, "--json", "--", text]


def _settled(cafleet: Program, result: Result) -> dict[str, Any]:
    return settled(database_of(cafleet), result.json()["message"]["message_id"])


def broadcast(cafleet: Program, text: str, *, sender: int = 1) -> dict[str | None, int]:
    """Send ``text`` to everybody else; how many notices are in which state, the courier having looked."""
    people = ["--from-member-id", str(sender)]
    sent = cafleet.run("message", "broadcast", *people, "--json", text).json()
    database = database_of(cafleet)
    deliveries = database.rows(
        "SELECT message_id FROM messages WHERE origin_message_id = ? AND type = 'unicast'",
        sent["message"]["message_id"],
    )
    assert sent["recipients"] == len(deliveries)
    return dict(Counter(settled(database, message_id)["state"] for (message_id,) in deliveries))


def database_of(cafleet: Program) -> Database:
    """The database that the program uses in its environment."""
    home = Path(cafleet.environment["HOME"])
    default = f"sqlite:///{home / '.local/share/cafleet/cafleet.db'}"
    return Database.at(cafleet.environment.get("CAFLEET_DATABASE_URL", default))


def start_pass(
    cafleet: Program, seat: Seat, *, env: Mapping[str, str | None] | None = None
) -> subprocess.Popen[bytes]:
    """Begin one pass of a courier for the member in ``seat``, whose fleet's loop is stopped."""
    database = Database.at(cafleet.environment["CAFLEET_DATABASE_URL"])
    return subprocess.Popen(
        [sys.executable, "-m", "tests.tmux.one_pass", str(database.path), str(seat.member_id)],
        env={**cafleet.environment, **(env or {})},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def queue(cafleet: Program, seat: Seat, text: str) -> None:
    """Send ``text`` where the fleet's loop is stopped; it is queued, and its sender warned."""
    sent = cafleet.finish(start_send(cafleet, seat, text)).json()
    assert sent["delivery"] == {"state": "queued", "reason": None}


def states(database: Database, seat: Seat) -> dict[str, str]:
    """What became of the notices of a member's messages, by their text."""
    rows = database.rows(
        "SELECT text, delivery_state FROM messages WHERE owner_member_id = ?", seat.member_id
    )
    return dict(rows)


def frames(seat: Seat) -> list[str]:
    """What was submitted in a pane after its spawn prompt; every byte of it a paste or an Enter.

    Fails when a byte is left over, or when a text came without its Enter behind it.
    """
    submits = seat.recording.submits()[1:]
    typed = seat.recording.typed().decode()
    assert typed == "".join(f"{text}\r" for text in submits)
    assert "\x1b" not in typed
    return submits
