"""The operations that agents ask for all day, on a population of :mod:`tests.bench.population`."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from cafleet.broker import members, messages
from tests.bench.population import CROWD_SIZE, FLEETS, MEMBERS_PER_FLEET

NOW = datetime(2026, 12, 1, tzinfo=UTC)
_FIRST_OF_CROWD = FLEETS * MEMBERS_PER_FLEET + 1
_NAMED = random.Random(7).sample(range(1, _FIRST_OF_CROWD + CROWD_SIZE), 500)
CROWD_DIRECTOR = _FIRST_OF_CROWD
# All of either population is older.
_PAGE = messages.Page(before=10**9, limit=50)


@dataclass(frozen=True)
class Read:
    """``ask`` returns the same number of things, ``size``, whatever the number of messages."""

    name: str
    size: int
    ask: Callable[[sqlite3.Connection], Sequence[object] | dict[int, str]]


def _history(conn: sqlite3.Connection, member_id: int | None) -> Sequence[object]:
    # Nobody of the eleventh fleet has said anything yet.
    fleet_id = 4 if member_id is not None else FLEETS + 1
    return messages.history(conn, fleet_id=fleet_id, member_id=member_id, page=_PAGE)


READS = (
    Read("poll", 20, lambda conn: messages.poll(conn, member_id=35)),
    Read("roster", 10, lambda conn: members.roster(conn, fleet_id=4)),
    Read("member list", 10, lambda conn: members.list_activity(conn, fleet_id=4, now=NOW)),
    Read("timeline", 200, lambda conn: messages.timeline(conn, fleet_id=4)),
    Read("inbox page", 50, lambda conn: messages.inbox(conn, member_id=35, page=_PAGE)),
    Read("sent page", 50, lambda conn: messages.sent(conn, member_id=35, page=_PAGE)),
    Read("timeline page", 50, lambda conn: messages.timeline(conn, fleet_id=4, page=_PAGE)),
    Read("history of a member", 50, lambda conn: _history(conn, 35)),
    Read("history of a silent fleet", 0, lambda conn: _history(conn, None)),
    Read("500 names", 500, lambda conn: members.names(conn, member_ids=_NAMED)),
)


def send(conn: sqlite3.Connection) -> None:
    messages.send(conn, sender_id=33, recipient_id=34, text="please look again", now=NOW)


def ack(conn: sqlite3.Connection, message_id: int) -> None:
    messages.ack(conn, message_id=message_id, now=NOW)


def broadcast(conn: sqlite3.Connection) -> None:
    messages.broadcast(conn, sender_id=CROWD_DIRECTOR, text="stop and poll", now=NOW)
