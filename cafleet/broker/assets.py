"""Which version of the skills and presets was installed where."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from cafleet import __version__, clock
from cafleet.errors import DatabaseError
from cafleet.records import CodingAgent
from cafleet.store import Connection, queries
from cafleet.store.access import each
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


class DamagedInstall(msgspec.Struct, frozen=True, kw_only=True):
    """A row that cannot be used. Its key as it is stored, and a sentence on what is wrong."""

    coding_agent: object
    path: object
    fault: str


def readable_installs(
    conn: Connection,
) -> tuple[Sequence[AssetInstallRow], Sequence[DamagedInstall]]:
    """The same, where a damaged row hides no other; raises DatabaseError if nothing can be read."""
    try:
        sound, damaged = each(conn, "asset_installs", "list_asset_installs", AssetInstallRow)
    except DatabaseError:
        if "asset_installs" in table_names(conn):
            raise
        return [], []
    return sound, [
        DamagedInstall(coding_agent=row["coding_agent"], path=row["path"], fault=fault)
        for row, fault in damaged
    ]


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
