"""The two halves of `setup`: the database, and what teaches the coding agents."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import msgspec

from cafleet import clock
from cafleet.agents.installer import Installed, install
from cafleet.broker import assets
from cafleet.courier.process_lock import ProcessLock
from cafleet.errors import CafleetError, DatabaseError
from cafleet.panes.locks import lock_folder
from cafleet.records import CodingAgent
from cafleet.store import Connection
from cafleet.store.connection import connect
from cafleet.store.guard import table_names
from cafleet.store.migrate import MigrationReport, migrate

_LOCK_SECONDS = 30.0


class AgentOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one agent: either it is installed and recorded, or ``error`` says why not."""

    coding_agent: CodingAgent
    installed: Installed | None
    error: str | None


def migrate_database(path: str) -> MigrationReport:
    """Create the database at ``path`` or bring it to this program's schema.

    Raises:
        SchemaError, DatabaseError: it could not be done; the database is as it was.
    """
    return migrate(path, now=clock.utc_now())


def install_assets(path: str, agents: Sequence[CodingAgent]) -> Iterator[AgentOutcome]:
    """Install the assets for each agent, in the order given, and record it in the database.

    An agent that fails does not keep the next one from its turn.

    Raises:
        DatabaseError: the database cannot keep a record of it; nothing is installed.
        CafleetError: another setup holds its lock for too long, or the lock cannot be made.
    """
    with closing(connect(path)) as conn:
        if "asset_installs" not in table_names(conn):
            raise DatabaseError(
                f"the database at {path} has no table asset_installs; mend the database first"
            )
        # A table of before schema 6 has other columns. Damaged rows are in nobody's way here.
        assets.installs(conn)
        with _one_at_a_time():
            for agent in agents:
                yield _install_one(conn, agent)


def _install_one(conn: Connection, agent: CodingAgent) -> AgentOutcome:
    try:
        installed = install(agent)
        assets.record_install(conn, coding_agent=agent, path=installed.path, now=clock.utc_now())
    except CafleetError as failure:
        return AgentOutcome(coding_agent=agent, installed=None, error=str(failure))
    return AgentOutcome(coding_agent=agent, installed=installed, error=None)


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
