"""What a DBA asks for: the queries and their plans, a check of everything, a copy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice

import msgspec

from cafleet.broker.consistency import row_faults
from cafleet.errors import CafleetError, DatabaseError, RefusedError, UnknownIdError
from cafleet.store import Connection
from cafleet.store.backup import back_up
from cafleet.store.connection import connect, forbid_writes
from cafleet.store.contract_checks import live_findings, live_plan
from cafleet.store.contracts import Contract, query_source, read_contracts
from cafleet.store.failures import UnsoundError
from cafleet.store.files import page
from cafleet.store.guard import REFINERY, check_schema, table_names
from cafleet.store.ledger import ledger_faults, shipped_migrations
from cafleet.store.soundness import broken_references, integrity_faults, schema_differences

# Of one kind of fault so many are told; a column that is damaged in every row is one fault.
MOST_OF_A_KIND = 1000


class ExplainedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query as its file has it, and how SQLite runs it on the database at hand."""

    contract: Contract
    source: str
    steps: list[str]


def list_contracts() -> Sequence[Contract]:
    """What every query promises, by file and place."""
    return read_contracts()


def explain(conn: Connection, name: str) -> ExplainedQuery:
    """One query with its plan on this database.

    Raises:
        UnknownIdError: there is no query of that name.
    """
    for contract in read_contracts():
        if contract.name == name:
            # The predecessor's table is only in databases which it made.
            is_there = contract.namespace != REFINERY or REFINERY in table_names(conn)
            steps = live_plan(conn, contract) if is_there else []
            return ExplainedQuery(contract=contract, source=query_source(contract), steps=steps)
    raise UnknownIdError(f"there is no query {name}; `cafleet db queries` lists them")


def copy_database(conn: Connection, *, database: str, path: str) -> tuple[str, int]:
    """Copy the database on ``conn``, the file ``database``; the absolute path of the copy, its bytes.

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

    It is only read, in steps that nobody has to wait for where the journal mode is WAL. Where one
    part cannot be checked the others are.

    Raises:
        DatabaseError: there is no database, or it cannot be opened.
    """
    try:
        conn = connect(path)
    except UnsoundError as failure:
        return [str(failure)]
    found: list[str] = []
    with closing(conn):
        forbid_writes(conn)
        for what, faults in _parts(conn, path):
            try:
                found += islice(faults, MOST_OF_A_KIND)
                if next(faults, None) is not None:
                    found.append(f"{what}: there is more of it; mend this first and check again")
            except CafleetError as failure:
                found.append(f"{what} could not be checked: {failure}")
    return found


def _parts(conn: Connection, path: str) -> Iterator[tuple[str, Iterator[str]]]:
    """Each part of the check, by the name of what it looks at.

    What is about this program's schema is left out where the database has another.
    """
    yield "integrity", integrity_faults(conn)
    yield "references", broken_references(conn)
    try:
        check_schema(conn, path)
    except CafleetError as failure:
        yield "schema", iter([str(failure)])
        return
    yield "schema_migrations", ledger_faults(conn, path, shipped_migrations())
    yield "schema", schema_differences(conn)
    yield "queries", _broken_contracts(conn)
    yield from row_faults(conn)


def _broken_contracts(conn: Connection) -> Iterator[str]:
    for contract in read_contracts():
        # The predecessor's history is not ours to judge, and is not read again after setup.
        if contract.namespace != REFINERY:
            for finding in live_findings(conn, contract):
                yield f"{finding}; {page('database.md')} has what to do"
