"""The functions that generated queries call: run a named query and decode its result."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from cafleet.errors import FROM_BACKUP, IntegrityError
from cafleet.store.failures import translated
from cafleet.store.repository import query
from cafleet.store.rows import Row, Source
from cafleet.texts import is_unicode

RowType = TypeVar("RowType", bound=Row)
Parameters = Mapping[str, Any]

_WHERE = re.compile(r"`\$\[(\d+)\]`$")


def many(
    conn: sqlite3.Connection, namespace: str, name: str, row: type[RowType], values: Parameters
) -> list[RowType]:
    """All rows of a query, in its order.

    Raises:
        IntegrityError: a stored value is outside its column's range.
        DatabaseError: SQLite could not run the query.
    """
    found = _run(conn, namespace, name, values, row)
    try:
        decoded: list[RowType] = msgspec.convert(found, list.__class_getitem__(row))
    except msgspec.ValidationError:
        # Decoded one by one, the first damaged row can be named.
        return [_decode(stored, row) for stored in found]
    return decoded


def each(
    conn: sqlite3.Connection,
    namespace: str,
    name: str,
    row: type[RowType],
    values: Parameters | None = None,
) -> tuple[list[RowType], list[tuple[dict[str, Any], str]]]:
    """The sound rows of a query, and each damaged row as it is stored, with a sentence about the damage.

    Raises:
        DatabaseError: SQLite could not run the query.
    """
    with translated(conn), _bytes_and_all(conn):
        found = query(namespace, name)(conn, **(values or {}))
    sound: list[RowType] = []
    damaged = []
    for stored in found:
        try:
            _refuse_undecodable(row, stored)
            sound.append(_decode(stored, row))
        except IntegrityError as failure:
            damaged.append((_named(row, stored), failure.message))
    return sound, damaged


def one(
    conn: sqlite3.Connection, namespace: str, name: str, row: type[RowType], values: Parameters
) -> RowType | None:
    """The row of a query, or ``None``. Raises as :func:`many`."""
    found = _run(conn, namespace, name, values, row)
    return None if found is None else _decode(found, row)


def scalar(
    conn: sqlite3.Connection, namespace: str, name: str, shape: Any, values: Parameters
) -> Any:
    """The one value of a query, as ``shape``. Raises as :func:`many`."""
    found = _run(conn, namespace, name, values)
    try:
        return msgspec.convert(found, shape)
    except msgspec.ValidationError:
        raise IntegrityError(
            f"{namespace}: {name} found {found!r}, which it cannot hold; restore the row {FROM_BACKUP}"
        ) from None


def change(conn: sqlite3.Connection, namespace: str, name: str, values: Parameters) -> int:
    """Run a query that writes. Returns the number of changed rows."""
    changed: int = _run(conn, namespace, name, values)
    return changed


def id_list(ids: Sequence[int]) -> str:
    """A list of ids as the one JSON parameter that ``json_each`` reads."""
    return msgspec.json.encode(ids).decode()


def _run(
    conn: sqlite3.Connection,
    namespace: str,
    name: str,
    values: Parameters,
    row: type[Row] | None = None,
) -> Any:
    called = query(namespace, name)
    try:
        return called(conn, **values)
    except (sqlite3.Error, UnicodeEncodeError) as failure:
        with translated(conn):
            if row is not None and "decode to UTF-8" in str(failure):
                _report_undecodable(conn, called, values, row)
            raise


def _report_undecodable(
    conn: sqlite3.Connection, called: Any, values: Parameters, row: type[Row]
) -> None:
    """Read the rows once more, bytes and all, to name the first text that is not UTF-8."""
    with _bytes_and_all(conn):
        found = called(conn, **values)
    for stored in found if isinstance(found, list) else [found]:
        _refuse_undecodable(row, stored)
        # An earlier row may be damaged in another way, and the first damage is named.
        _decode(stored, row)


@contextmanager
def _bytes_and_all(conn: sqlite3.Connection) -> Iterator[None]:
    """Let text that is not UTF-8 be read, with surrogates for its odd bytes."""
    conn.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        conn.text_factory = str


def _refuse_undecodable(row: type[Row], stored: Sequence[Any]) -> None:
    for index, value in enumerate(stored):
        if isinstance(value, str) and not is_unicode(value):
            raise _integrity_error(row, stored, index)


def _decode(stored: Sequence[Any], row: type[RowType]) -> RowType:
    try:
        return msgspec.convert(stored, row)
    except msgspec.ValidationError as wrong:
        where = _WHERE.search(str(wrong))
        if where is None:
            # A missing or additional column is a fault of the program, not of the data.
            raise
        raise _integrity_error(row, stored, int(where[1])) from None


def _integrity_error(row: type[Row], stored: Sequence[Any], index: int) -> IntegrityError:
    named = _named(row, stored)
    key = named[row.key]
    told = damage(row, named, row.__struct_fields__[index])
    return IntegrityError(told, key=key if isinstance(key, int) else None)


def _named(row: type[Row], stored: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(row.__struct_fields__, stored, strict=True))


def damage(
    row: type[Row],
    stored: Mapping[str, Any],
    column: str,
    what: str = "is no value of that column",
) -> str:
    """The sentence about a value in ``stored``, a result of ``row``'s shape, that ``what``."""
    source = row.joined.get(column) or Source(row.table, column, row.key, row.key)
    return (
        f"{source.table}.{source.column} holds {_shown(stored[column])} where {source.key} is "
        f"{_shown(stored[source.held_by])}, which {what}; {row.cure}"
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
