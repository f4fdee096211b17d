"""Which version of the skills and presets was installed where."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cafleet import __version__, clock
from cafleet.errors import DatabaseError
from cafleet.records import CodingAgent
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction
from cafleet.store.guard import table_names
from cafleet.store.rows import AssetInstallRow


def installs(conn: Connection) -> Sequence[AssetInstallRow]:
    """Every recorded installation, by agent and path; none where there is no table for them."""
    try:
        return queries.list_asset_installs(conn)
    except DatabaseError:
        if "asset_installs" in table_names(conn):
            raise
        return []


def record_install(
    conn: Connection, *, coding_agent: CodingAgent, path: str, now: datetime
) -> None:
    """Record that this program's assets for an agent are at ``path``."""
    with transaction(conn):
        queries.upsert_asset_install(
            conn,
            coding_agent=coding_agent,
            path=path,
            cafleet_version=__version__,
            now=clock.stamp(now),
        )
