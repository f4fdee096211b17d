"""Decide what a database is. Setup, guard, doctor and `db check` all ask here."""

from __future__ import annotations

import os
import sqlite3
import time
from enum import StrEnum

import msgspec

from cafleet.errors import FROM_BACKUP, DatabaseError, SchemaError
from cafleet.store import queries
from cafleet.store.catalogue import (
    ALEMBIC,
    LEDGER,
    REFINERY,
    has_ledger,
    is_marked,
    is_shorter_than_a_page,
    table_names,
)
from cafleet.store.failures import NO_DATABASE, UnsoundError
from cafleet.store.mounts import is_mounted_by_itself, mounts
from cafleet.store.untouched import read_untouched, traces

HEAD = queries.SCHEMA_VERSION
_REGISTRY = {"fleets", "members", "messages"}
_TRIES = 5
_PAUSE_SECONDS = 0.05


class Kind(StrEnum):
    """The kinds of databases. `setup` accepts the first five and refuses the others."""

    MISSING = "missing"
    EMPTY = "empty"
    HEAD = "head"
    OLDER = "older"
    PUBLISHED = "published"
    NEWER = "newer"
    DAMAGED_LEDGER = "damaged ledger"
    LACKING = "lacking"
    PREDECESSOR = "predecessor"
    FOREIGN = "foreign"
    UNSOUND = "unsound"
    UNREADABLE = "unreadable"


_FOR_SETUP = {Kind.MISSING, Kind.EMPTY, Kind.HEAD, Kind.OLDER, Kind.PUBLISHED}


class Recognised(msgspec.Struct, frozen=True, kw_only=True):
    """``version`` is that of the ledger or of a published database's history; null without either.
    ``sentence`` says what the database is and what to do; null at head. ``is_importable`` says that it
    is a predecessor's that can be imported."""

    kind: Kind
    sentence: str | None
    version: int | None = None
    is_importable: bool = False

    @property
    def is_for_setup(self) -> bool:
        """Whether `setup` may write to it."""
        return self.kind in _FOR_SETUP

    @property
    def schema_version(self) -> int | None:
        """The version in the ledger of ours."""
        return None if self.kind is Kind.PUBLISHED else self.version


def recognise(path: str, *, thorough: bool = True) -> Recognised:
    """Recognise the database at ``path`` without touching it. Never raises.

    Only if ``thorough``, a database at head is compared with the checksums of its ledger and with its
    tables.
    """
    for tried in range(1, _TRIES + 1):
        before = traces(path)
        found = _look(path, thorough=thorough)
        # What was written meanwhile may have been read half.
        is_settled = found.kind is not Kind.UNREADABLE and traces(path) == before
        if found.kind is Kind.HEAD or is_settled or tried == _TRIES:
            break
        # Another process may be about to recover the log of one that has crashed.
        time.sleep(_PAUSE_SECONDS)
    return found


def refusal(found: Recognised) -> DatabaseError:
    """The error to raise for a database that cannot be used."""
    sentence = found.sentence or "the database is at this program's schema"
    if found.kind is Kind.UNSOUND:
        return UnsoundError(sentence)
    if found.kind in (Kind.MISSING, Kind.UNREADABLE):
        return DatabaseError(sentence)
    return SchemaError(sentence)


def _look(path: str, *, thorough: bool) -> Recognised:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Recognised(
            kind=Kind.MISSING, sentence=f"there is no database at {path}; run `cafleet setup`"
        )
    except OSError:
        # What it is, the next attempt says.
        pass
    if is_mounted_by_itself(path, mounts()):
        return Recognised(
            kind=Kind.UNREADABLE,
            sentence=(
                f"{path} is mounted by itself, and SQLite would keep its log beside it; mount its folder "
                f"instead, or point CAFLEET_DATABASE_URL elsewhere"
            ),
        )
    try:
        with read_untouched(path) as conn:
            found = judge(conn, path, thorough=thorough)
            # SQLite takes a file without a whole page for an empty database.
            if found.kind is Kind.EMPTY and is_shorter_than_a_page(conn, path):
                raise UnsoundError(NO_DATABASE.format(at=f" at {path}"))
            return found
    except UnsoundError as failure:
        return Recognised(kind=Kind.UNSOUND, sentence=str(failure))
    except DatabaseError as failure:
        return Recognised(kind=Kind.UNREADABLE, sentence=str(failure))


def judge(conn: sqlite3.Connection, path: str, *, thorough: bool = True) -> Recognised:
    """Recognise the database on ``conn``, the file ``path``, as :func:`recognise` does.

    Raises:
        DatabaseError: SQLite cannot read it, or this installation lacks its migrations.
    """
    names = table_names(conn)
    if has_ledger(conn):
        if not thorough and _is_at_head(conn):
            return Recognised(kind=Kind.HEAD, sentence=None, version=HEAD)
        if names & _REGISTRY or names == {LEDGER}:
            return _judge_ours(conn, path, names)
    if not names and not is_marked(conn):
        return Recognised(
            kind=Kind.EMPTY,
            sentence=f"the database at {path} is not set up yet; run `cafleet setup`",
        )
    if REFINERY in names:
        return _judge_published(conn, path)
    if ALEMBIC in names:
        return _judge_predecessor(conn, path)
    return _foreign(path)


def _is_at_head(conn: sqlite3.Connection) -> bool:
    extent = queries.get_ledger_extent(conn)
    return extent is not None and (extent.entries, extent.oldest, extent.newest) == (HEAD, 1, HEAD)


def _foreign(path: str) -> Recognised:
    return Recognised(
        kind=Kind.FOREIGN,
        sentence=(
            f"the database at {path} is not one of cafleet's; point CAFLEET_DATABASE_URL elsewhere"
        ),
    )


def _judge_ours(conn: sqlite3.Connection, path: str, names: set[str]) -> Recognised:
    """Judge by the ledger, which has to match the shipped migrations, and then by the tables."""
    from cafleet.store.ledger import shipped_migrations
    from cafleet.store.soundness import losses

    shipped = shipped_migrations()
    entries = queries.list_applied_migrations(conn)
    version, head = max((entry.version for entry in entries), default=0), len(shipped)

    def found(kind: Kind, sentence: str | None) -> Recognised:
        return Recognised(kind=kind, sentence=sentence, version=version)

    if version > head:
        return found(
            Kind.NEWER,
            f"the database at {path} is at schema {version}, newer than this program's {head}; "
            f"upgrade cafleet, a schema is never taken back",
        )
    if not entries and names != {LEDGER}:
        return found(
            Kind.DAMAGED_LEDGER,
            f"the ledger of the database at {path} is empty, so its schema is unknown; "
            f"restore it {FROM_BACKUP}",
        )
    for expected, entry in enumerate(entries, 1):
        if entry.version != expected:
            return found(
                Kind.DAMAGED_LEDGER,
                f"the ledger of the database at {path} lacks version {expected}; restore it "
                f"{FROM_BACKUP}",
            )
        if entry.checksum != shipped[expected - 1].checksum:
            return found(
                Kind.DAMAGED_LEDGER,
                f"{entry.file_name} was another file when it was applied to the database at {path}; "
                f"use the edition of cafleet that applied it",
            )
    lost = losses(conn, version)
    if lost:
        return found(
            Kind.LACKING,
            f"the database at {path} lacks {', '.join(lost)}; do what `cafleet db check` says, or "
            f"restore it {FROM_BACKUP}",
        )
    if version < head:
        return found(
            Kind.OLDER,
            f"the database at {path} is at schema {version}, older than this program's {head}; run "
            f"`cafleet setup`",
        )
    return found(Kind.HEAD, None)


def _judge_published(conn: sqlite3.Connection, path: str) -> Recognised:
    """Judge by the history, which must have no gap, and by the tables, which must be those of its version."""
    from cafleet.store import published

    versions = published.versions(conn)
    last = published.LAST
    if not versions or versions != list(range(1, len(versions) + 1)):
        return Recognised(
            kind=Kind.DAMAGED_LEDGER,
            sentence=(
                f"the history of the database at {path} is not one of the published cafleet; point "
                f"CAFLEET_DATABASE_URL elsewhere"
            ),
        )
    if len(versions) > last:
        return Recognised(
            kind=Kind.NEWER,
            sentence=(
                f"the database at {path} is at version {len(versions)} of the published cafleet, which "
                f"this program knows up to {last}; upgrade cafleet"
            ),
        )
    for oddity in published.oddities(conn, len(versions)):
        return Recognised(
            kind=Kind.FOREIGN,
            sentence=(
                f"the database at {path} is not as version {len(versions)} of the published cafleet made "
                f"it ({oddity}); point CAFLEET_DATABASE_URL elsewhere"
            ),
        )
    return Recognised(
        kind=Kind.PUBLISHED,
        version=len(versions),
        sentence=(
            f"the database at {path} is one of the published cafleet, older than this program; run "
            f"`cafleet setup`, which upgrades it"
        ),
    )


def _judge_predecessor(conn: sqlite3.Connection, path: str) -> Recognised:
    from shlex import quote

    from cafleet.store import predecessor

    found = predecessor.describe(conn)
    if found is None:
        return _foreign(path)
    if not found.is_importable:
        return Recognised(
            kind=Kind.PREDECESSOR,
            sentence=(
                f"the database at {path} is one of {found}, which this program cannot import; point "
                f"CAFLEET_DATABASE_URL elsewhere"
            ),
        )
    return Recognised(
        kind=Kind.PREDECESSOR,
        is_importable=True,
        sentence=(
            f"the database at {path} is one of {found}; point CAFLEET_DATABASE_URL to another file and "
            f"run `cafleet setup --import {quote(path)}`, which brings its fleets there"
        ),
    )
