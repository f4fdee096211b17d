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
from cafleet.store.files import page
from cafleet.store.guard import has_ledger, refuse_emptied_ledger, table_names
from cafleet.store.ledger import applied_version, make_ledger, record, shipped_migrations
from cafleet.store.migration_files import Migration
from cafleet.store.reference import database_at
from cafleet.store.soundness import INSTALLS, refuse_losses

# The step that lets no fleet keep two active monitors, and takes no card that is not JSON.
ONE_MONITOR = 8


class MigrationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done. ``from_version`` is 0 for a database that was new.

    ``backup`` is the path of the copy that was made of an adopted database; ``journal_mode`` is
    ``wal``, or what the file system left us with. ``is_installs_remade`` says that the table of
    installations was missing and stands there again, empty.
    """

    from_version: int
    to_version: int
    backup: str | None
    journal_mode: str
    is_installs_remade: bool


def migrate(path: str, *, now: datetime) -> MigrationReport:
    """Create the database at ``path``, or bring it to head; at head nothing changes.

    All pending steps, the adoption of a predecessor's database and the ledger's rows are one
    transaction: a failure leaves the database as it was.

    Raises:
        SchemaError: the database is newer, not ours, lacks a table or an index, or was migrated by
            another edition of a file; or rows stand in the way of a step, which are then named.
        DatabaseError: the folder cannot be made, this installation lacks migrations, or SQLite could
            not do it.
    """
    shipped = shipped_migrations()
    _make_folder(os.path.dirname(path))
    backup: str | None = None
    with closing(connect(path, create=True)) as conn:
        try:
            with transaction(conn):
                version, backup = _present(conn, path, shipped, now)
                for migration in shipped[version:]:
                    _apply(conn, migration, now)
                is_installs_remade = _remake_installs(conn)
                refuse_losses(conn, path, len(shipped))
        except BaseException:
            if backup is not None:
                os.unlink(backup)
            raise
        journal_mode = _use_wal(conn)
    return MigrationReport(
        from_version=version,
        to_version=len(shipped),
        backup=backup,
        journal_mode=journal_mode,
        is_installs_remade=is_installs_remade,
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
        version = applied_version(conn, path, shipped)
        if version == 0:
            refuse_emptied_ledger(conn, path)
        return version, None
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


def _remake_installs(conn: sqlite3.Connection) -> bool:
    """Make the table of installations if it was lost: the second half of setup fills it anew."""
    if INSTALLS in table_names(conn):
        return False
    with closing(database_at(queries.SCHEMA_VERSION)) as reference:
        (lost,) = [row for row in queries.list_schema_objects(reference) if row.name == INSTALLS]
    with translated():
        conn.execute(lost.sql)
    return True


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
    found, cures = [], []
    fleets: dict[int, list[int]] = {}
    for row in queries.list_duplicate_monitors(conn):
        fleets.setdefault(row.fleet_id, []).append(row.member_id)
    if fleets:
        named = "; ".join(
            f"fleet {fleet}: members {', '.join(map(str, members))}"
            for fleet, members in fleets.items()
        )
        found.append(f"more than one active monitor in a fleet ({named})")
        cures.append(
            "close the panes of all but one monitor of each fleet and set the status of those "
            "members to 'deregistered'"
        )
    broken = queries.list_unreadable_cards(conn)
    if broken:
        named = ", ".join(str(row.member_id) for row in broken)
        found.append(f"the member_card_json of active members is not JSON (members {named})")
        cures.append(
            'set each such card to \'{}\', or for a monitor to \'{"cafleet":{"kind":"monitor"}}\''
        )
    if found:
        raise SchemaError(
            f"{', and '.join(found)}; nothing was changed, {', and '.join(cures)}, with the sqlite3 "
            f"shell ({page('recovery.md')} has the SQL) and run `cafleet setup` again"
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
