"""What the tests of the page have in their registries."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from cafleet.clock import stamp
from tests.harness.program import Program
from tests.harness.registry import NOW, Registry

DIRECTOR, MONITOR, ANN, BOB = 1, 2, 3, 4
NAMES = ("ann", "bob")


def send(program: Program, text: str, *, sender: int = ANN, recipient: int = DIRECTOR) -> int:
    """Send by the installed program; the id of the message."""
    ends = ("--from-member-id", str(sender), "--to-member-id", str(recipient))
    sent: dict[str, Any] = program.run("message", "send", *ends, "--json", "--", text).json()
    return int(sent["message"]["message_id"])


def after(seconds: float) -> str:
    """A timestamp so many seconds after the registry's own time."""
    return stamp(NOW + timedelta(seconds=seconds))


def past_messages(registry: Registry, count: int, *, sender: int = ANN) -> None:
    """Acknowledged messages to the Director, `past 1` the oldest, a minute apart."""
    for number in range(1, count + 1):
        at = after(60 * number)
        registry.message(
            sender,
            DIRECTOR,
            f"past {number}",
            created_at=at,
            status_timestamp=at,
            status_state="completed",
            delivery_state="seen",
        )


def past_broadcast(registry: Registry, text: str, recipients: dict[int, str | None]) -> int:
    """A broadcast of the Director, by recipient the time of the ACK or None; the summary's id."""
    summary = registry.message(
        DIRECTOR,
        DIRECTOR,
        f"Broadcast sent to {len(recipients)} recipients",
        type="broadcast_summary",
        to_member_id=None,
        status_state="completed",
    )
    registry.rows(
        "UPDATE messages SET origin_message_id = message_id WHERE message_id = ?", summary
    )
    for recipient, acked_at in recipients.items():
        done = {} if acked_at is None else {"status_state": "completed"}
        at = after(0) if acked_at is None else acked_at
        registry.message(
            DIRECTOR, recipient, text, origin_message_id=summary, status_timestamp=at, **done
        )
    return summary
