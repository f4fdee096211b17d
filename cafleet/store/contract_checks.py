"""Check each query against its contract, on the real engine."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import get_type_hints

from cafleet.store import rows
from cafleet.store.contracts import ENUMS, ROWS, Contract, Parameter
from cafleet.store.failures import translated

# Parameters that are no columns, with their meaning.
_VOCABULARY = {"now": "str", "limit": "int"}
# A list that is declared as another type must still compile, so that this can be reported.
_SAMPLES: dict[str, int | str] = {"int": 0}
_TEXT_SAMPLE = "[]"
_AFFINITY = {"INTEGER": "int", "TEXT": "str"}

_SEARCH = re.compile(r"SEARCH \w+ USING (?:COVERING )?(?:INDEX (\w+)|INTEGER PRIMARY KEY|(.+))")
_SCAN = re.compile(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?(?: LEFT-JOIN)?$")
_EVERY_COLUMN = re.compile(r"(?:\b(?:SELECT|DISTINCT|RETURNING)\s|,)\s*(?:\w+\.)?\*", re.IGNORECASE)
_CALL = re.compile(r"\bqueries\.(\w+)")
_RETURNING = re.compile(r"\bRETURNING\b", re.IGNORECASE)
_LAST_ORDER = re.compile(r"ORDER BY ([^()]+?)(?:\s+LIMIT [^()]+)?;?$")


def findings(conn: sqlite3.Connection, contract: Contract) -> list[str]:
    """The broken promises of a query on the schema of ``conn``, a sentence each."""
    try:
        touched = _touched_columns(conn, contract)
    except sqlite3.Error as failure:
        return [f"{contract.source}: {contract.name} does not compile: {failure}"]
    found = [
        *_shape(contract),
        *_columns(conn, contract),
        *_plan(conn, contract),
        *_parameter_types(conn, contract, touched),
    ]
    return [f"{contract.source}: {contract.name} {sentence}" for sentence in found]


def live_findings(conn: sqlite3.Connection, contract: Contract) -> list[str]:
    """The broken promises of a query on a database in use with its statistics, a sentence each."""
    try:
        found = [sentence.partition(";")[0] for sentence in _plan(conn, contract)]
    except sqlite3.Error as failure:
        found = [f"does not compile: {failure}"]
    return [f"{contract.source}: {contract.name} {', '.join(found)}"] if found else []


def live_plan(conn: sqlite3.Connection, contract: Contract) -> list[str]:
    """SQLite's plan for a query on the given database, a line per step, inner steps indented.

    Raises:
        DatabaseError: the query does not compile there.
    """
    depths: dict[int, int] = {}
    lines = []
    with translated():
        steps = conn.execute(f"EXPLAIN QUERY PLAN {contract.sql}", _samples(contract)).fetchall()
    for step, parent, _, detail in steps:
        depths[step] = depths.get(parent, -1) + 1
        lines.append(f"{'  ' * depths[step]}{detail}")
    return lines


def uncalled(contracts: Iterable[Contract], package: Path) -> list[str]:
    """The queries that no module below ``package`` calls as ``queries.<name>``, a sentence each."""
    called = {
        name
        for module in package.rglob("*.py")
        for name in _CALL.findall(module.read_text("utf-8"))
    }
    return [
        f"{contract.source}: {contract.name} is called nowhere; call it or delete it"
        for contract in contracts
        if contract.name not in called
    ]


def _shape(contract: Contract) -> Iterator[str]:
    if _EVERY_COLUMN.search(contract.sql):
        yield "takes every column (*); name them"
    if contract.shape == "change" and _RETURNING.search(contract.sql):
        yield "returns rows and only counts them; drop RETURNING, or use ^ or $"
    if contract.shape == "many":
        # SQLite takes no ORDER BY after RETURNING: the rows tell what has changed, in any order.
        changes = _RETURNING.search(contract.sql)
        order = _LAST_ORDER.search(contract.sql)
        key = _row(contract).key
        if not changes and (order is None or key not in re.findall(r"\w+", order[1])):
            yield f"returns rows in no full order; end it with an ORDER BY that includes {key}"


def _columns(conn: sqlite3.Connection, contract: Contract) -> Iterator[str]:
    if contract.shape == "change":
        return
    names = _result_columns(conn, contract)
    if contract.shape == "scalar":
        if len(names) != 1:
            yield f"returns {len(names)} columns where one value is promised"
        return
    fields = list(_row(contract).__struct_fields__)
    if names != fields:
        same = "their order" if len(names) == len(fields) else "a column twice"
        odd = ", ".join(sorted(set(names) ^ set(fields))) or same
        yield f"does not return the fields of {contract.returns} (see {odd})"


def _plan(conn: sqlite3.Connection, contract: Contract) -> Iterator[str]:
    used, scanned, sorts = set(), set(), False
    for detail in _explain(conn, contract):
        search, scan = _SEARCH.match(detail), _SCAN.match(detail)
        if search:
            used.add(_index_name(search[1]) if search[2] is None else search[2])
        elif scan:
            scanned.add(scan[1])
            if scan[2]:
                used.add(_index_name(scan[2]))
        sorts = sorts or detail.startswith("USE TEMP B-TREE")
    if used != contract.plan:
        yield f"searches by {_names(used)}, and promises {_names(contract.plan)}"
    if scanned != contract.scans:
        yield f"scans {_names(scanned)}, and may scan {_names(contract.scans)}"
    if sorts != contract.sorts:
        yield (
            "sorts outside an index; find one, or say why with `sort:`"
            if sorts
            else ("sorts nothing; drop its line `sort:`")
        )


def _parameter_types(
    conn: sqlite3.Connection, contract: Contract, touched: set[tuple[str, str]]
) -> Iterator[str]:
    for parameter in contract.parameters:
        if (parameter.type == "list[int]") != (f"json_each(:{parameter.name})" in contract.sql):
            yield f"must read :{parameter.name} by json_each exactly if it is a list[int]"
        elif parameter.type == "list[int]":
            continue
        elif parameter.name in _VOCABULARY:
            if parameter.type != _VOCABULARY[parameter.name]:
                yield f"must take :{parameter.name} as {_VOCABULARY[parameter.name]}"
        else:
            yield from _column_type(conn, parameter, touched)


def _column_type(
    conn: sqlite3.Connection, parameter: Parameter, touched: set[tuple[str, str]]
) -> Iterator[str]:
    if parameter.column:
        table, _, column = parameter.column.partition(".")
        places = {(table, column)} & touched
    else:
        places = {place for place in touched if place[1] == parameter.name}
    if not places:
        yield (
            f"takes :{parameter.name}, which is no column that it reads or writes; rename it, or say "
            f"which one it is meant for (`{parameter.name} {parameter.type} = table.column`)"
        )
    for table, column in sorted(places):
        type_, nullable = _declared(conn, table, column)
        base = parameter.type.removesuffix(" | None")
        if not type_:
            # SQLite declares none in its own tables.
            continue
        admitted = _enums_of(column) or {_AFFINITY.get(type_, "no type that is known here")}
        if base not in admitted:
            yield (
                f"takes :{parameter.name} as {base}, where {table}.{column} is {type_}, "
                f"{' or '.join(sorted(admitted))}"
            )
        if parameter.type != base and not nullable:
            yield f"takes a null :{parameter.name}, where {table}.{column} is never null"


@cache
def _enums_of(column: str) -> frozenset[str]:
    """The enums that the row structs decode a column of this name as."""
    structs = (getattr(rows, name) for name in ROWS)
    words = " ".join(str(get_type_hints(struct).get(column, "")) for struct in structs)
    return ENUMS.intersection(re.findall(r"\w+", words))


def _declared(conn: sqlite3.Connection, table: str, column: str) -> tuple[str, bool]:
    for _, name, type_, not_null, _, primary_key in conn.execute(f"PRAGMA table_info({table})"):
        if name == column:
            return type_, not (not_null or primary_key)
    raise LookupError(f"{table}.{column}")


def _touched_columns(conn: sqlite3.Connection, contract: Contract) -> set[tuple[str, str]]:
    """The columns that SQLite's compiler says are read or written, and all of a table inserted into."""
    touched: set[tuple[str, str]] = set()
    inserted: set[str] = set()

    def note(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in (sqlite3.SQLITE_READ, sqlite3.SQLITE_UPDATE) and first and second:
            touched.add((first, second))
        elif action == sqlite3.SQLITE_INSERT and first:
            inserted.add(first)
        return sqlite3.SQLITE_OK

    conn.set_authorizer(note)
    try:
        conn.execute(f"EXPLAIN {contract.sql}", _samples(contract)).close()
    finally:
        conn.set_authorizer(None)
    for table in inserted:
        touched.update((table, column[1]) for column in conn.execute(f"PRAGMA table_info({table})"))
    return touched


def _explain(conn: sqlite3.Connection, contract: Contract) -> list[str]:
    found = conn.execute(f"EXPLAIN QUERY PLAN {contract.sql}", _samples(contract))
    return [detail for _, _, _, detail in found]


def _result_columns(conn: sqlite3.Connection, contract: Contract) -> list[str]:
    """The names of the columns. An INSERT does not run on sample values: its list is read."""
    inserting = re.search(r"\bINSERT\b.*\bRETURNING\s+(.+?);?$", contract.sql, re.DOTALL)
    if inserting:
        return re.split(r",\s+", inserting[1])
    conn.execute("BEGIN")
    try:
        cursor = conn.execute(contract.sql, _samples(contract))
        return [column[0] for column in cursor.description]
    finally:
        conn.execute("ROLLBACK")


def _samples(contract: Contract) -> dict[str, int | str]:
    return {
        p.name: _SAMPLES.get(p.type.removesuffix(" | None"), _TEXT_SAMPLE)
        for p in contract.parameters
    }


def _row(contract: Contract) -> type[rows.Row]:
    row: type[rows.Row] = getattr(rows, contract.returns or "")
    return row


def _index_name(name: str | None) -> str:
    return "primary key" if name is None or name.startswith("sqlite_autoindex_") else name


def _names(names: set[str] | frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
