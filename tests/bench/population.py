"""Databases of a given number of messages, the same for the same number.

Whatever that number, a member has the same number of messages to acknowledge, so that the same
question has an answer of the same size.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cafleet.broker.cards import write_card
from cafleet.clock import stamp
from cafleet.store.connection import connect
from cafleet.store.migrate import migrate

# Counted up by whoever changes what is built here: databases of another edition are built anew.
EDITION = 1

FLEETS = 10
MEMBERS_PER_FLEET = 10
PENDING = 20
# The eleventh fleet: a Director, and a thousand others to broadcast to.
CROWD = FLEETS + 1
CROWD_SIZE = 1_000

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_WORDS = ["review", "the", "parser", "and", "say", "which", "tests", "of", "it", "still", "fail"]

_INSERT = """
INSERT INTO messages (
    message_id, owner_member_id, from_member_id, to_member_id, type, created_at, status_state,
    status_timestamp, origin_message_id, text, delivery_state
) VALUES (?, ?, ?, ?, ?, ?, 'completed', ?, ?, ?, ?)
"""
_WAITING = f"""
UPDATE messages
SET status_state = 'input_required', status_timestamp = created_at, delivery_state = 'submitted'
WHERE message_id IN (
    SELECT message_id
    FROM (
        SELECT
            message_id,
            row_number() OVER (PARTITION BY owner_member_id ORDER BY message_id DESC) AS age
        FROM messages
        WHERE type = 'unicast'
    )
    WHERE age <= {PENDING}
)
"""
_EVENTS = """
INSERT INTO delivery_events (message_id, at, state)
SELECT message_id, status_timestamp, delivery_state FROM messages WHERE type = 'unicast'
"""


@dataclass(frozen=True)
class Population:
    """A database and whom to ask in it."""

    path: Path
    messages: int

    def open(self) -> sqlite3.Connection:
        """A connection as the program has it."""
        return connect(str(self.path))

    def pending(self) -> list[int]:
        """Messages of the first ten fleets that wait for their acknowledgement, ids ascending."""
        with closing(self.open()) as conn:
            found = conn.execute(
                "SELECT message_id FROM messages WHERE status_state = 'input_required' ORDER BY 1"
            )
            return [message_id for (message_id,) in found]


def populate(path: Path, messages: int) -> Population:
    """Build the database at ``path``, which must not exist yet, with so many messages.

    Fleet f has the members 10f-9…10f, the first its Director and the second its monitor. One send
    in twenty is a broadcast. The last :data:`PENDING` deliveries of each member wait for their ACK.
    """
    migrate(str(path), now=_BEGIN)
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA synchronous = OFF")
        indexes = conn.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'messages'"
        ).fetchall()
        conn.execute("BEGIN")
        for fleet_id in range(1, CROWD + 1):
            _found(conn, fleet_id, CROWD_SIZE if fleet_id == CROWD else MEMBERS_PER_FLEET - 1)
        for name, _ in indexes:
            conn.execute(f"DROP INDEX {name}")
        conn.executemany(_INSERT, _rows(messages))
        conn.execute(_WAITING)
        conn.execute(_EVENTS)
        for _, sql in indexes:
            conn.execute(sql)
        conn.execute("COMMIT")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Population(path, messages)


def _found(conn: sqlite3.Connection, fleet_id: int, others: int) -> None:
    """A fleet of a Director and so many others, each in a pane of a server that nobody runs."""
    at = stamp(_BEGIN)
    director = (fleet_id - 1) * MEMBERS_PER_FLEET + 1
    crew = range(director, director + others + 1)
    conn.execute("INSERT INTO fleets (name, created_at) VALUES ('f', ?)", (at,))
    conn.executemany(
        "INSERT INTO members (fleet_id, name, description, status, registered_at, member_card_json)"
        " VALUES (?, ?, 'd', 'active', ?, ?)",
        [
            (fleet_id, f"m{each}", at, write_card(f"m{each}", "d", monitor=each == director + 1))
            for each in crew
        ],
    )
    conn.execute(
        "UPDATE fleets SET director_member_id = ? WHERE fleet_id = ?", (director, fleet_id)
    )
    conn.executemany(
        "INSERT INTO member_placements (member_id, mux_session, mux_window_id, mux_pane_id,"
        " coding_agent, created_at, mux_socket) VALUES (?, 'main', '@0', ?, 'claude', ?, '/none')",
        [(each, f"%{each}", at) for each in crew],
    )


def _rows(messages: int) -> Iterator[tuple[Any, ...]]:
    rng = random.Random(messages)
    message_id = 1
    while message_id <= messages:
        fleet = rng.randrange(FLEETS)
        crew = range(fleet * MEMBERS_PER_FLEET + 1, (fleet + 1) * MEMBERS_PER_FLEET + 1)
        sender, recipient = rng.sample(crew, 2)
        recipients = [each for each in crew if each != sender]
        text = " ".join(rng.choices(_WORDS, k=rng.randrange(4, 30)))
        sent = _BEGIN + timedelta(seconds=message_id)
        if rng.random() < 0.05 and message_id + len(recipients) <= messages:
            at, origin = stamp(sent), message_id
            yield origin, sender, sender, None, "broadcast_summary", at, at, origin, text, "none"
        else:
            recipients, origin = [recipient], None
        if origin is not None:
            message_id += 1
        for each in recipients:
            acked = stamp(sent + timedelta(seconds=rng.randrange(1, 3600)))
            yield (
                message_id,
                each,
                sender,
                each,
                "unicast",
                stamp(sent),
                acked,
                origin,
                text,
                "seen",
            )
            message_id += 1
