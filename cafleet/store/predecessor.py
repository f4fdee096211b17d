"""Databases of the published Python program. alembic keeps their history."""

from __future__ import annotations

import sqlite3

import msgspec

from cafleet.store import queries
from cafleet.store.catalogue import columns

# Which release of the program left which revision as its last (read from its wheels). Those before
# 0.18 numbered from 0001 too.
_RELEASES = {
    "0001": "0.18.0",
    "0002": "0.18",
    "0003": "0.18 to 0.20",
    "0004": "0.21.0",
    "0005": "0.21.1",
    "0006": "0.22",
}
# What the import reads. The other tables and columns have no place here.
NEEDED = {
    "fleets": {"fleet_id", "name", "created_at", "deleted_at", "director_member_id"},
    "members": {
        "member_id",
        "fleet_id",
        "name",
        "description",
        "status",
        "registered_at",
        "deregistered_at",
        "member_card_json",
    },
    "member_placements": {
        "member_id",
        "mux_session",
        "mux_window_id",
        "mux_pane_id",
        "backend",
        "coding_agent",
        "created_at",
    },
    "messages": {
        "message_id",
        "owner_member_id",
        "from_member_id",
        "to_member_id",
        "type",
        "created_at",
        "status_state",
        "status_timestamp",
        "origin_message_id",
        "text",
    },
}


class Predecessor(msgspec.Struct, frozen=True, kw_only=True):
    """``revision`` is alembic's; null where it has recorded none."""

    revision: str | None
    is_importable: bool

    def __str__(self) -> str:
        releases = _RELEASES.get(self.revision or "") if self.is_importable else "older than 0.18"
        named = f"cafleet {releases}" if releases else "cafleet"
        return f"the published Python {named} (alembic revision {self.revision or 'none'})"


def describe(conn: sqlite3.Connection) -> Predecessor | None:
    """The schema of the Python program that the database has. None if it is another program's.

    Raises:
        DatabaseError: it cannot be read.
    """
    if "version_num" not in columns(conn, "alembic_version"):
        return None
    is_importable = all(needed <= columns(conn, table) for table, needed in NEEDED.items())
    if not is_importable and "agent_card_json" not in columns(conn, "agents"):
        return None
    revisions = [row.version_num for row in queries.list_alembic_revisions(conn)]
    return Predecessor(revision=revisions[0] if revisions else None, is_importable=is_importable)


def unknown_revisions(conn: sqlite3.Connection) -> list[str]:
    """The revisions in the database that no release has, and all but the first of several.

    Raises:
        DatabaseError: it cannot be read.
    """
    revisions = [row.version_num for row in queries.list_alembic_revisions(conn)]
    return [each for at, each in enumerate(revisions) if at or each not in _RELEASES]
