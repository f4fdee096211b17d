"""Which version of the skills and presets was installed where."""

from __future__ import annotations

from datetime import datetime

import msgspec

from cafleet import __version__, clock
from cafleet.broker.composing import records
from cafleet.errors import DatabaseError, IntegrityError
from cafleet.records import AssetInstall, CodingAgent
from cafleet.store import Connection, queries
from cafleet.store.access import each
from cafleet.store.catalogue import table_names
from cafleet.store.connection import transaction
from cafleet.store.rows import AssetInstallRow


class DamagedInstall(msgspec.Struct, frozen=True, kw_only=True):
    """A row that cannot be used: its key as it is stored, and a sentence about the damage."""

    install_id: int
    coding_agent: object
    path: object
    fault: str


def installs(conn: Connection) -> tuple[list[AssetInstall], list[DamagedInstall]]:
    """Every recorded installation, by agent and path, and each damaged row.

    Both are empty if there is no table for them.

    Raises:
        DatabaseError: they cannot be read.
    """
    sound, damaged = stored_installs(conn)
    return records(sound, AssetInstall), damaged


def stored_installs(conn: Connection) -> tuple[list[AssetInstallRow], list[DamagedInstall]]:
    """The same as rows, for the check of the database. Raises as :func:`installs`."""
    try:
        return queries.list_asset_installs(conn), []
    except IntegrityError:
        sound, damaged = each(conn, "asset_installs", "list_asset_installs", AssetInstallRow)
    except DatabaseError:
        if "asset_installs" in table_names(conn):
            raise
        return [], []
    return sound, [
        DamagedInstall(
            install_id=row["install_id"],
            coding_agent=row["coding_agent"],
            path=row["path"],
            fault=fault,
        )
        for row, fault in damaged
    ]


def record_install(
    conn: Connection, *, coding_agent: CodingAgent, path: str, now: datetime
) -> list[str]:
    """Record that this program's assets for an agent are at ``path``.

    Damaged rows of this agent, or of no agent, are deleted. Returns a phrase for each of them.
    """
    others = set(CodingAgent) - {coding_agent}
    with transaction(conn):
        queries.upsert_asset_install(
            conn,
            coding_agent=coding_agent,
            path=path,
            cafleet_version=__version__,
            now=clock.stamp(now),
        )
        sound, damaged = installs(conn)
        faulty: list[AssetInstall | DamagedInstall] = [
            *damaged,
            *(row for row in sound if not clock.is_stamp(row.installed_at)),
        ]
        faulty = [row for row in faulty if row.coding_agent not in others]
        queries.delete_asset_installs(conn, install_ids=[row.install_id for row in faulty])
    return [f"{row.coding_agent!s} at {row.path!s}" for row in faulty]
