"""The two halves of `setup`: the database, and the skill and presets of the coding agents."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

import msgspec

from cafleet import __version__, clock
from cafleet.agents.installer import Installed, install
from cafleet.agents.paths import locate
from cafleet.broker import assets
from cafleet.courier.process_lock import ProcessLock
from cafleet.errors import AgentError, CafleetError, DatabaseError
from cafleet.panes.locks import lock_folder
from cafleet.records import AssetInstall, CodingAgent
from cafleet.store import Connection
from cafleet.store.catalogue import INSTALLS, table_names
from cafleet.store.connection import connect
from cafleet.store.migrate import INSTALLS_BY_PATH, MigrationReport, migrate
from cafleet.store.recognition import Kind, recognise, refusal

# Ours, at a version that this program reads, whatever stands in the way of its upgrade.
_RECORDS_INSTALLS = {Kind.HEAD, Kind.OLDER, Kind.LACKING}
_LOCK_SECONDS = 30.0


class AgentOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one agent: its assets are installed and recorded, or ``error`` says why not.

    ``forgotten`` names the damaged records that were deleted.
    """

    coding_agent: CodingAgent
    installed: Installed | None
    forgotten: list[str]
    error: str | None


def migrate_database(path: str) -> MigrationReport:
    """Create the database at ``path`` or bring it to this program's schema.

    Raises:
        SchemaError, DatabaseError: it could not be done; the database is as it was.
    """
    return migrate(path, now=clock.utc_now())


def install_assets(
    path: str, agents: Sequence[CodingAgent], *, is_database_ready: bool
) -> Iterator[AgentOutcome]:
    """Install the assets for each agent, in the order given, and record it in the database.

    If one agent fails, the next ones are still done. If the database could not be brought to head,
    assets of a newer program stay.

    Raises:
        DatabaseError: this program must not write to the database. Nothing is installed, and the database is
            not touched.
        CafleetError: another setup holds its lock for too long, or the lock cannot be made.
    """
    found = recognise(path)
    if found.kind not in _RECORDS_INSTALLS or (found.version or 0) < INSTALLS_BY_PATH:
        raise refusal(found) if found.sentence else DatabaseError("the database is not set up")
    with closing(connect(path)) as conn:
        if INSTALLS not in table_names(conn):
            raise DatabaseError(
                f"the database at {path} has no table {INSTALLS}; mend the database first"
            )
        # Damaged rows are in nobody's way here.
        rows, _ = assets.installs(conn)
        newer = {} if is_database_ready else _newer(rows)
        with _one_at_a_time():
            for agent in agents:
                yield _install_one(conn, agent, newer)


def _newer(rows: Sequence[AssetInstall]) -> dict[tuple[CodingAgent, str], str]:
    """The versions of the installations that are newer than this program, by agent and path."""
    return {
        (row.coding_agent, row.path): row.cafleet_version
        for row in rows
        if _numbers(row.cafleet_version) > _numbers(__version__)
    }


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", version)[:4]]


def _install_one(
    conn: Connection, agent: CodingAgent, newer: Mapping[tuple[CodingAgent, str], str]
) -> AgentOutcome:
    try:
        base = locate(agent).base
        if (agent, base) in newer:
            raise AgentError(
                f"the assets in {base} are those of cafleet {newer[agent, base]}, newer than this "
                f"program's {__version__}, and stay; upgrade cafleet"
            )
        installed = install(agent)
        forgotten = assets.record_install(
            conn, coding_agent=agent, path=installed.path, now=clock.utc_now()
        )
    except CafleetError as failure:
        return AgentOutcome(coding_agent=agent, installed=None, forgotten=[], error=str(failure))
    return AgentOutcome(coding_agent=agent, installed=installed, forgotten=forgotten, error=None)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    lock = ProcessLock(os.path.join(lock_folder(), "setup.lock"))
    ends = time.monotonic() + _LOCK_SECONDS
    while not lock.acquire():
        if time.monotonic() > ends:
            raise CafleetError(
                f"another `cafleet setup` has been running for {_LOCK_SECONDS:.0f} s; try again"
            )
        time.sleep(0.05)
    try:
        yield
    finally:
        lock.release()
