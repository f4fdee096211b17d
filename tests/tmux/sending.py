"""Sends of messages by the installed program, one at a time or many at once."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

from tests.harness.database import Database
from tests.harness.fleet import Seat
from tests.harness.loops import settled
from tests.harness.program import Program

MONITOR = 2


def start_send(
    cafleet: Program,
    seat: Seat,
    text: str,
    *options: str,
    sender: int = MONITOR,
    env: Mapping[str, str | None] | None = None,
) -> subprocess.Popen[bytes]:
    """Begin to send ``text`` to the member in ``seat``; does not wait."""
    people = ["--from-member-id", str(sender), "--to-member-id", str(seat.member_id)]
    return cafleet.start("message", "send", *people, *options, "--json", "--", text, env=env)


def send(cafleet: Program, seat: Seat, text: str, *options: str, **more: Any) -> dict[str, Any]:
    """Send ``text``; the state and the reason of its notice once the courier has looked."""
    sent = cafleet.finish(start_send(cafleet, seat, text, *options, **more)).json()
    assert sent["message"]["text"] == text
    return settled(
        Database.at(cafleet.environment["CAFLEET_DATABASE_URL"]), sent["message"]["message_id"]
    )


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
