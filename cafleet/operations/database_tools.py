"""The DBA's tools: queries and their plans, a check of everything, a copy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice

import msgspec

from cafleet.broker import consistency
from cafleet.broker.consistency import row_faults
from cafleet.errors import (
    FROM_BACKUP,
    CafleetError,
    DatabaseError,
    RefusedError,
    UnknownIdError,
)
from cafleet.store import Connection
from cafleet.store.backup import back_up
from cafleet.store.catalogue import PUBLISHED_HISTORIES, table_names
from cafleet.store.connection import connect, forbid_writes
from cafleet.store.contract_checks import live_findings, live_plan
from cafleet.store.contracts import Contract, query_source, read_contracts
from cafleet.store.files import page
from cafleet.store.ledger import misnamed, shipped_migrations
from cafleet.store.recognition import HEAD, Kind, Recognised, recognise, refusal
from cafleet.store.soundness import broken_references, integrity_faults, schema_differences
from cafleet.store.untouched import read_untouched

# Of one kind of fault so many are told; a column that is damaged in every row is one fault.
MOST_OF_A_KIND = 1000


class ExplainedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query as its file has it, and how SQLite runs it on the given database."""

    contract: Contract
    source: str
    steps: list[str]


def list_contracts() -> Sequence[Contract]:
    """The contracts of all queries, by file and place."""
    return read_contracts()


def explain(conn: Connection, name: str) -> ExplainedQuery:
    """One query with its plan on this database.

    Raises:
        UnknownIdError: there is no query of that name.
    """
    for contract in read_contracts():
        if contract.name == name:
            # The tables of the published programs are only in databases which they made.
            is_there = contract.namespace not in PUBLISHED_HISTORIES - table_names(conn)
            steps = live_plan(conn, contract) if is_there else []
            return ExplainedQuery(contract=contract, source=query_source(contract), steps=steps)
    raise UnknownIdError(f"there is no query {name}; `cafleet db queries` lists them")


def copy_database(conn: Connection, *, database: str, path: str) -> tuple[str, int]:
    """Copy the database on ``conn``, the file ``database``. Returns the absolute path of the copy and
    its bytes.

    Raises:
        RefusedError: ``path`` is taken.
        DatabaseError: it cannot be done; nothing is left.
    """
    if path.endswith("/"):
        raise RefusedError(f"{path} names a folder; give the path of a file that is not there yet")
    try:
        path = os.path.abspath(path)
    except OSError as failure:
        raise DatabaseError(
            f"there is no current folder any more ({failure.strerror}); give an absolute path"
        ) from failure
    return path, back_up(conn, database, path)


def check(path: str) -> list[str]:
    """Everything that is wrong with the database at ``path``, a sentence each.

    The database is only read; in WAL mode nobody waits for that. If a part cannot be checked, the others are.
    Another program's database is not touched.

    Raises:
        DatabaseError: there is no database, or it cannot be opened.
    """
    what = recognise(path)
    if what.kind in (Kind.MISSING, Kind.UNREADABLE):
        raise refusal(what)
    if what.kind is Kind.UNSOUND:
        return [str(what.sentence)]
    found: list[str] = []
    is_at_head = what.version == HEAD and what.kind is not Kind.PUBLISHED
    with closing(connect(path)) if is_at_head else read_untouched(path) as conn:
        forbid_writes(conn)
        for part, faults in _parts(conn, what, is_at_head=is_at_head):
            try:
                found += islice(faults, MOST_OF_A_KIND)
                if next(faults, None) is not None:
                    found.append(f"{part}: there is more of it; mend this first and check again")
            except CafleetError as failure:
                found.append(f"{part} could not be checked: {failure}")
    return found


def remarks(path: str) -> list[str]:
    """Remarks on a database at head that are no faults, a sentence each."""
    what = recognise(path)
    if what.version != HEAD or what.kind in (Kind.PUBLISHED, Kind.UNSOUND):
        return []
    with closing(connect(path)) as conn:
        forbid_writes(conn)
        try:
            return list(islice(consistency.remarks(conn), MOST_OF_A_KIND))
        except CafleetError:
            # What cannot be read is a finding.
            return []


def _parts(
    conn: Connection, what: Recognised, *, is_at_head: bool
) -> Iterator[tuple[str, Iterator[str]]]:
    """The parts of the check by name.

    Parts about this program's schema are left out if the database has another.
    """
    yield (
        "integrity",
        (
            f"integrity_check: {fault}; restore the database {FROM_BACKUP}"
            for fault in integrity_faults(conn)
        ),
    )
    yield "references", broken_references(conn)
    # What a database at head lacks is told more closely below.
    if what.sentence is not None and not (is_at_head and what.kind is Kind.LACKING):
        yield "schema", iter([what.sentence])
    if is_at_head:
        yield "schema_migrations", misnamed(conn, shipped_migrations())
        yield "schema", schema_differences(conn)
        yield "queries", _broken_contracts(conn)
        yield from row_faults(conn)


def _broken_contracts(conn: Connection) -> Iterator[str]:
    for contract in read_contracts():
        # The history of another program is not ours to judge, and is not read again after setup.
        if contract.namespace not in PUBLISHED_HISTORIES:
            for finding in live_findings(conn, contract):
                yield f"{finding}; {page('database.md')} has what to do"
