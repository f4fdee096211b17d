"""Bringing a database to this program's schema: all pending migrations, or none."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime

import msgspec

from cafleet.errors import DatabaseError, SchemaError
from cafleet.store import adoption, queries
from cafleet.store.connection import BUSY_TIMEOUT_SECONDS, connect, transaction
from cafleet.store.failures import translate, translated
from cafleet.store.guard import has_ledger, table_names
from cafleet.store.ledger import applied_version, make_ledger, record
from cafleet.store.migration_files import Migration, migrations

# The step that lets no fleet keep two active monitors, and takes no card that is not JSON.
ONE_MONITOR = 8


class MigrationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done. ``from_version`` is 0 for a database that was new.

    ``backup`` is the path of the copy that was made of an adopted database; ``journal_mode`` is
    ``wal``, or what the file system left us with.
    """

    from_version: int
    to_version: int
    backup: str | None
    journal_mode: str


def migrate(path: str, *, now: datetime) -> MigrationReport:
    """Create the database at ``path``, or bring it to head; at head nothing changes.

    All pending steps, the adoption of a predecessor's database and the ledger's rows are one
    transaction: a failure leaves the database as it was.

    Raises:
        SchemaError: the database is newer, not ours, or was migrated by another edition of a file;
            or rows stand in the way of a step, which are then named.
        DatabaseError: the folder cannot be made, or SQLite could not do it.
    """
    shipped = migrations()
    _make_folder(os.path.dirname(path))
    backup: str | None = None
    with closing(connect(path, create=True)) as conn:
        try:
            with transaction(conn):
                version, backup = _present(conn, path, shipped, now)
                for migration in shipped[version:]:
                    _apply(conn, migration, now)
        except BaseException:
            if backup is not None:
                os.unlink(backup)
            raise
        journal_mode = _use_wal(conn)
    return MigrationReport(
        from_version=version, to_version=len(shipped), backup=backup, journal_mode=journal_mode
    )


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as failure:
        raise DatabaseError(
            f"the folder {folder} cannot be made ({failure.strerror}); check its parent's permissions"
        ) from failure


def _present(
    conn: sqlite3.Connection, path: str, shipped: Sequence[Migration], now: datetime
) -> tuple[int, str | None]:
    """The version that the database is at, its ledger made if it has none, and the copy's path."""
    if has_ledger(conn):
        return applied_version(conn, path, shipped), None
    tables = table_names(conn)
    if not tables:
        make_ledger(conn)
        return 0, None
    if adoption.HISTORY not in tables:
        raise SchemaError(
            f"the database at {path} has tables but is not one of cafleet's; nothing was changed, point "
            f"CAFLEET_DATABASE_URL elsewhere"
        )
    version = adoption.published_version(conn, path)
    if version >= ONE_MONITOR:
        _refuse_what_the_index_cannot_take(conn)
    backup = adoption.copy_aside(path, version, now)
    adoption.make_missing_indexes(conn, version)
    make_ledger(conn)
    for migration in shipped[:version]:
        record(conn, migration, now)
    return version, backup


def _apply(conn: sqlite3.Connection, migration: Migration, now: datetime) -> None:
    if migration.version == ONE_MONITOR:
        _refuse_what_the_index_cannot_take(conn)
    try:
        for statement in migration.statements:
            conn.execute(statement)
    except sqlite3.Error as failure:
        if migration.version == ONE_MONITOR:
            _refuse_what_the_index_cannot_take(conn)
        raise _obstructed(migration, failure) from failure
    record(conn, migration, now)


def _obstructed(migration: Migration, failure: sqlite3.Error) -> DatabaseError:
    if not getattr(failure, "sqlite_errorname", "").startswith(
        ("SQLITE_ERROR", "SQLITE_CONSTRAINT")
    ):
        return translate(failure)
    return SchemaError(
        f"{migration.file_name} cannot be applied ({failure}); nothing was changed, remove what stands "
        f"in its way and run `cafleet setup` again"
    )


def _refuse_what_the_index_cannot_take(conn: sqlite3.Connection) -> None:
    if "members" not in table_names(conn):
        return
    fleets: dict[int, list[int]] = {}
    for row in queries.list_duplicate_monitors(conn):
        fleets.setdefault(row.fleet_id, []).append(row.member_id)
    if fleets:
        found = "; ".join(
            f"fleet {fleet}: members {', '.join(map(str, members))}"
            for fleet, members in fleets.items()
        )
        raise SchemaError(
            f"more than one active monitor in a fleet ({found}); nothing was changed, close the panes "
            f"of all but one of each fleet, set the status of those members to 'deregistered' with "
            f"the sqlite3 shell (docs/recovery.md has the SQL) and run `cafleet setup` again"
        )
    broken = queries.list_unreadable_cards(conn)
    if broken:
        found = ", ".join(str(row.member_id) for row in broken)
        raise SchemaError(
            f"the member_card_json of active members is not JSON (members {found}); nothing was "
            f'changed, set it to \'{{}}\', or for a monitor to \'{{"cafleet":{{"kind":"monitor"}}}}\', '
            f"with the sqlite3 shell (docs/recovery.md has the SQL) and run `cafleet setup` again"
        )


def _use_wal(conn: sqlite3.Connection) -> str:
    """Switch the file to WAL, which lasts; the mode that it is in afterwards.

    The switch needs the file alone and does not wait for it as other statements do, so it is tried
    until the usual limit. Some network file systems refuse it: the rollback journal stays.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            (mode,) = conn.execute("PRAGMA journal_mode = WAL").fetchone()
            return str(mode)
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                with translated():
                    raise
            time.sleep(0.02)
