"""Bring a database to this program's schema: apply all pending migrations, or none."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import datetime

import msgspec

from cafleet.errors import DatabaseError, SchemaError
from cafleet.store import adoption, published, queries
from cafleet.store.catalogue import INSTALLS, REFINERY, has_ledger, table_names
from cafleet.store.connection import connect, transaction
from cafleet.store.failures import translate, translated
from cafleet.store.files import page
from cafleet.store.journal import leave_unusable_wal, use_wal
from cafleet.store.ledger import make_ledger, record, shipped_migrations
from cafleet.store.migration_files import Migration
from cafleet.store.recognition import Kind, judge, recognise, refusal
from cafleet.store.reference import database_at

# The step that lets no fleet keep two active monitors, and takes no card that is not JSON.
ONE_MONITOR = 8
# The step that begins the table of installations anew, by place.
INSTALLS_BY_PATH = 6


class MigrationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done. ``from_version`` is 0 for a database that was new.

    ``backup`` is the path of the copy that was made of an adopted database. ``journal_mode`` is
    ``wal``, or what is left where it does not work, for the reason in ``wal_refusal``.
    ``is_installs_remade`` says that the table of installations was missing and stands there again,
    empty; ``left_out`` are sentences on rows that a migration did not keep.
    """

    from_version: int
    to_version: int
    backup: str | None
    journal_mode: str
    wal_refusal: str | None
    is_installs_remade: bool
    left_out: list[str]


def migrate(path: str, *, now: datetime) -> MigrationReport:
    """Create the database at ``path``, or bring it to head. At head nothing changes.

    All pending steps, the adoption of a published database and the rows of the ledger are one transaction.
    A failure leaves the database as it was. A refused database is not touched.

    Raises:
        SchemaError: the database is newer, not ours, lacks a table or an index, or was migrated by
            another edition of a file; or rows stand in the way of a step, which are then named.
        DatabaseError: the folder cannot be made, this installation lacks migrations, or SQLite could
            not do it.
    """
    shipped = shipped_migrations()
    found = recognise(path)
    if not found.is_for_setup:
        raise refusal(found)
    _make_folder(os.path.dirname(path))
    if found.kind is not Kind.MISSING:
        leave_unusable_wal(path)
    left_out: list[str] = []
    backup = None
    with closing(connect(path, create=True)) as conn:
        with transaction(conn), ExitStack() as given_up:
            version = _present(conn, path, shipped, now, given_up)
            for migration in shipped[version:]:
                left_out += _losses_by(conn, migration)
                _apply(conn, migration, now)
            is_installs_remade = _remake_installs(conn)
            given_up.pop_all()
        if REFINERY in table_names(conn):
            backup = adoption.finish_copy(path, len(published.versions(conn)), now)
    journal_mode, wal_refusal = use_wal(path)
    return MigrationReport(
        from_version=version,
        to_version=len(shipped),
        backup=backup,
        journal_mode=journal_mode,
        wal_refusal=wal_refusal,
        is_installs_remade=is_installs_remade,
        left_out=left_out,
    )


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as failure:
        raise DatabaseError(
            f"the folder {folder} cannot be made ({failure.strerror}); check its parent's permissions"
        ) from failure


def _present(
    conn: sqlite3.Connection,
    path: str,
    shipped: Sequence[Migration],
    now: datetime,
    given_up: ExitStack,
) -> int:
    """The present version of the database. Makes its ledger if it has none. ``given_up`` gets what to undo if
    the transaction fails."""
    # Another setup may have been here since the first look.
    found = judge(conn, path)
    if not found.is_for_setup:
        raise refusal(found)
    version = found.version or 0
    if found.kind is Kind.PUBLISHED:
        if version >= ONE_MONITOR:
            _refuse_what_the_index_cannot_take(conn)
        adoption.begin_copy(path, version, now)
        given_up.callback(adoption.drop_copy, path)
        published.make_missing_indexes(conn, version)
    if not has_ledger(conn):
        make_ledger(conn)
        for migration in shipped[:version]:
            record(conn, migration, now)
    return version


def _losses_by(conn: sqlite3.Connection, migration: Migration) -> Iterator[str]:
    """The rows that the step is about to lose, in a sentence."""
    if migration.version == INSTALLS_BY_PATH and INSTALLS in table_names(conn):
        count = queries.count_asset_installs(conn)
        if count:
            yield (
                f"{migration.file_name} leaves out {count} {'row' if count == 1 else 'rows'} of "
                f"{INSTALLS}, which do not say where the assets are; what is installed is recorded anew"
            )


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
    """Make the table of installations if it was lost. The second half of setup fills it again."""
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
        f"{migration.file_name} cannot be applied ({failure}); the schema was not changed, remove what "
        f"stands in its way and run `cafleet setup` again"
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
            f"{', and '.join(found)}; the schema was not changed, {', and '.join(cures)}, with the sqlite3 "
            f"shell ({page('recovery.md')} has the SQL) and run `cafleet setup` again"
        )
