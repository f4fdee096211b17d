"""Check a database as a file and as a schema, without its rows."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import msgspec

from cafleet.errors import FROM_BACKUP
from cafleet.store import queries
from cafleet.store.catalogue import INSTALLS, REFINERY
from cafleet.store.failures import translated
from cafleet.store.files import schema_path
from cafleet.store.reference import database_at
from cafleet.store.rows import SchemaObjectRow

_TOKEN = re.compile(r"'(?:''|[^'])*'|\w+|[^\s\w]")
# What a table may be declared with beside its columns and keys.
_CLAUSES = frozenset(
    [
        "autoincrement",
        "check",
        "collate",
        "conflict",
        "deferrable",
        "generated",
        "strict",
        "unique",
        "without",
    ]
)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A table or an index that differs. ``entry`` is the wanted one. ``odd`` names the columns that differ,
    if it is there."""

    entry: SchemaObjectRow
    is_missing: bool
    odd: str = ""


def integrity_faults(conn: sqlite3.Connection, original: str | None = None) -> Iterator[str]:
    """The findings of SQLite's own check of the file, at most a hundred, a line each.

    Raises:
        DatabaseError: the check itself fails; names the file ``original`` if this is a copy of it.
    """
    with translated(original or conn):
        found = conn.execute("PRAGMA integrity_check").fetchall()
    for (text,) in found:
        if text != "ok":
            yield " ".join(str(text).split())


def broken_references(conn: sqlite3.Connection) -> Iterator[str]:
    """Every row that refers to a row that is not there."""
    with translated(conn), closing(conn.execute("PRAGMA foreign_key_check")) as found:
        for table, row_id, parent, number in found:
            column = _referring_columns(conn, table)[number]
            yield (
                f"{table}.{column} of row {row_id} refers to a row of {parent} that is not there; "
                f"correct that row, or restore the database {FROM_BACKUP}"
            )


def _referring_columns(conn: sqlite3.Connection, table: str) -> dict[int, str]:
    rows = conn.execute(f"PRAGMA foreign_key_list({_quoted(table)})").fetchall()
    return {number: column for number, _, _, column, *_ in rows}


def schema_differences(conn: sqlite3.Connection) -> Iterator[str]:
    """The tables, indexes, views and triggers that differ from those of the migrations, a sentence each."""
    with closing(database_at(queries.SCHEMA_VERSION)) as reference:
        schema = schema_path()
        for different in differences(conn, reference):
            entry = different.entry
            if different.is_missing:
                yield f"{entry.type} {entry.name} is missing; {_cure(entry, schema)}"
            else:
                yield (
                    f"{entry.type} {entry.name} is not as {schema} has it{different.odd}; make it so "
                    f"again"
                )
        for entry in strangers(conn, reference):
            if entry.name != REFINERY:
                yield f"{entry.type} {entry.name} is not cafleet's; drop it, or keep it elsewhere"


def differences(conn: sqlite3.Connection, reference: sqlite3.Connection) -> Iterator[Difference]:
    """The objects of ``reference`` that are missing on ``conn`` or declared differently there.

    Declarations are compared by what they mean: columns with their types, keys and defaults, foreign
    keys and their actions, AUTOINCREMENT and other clauses, the columns and conditions of indexes.
    """
    found = _objects(conn)
    for name, entry in _objects(reference).items():
        if name not in found:
            yield Difference(entry=entry, is_missing=True)
        elif not _is_same(conn, found[name], reference, entry):
            odd = _odd_columns(_columns(conn, name), _columns(reference, name))
            yield Difference(entry=entry, is_missing=False, odd=odd)


def strangers(conn: sqlite3.Connection, reference: sqlite3.Connection) -> Iterator[SchemaObjectRow]:
    """The tables, indexes, views and triggers that ``reference`` does not have."""
    known = _objects(reference).keys()
    yield from (entry for name, entry in _objects(conn).items() if name not in known)


def losses(conn: sqlite3.Connection, version: int) -> list[str]:
    """The tables and indexes of schema ``version`` that are missing, by name alone.

    The table of installations may be missing. Indexes of a missing table are not listed.
    """
    found = _objects(conn)
    with closing(database_at(version)) as reference:
        return [
            f"{entry.type} {entry.name}"
            for entry in _objects(reference).values()
            if entry.name not in found
            and entry.name != INSTALLS
            and (entry.type == "table" or entry.tbl_name in found)
        ]


def _cure(lost: SchemaObjectRow, schema: str) -> str:
    if lost.name == INSTALLS:
        return "run `cafleet setup`"
    if lost.type == "table":
        return f"restore the database {FROM_BACKUP}"
    return f"make it again as {schema} has it"


def _objects(conn: sqlite3.Connection) -> dict[str, SchemaObjectRow]:
    return {entry.name: entry for entry in queries.list_schema_objects(conn)}


def _is_same(
    conn: sqlite3.Connection,
    found: SchemaObjectRow,
    reference: sqlite3.Connection,
    wanted: SchemaObjectRow,
) -> bool:
    if found.type != wanted.type or _tokens(found) == _tokens(wanted):
        return found.type == wanted.type
    # The predecessor may have written the same table otherwise.
    return found.type == "table" and _structure(conn, found) == _structure(reference, wanted)


def _tokens(entry: SchemaObjectRow) -> list[str]:
    """The words of a definition without differences that do not matter: case, blanks, quotes of names."""
    words = _TOKEN.findall(re.sub(r'["`\[\]]|\bIF NOT EXISTS\b', " ", entry.sql))
    return [word if word.startswith("'") else word.lower() for word in words]


def _structure(conn: sqlite3.Connection, entry: SchemaObjectRow) -> tuple[object, ...]:
    with translated(conn):
        references = conn.execute(f"PRAGMA foreign_key_list({_quoted(entry.name)})").fetchall()
    return (
        _columns(conn, entry.name),
        {tuple(reference[2:]) for reference in references},
        _CLAUSES & set(_tokens(entry)),
    )


def _columns(conn: sqlite3.Connection, table: str) -> dict[str, tuple[object, ...]]:
    """How each column is declared, by its name."""
    with translated(conn):
        columns = conn.execute(f"PRAGMA table_xinfo({_quoted(table)})").fetchall()
    return {column: (type_.upper(), *rest) for _, column, type_, *rest in columns}


def _odd_columns(
    found: dict[str, tuple[object, ...]], wanted: dict[str, tuple[object, ...]]
) -> str:
    odd = [f"{column} is missing" for column in wanted.keys() - found.keys()]
    odd += [f"{column} is not cafleet's" for column in found.keys() - wanted.keys()]
    odd += [
        f"{column} is declared otherwise"
        for column in found.keys() & wanted.keys()
        if found[column] != wanted[column]
    ]
    return f" ({', '.join(sorted(odd))})" if odd else ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
