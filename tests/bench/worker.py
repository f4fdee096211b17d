"""One of many processes that send together; started by :mod:`tests.bench.workers`.

Arguments: ``program`` or ``bare``, the database, the worker's number, how many messages, the sender
and the recipient. It says that it is ready, waits for a line, and prints how many it has sent.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing

from cafleet.clock import stamp, utc_now
from cafleet.operations import sending
from cafleet.store.connection import connect

_INSERT = """
INSERT INTO messages (
    owner_member_id, from_member_id, to_member_id, type, created_at, status_state,
    status_timestamp, text, delivery_state, urgent
) VALUES (?, ?, ?, 'unicast', ?, 'input_required', ?, ?, 'queued', 0)
"""


def main() -> None:
    how, path = sys.argv[1:3]
    number, count, sender, recipient = map(int, sys.argv[3:])
    send = {"program": _send, "bare": _insert}[how]
    with closing(connect(path)) as conn:
        if how == "bare":
            # The program waits its turn; a bare insert is merely lucky or not, and must not give up.
            conn.execute("PRAGMA busy_timeout = 120000")
        print("ready", flush=True)
        sys.stdin.readline()
        for turn in range(count):
            send(conn, sender, recipient, f"{how} {number} {turn}")
    print(count, flush=True)


def _send(conn: sqlite3.Connection, sender: int, recipient: int, text: str) -> None:
    sent = sending.send(
        conn, sender_id=sender, recipient_id=recipient, text=text, urgent=False, wait=None
    )
    assert sent.warnings == [], sent.warnings


def _insert(conn: sqlite3.Connection, sender: int, recipient: int, text: str) -> None:
    now = stamp(utc_now())
    conn.execute("BEGIN IMMEDIATE")
    conn.execute(_INSERT, (recipient, sender, recipient, now, now, text))
    conn.execute("COMMIT")


if __name__ == "__main__":
    main()
