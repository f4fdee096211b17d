"""Whether the rows mean something: each as its table allows, and all of them together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from cafleet import clock
from cafleet.broker.assets import stored_installs
from cafleet.broker.cards import card_fault
from cafleet.broker.fleets import database_id
from cafleet.errors import FROM_BACKUP, IntegrityError
from cafleet.settings import LARGEST_INTEGER
from cafleet.store import Connection, queries
from cafleet.store.access import damage
from cafleet.store.files import page
from cafleet.store.rows import Row

_PAGE = 500
_TIME = re.compile(r"(?:.+_)?(?:at|since|timestamp)")


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    """How a table is read in pages, and which query judges the same rows by each other.

    ``noun`` is what its rows are called in a finding.
    """

    name: str
    noun: str
    read: Callable[..., Sequence[Row]]
    judge: Callable[..., Sequence[Any]] | None = None


_TABLES = (
    _Table(
        name="fleets",
        noun="fleet",
        read=queries.list_stored_fleets,
        judge=queries.list_fleet_faults,
    ),
    _Table(
        name="members",
        noun="member",
        read=queries.list_stored_members,
        judge=queries.list_member_faults,
    ),
    _Table(
        name="member_placements",
        noun="placement",
        read=queries.list_stored_placements,
    ),
    _Table(
        name="messages",
        noun="message",
        read=queries.list_stored_messages,
        judge=queries.list_message_faults,
    ),
    _Table(
        name="delivery_events",
        noun="event",
        read=queries.list_stored_delivery_events,
    ),
    _Table(
        name="typings",
        noun="the text for member",
        read=queries.list_stored_typings,
    ),
    _Table(
        name="typing_messages",
        noun="the typing of message",
        read=queries.list_stored_typing_messages,
    ),
    _Table(
        name="waits",
        noun="wait",
        read=queries.list_stored_waits,
    ),
    _Table(
        name="reserved_members",
        noun="reserved member",
        read=queries.list_stored_reservations,
    ),
    _Table(
        name="left_processes",
        noun="left process",
        read=queries.list_stored_left_processes,
    ),
    _Table(
        name="member_launches",
        noun="the start of member",
        read=queries.list_stored_launches,
    ),
    _Table(
        name="member_launch_arguments",
        noun="argument",
        read=queries.list_stored_launch_arguments,
    ),
    _Table(
        name="monitor_runtime",
        noun="the courier of fleet",
        read=queries.list_stored_monitor_runtime,
        judge=queries.list_monitor_runtime_faults,
    ),
)


def row_faults(conn: Connection) -> Iterator[tuple[str, Iterator[str]]]:
    """Each table with the faults of its rows, a sentence each, found as they are asked for.

    Every row is decoded, whole. The tables that grow are read in pages, each of a moment's length,
    so that nobody waits for this.
    """
    for table in _TABLES:
        yield table.name, _paged(conn, table)
    yield "asset_installs", _installs(conn)
    yield "schema_migrations", _ledger(conn)
    yield "database_identity", _identity(conn)
    yield "members", _duplicate_monitors(conn)


def remarks(conn: Connection) -> Iterator[str]:
    """What is worth knowing of the rows, and no fault, a sentence each."""
    for row in queries.list_missing_senders(conn):
        yield (
            f"member {row.member_id} has no row any more, and {row.message_count} messages from it are "
            f"kept; they are shown with its id and without a name"
        )


def _paged(conn: Connection, table: _Table) -> Iterator[str]:
    after = -LARGEST_INTEGER
    while True:
        rows, damage, until = _page(conn, table, after)
        yield from _values(rows)
        if damage is not None:
            yield damage
        yield from _judged(conn, table, after, until)
        if until == LARGEST_INTEGER:
            return
        after = until


def _page(conn: Connection, table: _Table, after: int) -> tuple[Sequence[Row], str | None, int]:
    """The next rows up to the first that cannot be decoded, what is wrong with that one, and the id
    up to which all is read."""
    try:
        rows = table.read(conn, after_id=after, until_id=LARGEST_INTEGER, limit=_PAGE)
    except IntegrityError as damage:
        if damage.key is None:
            raise
        rows = table.read(conn, after_id=after, until_id=damage.key - 1, limit=_PAGE)
        return rows, damage.message, damage.key
    return rows, None, _key(rows[-1]) if len(rows) == _PAGE else LARGEST_INTEGER


def _judged(conn: Connection, table: _Table, after: int, until: int) -> Iterator[str]:
    if table.judge is not None:
        for row in table.judge(conn, after_id=after, until_id=until):
            yield f"{table.noun} {_key(row)} {row.fault}; correct that row, or restore it {FROM_BACKUP}"


def _installs(conn: Connection) -> Iterator[str]:
    sound, damaged = stored_installs(conn)
    yield from _values(sound)
    yield from (row.fault for row in damaged)


def _ledger(conn: Connection) -> Iterator[str]:
    try:
        yield from _values(queries.list_applied_migrations(conn))
    except IntegrityError as failure:
        yield failure.message


def _identity(conn: Connection) -> Iterator[str]:
    try:
        found = database_id(conn)
    except IntegrityError as failure:
        yield failure.message
        return
    if re.fullmatch("[0-9a-f]{32}", found) is None:
        yield f"database_identity.database_id holds {found[:80]!r}, which is no id; restore it {FROM_BACKUP}"


def _duplicate_monitors(conn: Connection) -> Iterator[str]:
    for row in queries.list_duplicate_monitors(conn):
        yield (
            f"member {row.member_id} is not the only active monitor of fleet {row.fleet_id}; "
            f"{page('recovery.md')} has what to do"
        )


def _values(rows: Iterable[Row]) -> Iterator[str]:
    """What is wrong with values that a column can hold and that the program never writes there."""
    for row in rows:
        stored = msgspec.structs.asdict(row)
        for column, value in stored.items():
            wrong = None if value is None else _wrong(column, value)
            if wrong is not None:
                yield damage(type(row), stored, column, wrong)


def _wrong(column: str, value: Any) -> str | None:
    if column == "member_card_json":
        return card_fault(value)
    if _TIME.fullmatch(column) and not clock.is_sorted(value):
        return "is no time as the program writes it"
    return None


def _key(row: Row) -> Any:
    return getattr(row, row.key)
