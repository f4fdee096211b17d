"""A process that sends and reads messages as the program does, without the cost of its start.

Jobs come as lines of JSON: ``{"sender", "recipient", "text", "urgent"}`` to send, ``{"reader",
"ack"}`` to poll and perhaps acknowledge. A line of JSON answers each: ``{"message_id"}``,
``{"count"}``, or ``{"error"}`` where the program would have failed.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

from cafleet.broker import deliveries, messages
from cafleet.cli.session import open_session
from cafleet.clock import utc_now
from cafleet.errors import CafleetError, RefusedError
from cafleet.operations import sending


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = _send(job) if "text" in job else _read(job)
        except CafleetError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


def _send(job: dict[str, Any]) -> dict[str, Any]:
    with open_session() as conn:
        sent = sending.send(
            conn,
            sender_id=job["sender"],
            recipient_id=job["recipient"],
            text=job["text"],
            urgent=job["urgent"],
            wait=None,
        )
    return {"message_id": sent.message.message_id}


def _read(job: dict[str, Any]) -> dict[str, Any]:
    with open_session() as conn:
        ids = [each.message_id for each in messages.poll(conn, member_id=job["reader"])]
        deliveries.mark_seen(conn, message_ids=ids, now=utc_now())
        for message_id in ids if job["ack"] else []:
            with suppress(RefusedError):  # another reader was quicker
                messages.ack(conn, message_id=message_id, now=utc_now())
    return {"count": len(ids)}


if __name__ == "__main__":
    main()
