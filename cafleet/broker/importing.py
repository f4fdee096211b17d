"""Importing the fleets of a database of the published Python program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from cafleet import clock
from cafleet.broker.cards import kind_of, write_card
from cafleet.errors import IntegrityError, RefusedError
from cafleet.records import DeliveryState, MemberKind, MessageType
from cafleet.settings import LARGEST_INTEGER
from cafleet.store import Connection, queries
from cafleet.store.access import RowType, each
from cafleet.store.catalogue import columns, table_names
from cafleet.store.connection import transaction
from cafleet.store.predecessor import NEEDED, unknown_revisions
from cafleet.store.rows import (
    PredecessorFleetRow,
    PredecessorMemberRow,
    PredecessorMessageRow,
    PredecessorPlacementRow,
)

_PAGE = 500
_TABLES = ("fleets", "members", "member_placements", "messages")
# Where a table of the old program has no place here, what it was for.
_WITHOUT_PLACE = {
    "monitor_config": "how often each member was pinged",
    "monitor_runtime": "the process ids of its monitor loops",
    "asset_installs": "its own skills, which `cafleet setup` replaces",
    "skill_installs": "its own skills, which `cafleet setup` replaces",
}
# A row above it gets a new id: the ids after it have to last, and a browser has to tell them apart.
_LARGEST_KEPT = 2**53 - 1
_RETIRED_KIND = "monitoring-member"


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """``counts`` are the rows that came, by table. ``notes`` are sentences on ids that changed, on
    what is otherwise here than there, and on what was left out."""

    counts: dict[str, int]
    notes: list[str]


class Ids:
    """Which id each row gets here: its own where no row here has ever had it, else the next one."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._next = last
        self._given: dict[int, int] = {}
        self._rows: set[int] = set()

    def give(self, old: Sequence[int]) -> None:
        """Decide for all rows of a table at once, so that new ids do not take old ones."""
        self._rows = set(old)
        kept = [row_id for row_id in old if self._last < row_id <= _LARGEST_KEPT]
        self._given = {row_id: row_id for row_id in kept}
        self._next = max([self._last, *kept])
        for row_id in old:
            self.of(row_id)

    def of(self, old: int) -> int:
        """The id here. One that no row has there, such as a lost sender's, is one that no row has here
        either: its own if that is above all others, else the next one."""
        if old not in self._given:
            self._next = old if self._next < old <= _LARGEST_KEPT else self._next + 1
            self._given[old] = self._next
        return self._given[old]

    def changed(self) -> dict[int, int]:
        """Old and new, where they differ."""
        return {old: new for old, new in sorted(self._given.items()) if old != new}

    def __contains__(self, old: int) -> bool:
        """Whether the row itself comes, not only its number in another row."""
        return old in self._rows

    @property
    def last(self) -> int:
        """The largest id that was given."""
        return self._next


def missing_fleets(conn: Connection | None, source: Connection) -> list[PredecessorFleetRow]:
    """The fleets of ``source`` that were not imported yet: all of them where there is no database to
    import them to. One is known by its birth, to the microsecond, and its name.

    Raises:
        DatabaseError: one of the databases cannot be read.
    """
    here = {} if conn is None else _births(conn)
    sound, _ = _read(source, "fleets", queries.list_predecessor_fleets, PredecessorFleetRow)
    return [row for row in sound if (_time(row.created_at), row.name) not in here]


def import_fleets(
    conn: Connection, source: Connection, *, still_the_same: Callable[[], None]
) -> ImportReport:
    """Bring the fleets of ``source``, a database of the published Python program, with their members,
    placements and messages into the database on ``conn``, in one transaction.

    Fleets that are here already are left out. ``still_the_same`` is called before the commit, and
    raises if ``source`` was written meanwhile.

    Raises:
        DatabaseError: one of the databases cannot be read or written; nothing was imported.
    """
    with transaction(conn):
        work = _Import(conn, source)
        work.run()
        still_the_same()
    return ImportReport(counts=work.counts, notes=[*work.notes, *_without_place(source)])


class _Import:
    """One import, in a transaction of its caller."""

    def __init__(self, conn: Connection, source: Connection) -> None:
        self._conn = conn
        self._source = source
        last = {row.name: row.seq for row in queries.list_last_ids(conn)}
        self._fleets = Ids(last.get("fleets", 0))
        self._members = Ids(last.get("members", 0))
        self._messages = Ids(last.get("messages", 0))
        self._all_fleets: list[PredecessorFleetRow] = []
        # The members of all fleets, those that are here already among them.
        self._known: set[int] = set()
        self.counts = dict.fromkeys(_TABLES, 0)
        self.notes: list[str] = []

    def run(self) -> None:
        fleets = self._import_fleets()
        self._import_members()
        for row in fleets:
            director, fleet_id = row.director_member_id, self._fleets.of(row.fleet_id)
            if director is not None and director in self._members:
                queries.set_fleet_director(
                    self._conn,
                    fleet_id=fleet_id,
                    director_member_id=self._members.of(director),
                )
            else:
                self.notes.append(f"fleet {fleet_id} has no Director, because it had none there")
        self._import_placements()
        self._import_messages()
        self._note_ids("fleet", self._fleets)
        self._note_ids("member", self._members)
        changed = self._messages.changed()
        if changed:
            self.notes.append(
                f"{_counted(len(changed), 'message')} got new ids, from {min(changed.values())} to "
                f"{max(changed.values())}"
            )
        # What is named and is not there keeps a number that means nothing, for good.
        queries.set_last_id(self._conn, name="members", last_id=self._members.last)
        queries.set_last_id(self._conn, name="messages", last_id=self._messages.last)

    def _import_fleets(self) -> list[PredecessorFleetRow]:
        here = _births(self._conn)
        wanted = []
        self._all_fleets = self._sound(
            "fleets", queries.list_predecessor_fleets, PredecessorFleetRow
        )
        for row in self._all_fleets:
            known = here.get((_time(row.created_at), row.name))
            if known is None:
                wanted.append(row)
            else:
                self.notes.append(
                    f"fleet {row.fleet_id} is here already, as fleet {known}; left out"
                )
        self._fleets.give([row.fleet_id for row in wanted])
        for row in wanted:
            queries.insert_imported_fleet(
                self._conn,
                fleet_id=self._fleets.of(row.fleet_id),
                name=row.name,
                created_at=_time(row.created_at),
                deleted_at=_time(row.deleted_at),
            )
            self.counts["fleets"] += 1
        return wanted

    def _import_members(self) -> None:
        rows = self._sound("members", queries.list_predecessor_members, PredecessorMemberRow)
        wanted = [row for row in rows if row.fleet_id in self._fleets]
        self._known = {row.member_id for row in rows}
        fleets = {row.fleet_id for row in self._all_fleets}
        self.notes += [
            f"left out: member {row.member_id} of fleet {row.fleet_id}, which is not there"
            for row in rows
            if row.fleet_id not in fleets
        ]
        self._members.give([row.member_id for row in wanted])
        _refuse_second_monitors(wanted)
        for row in wanted:
            queries.insert_imported_member(
                self._conn,
                member_id=self._members.of(row.member_id),
                fleet_id=self._fleets.of(row.fleet_id),
                name=row.name,
                description=row.description,
                status=row.status,
                registered_at=_time(row.registered_at),
                deregistered_at=_time(row.deregistered_at),
                member_card_json=self._card(row),
            )
            self.counts["members"] += 1

    def _card(self, row: PredecessorMemberRow) -> str:
        """The card without the marker of the retired kind, as V3 leaves it."""
        member_id = self._members.of(row.member_id)
        try:
            card = msgspec.json.decode(row.member_card_json)
        except (msgspec.DecodeError, TypeError, RecursionError):
            self.notes.append(f"the card of member {member_id} was no JSON; it has a new one")
            return write_card(row.name, row.description, monitor=False)
        marker = card.get("cafleet") if isinstance(card, dict) else None
        if not isinstance(marker, dict) or marker.get("kind") != _RETIRED_KIND:
            return str(row.member_card_json)
        if row.status == "active":
            self.notes.append(
                f"member {member_id} was the monitor of fleet {self._fleets.of(row.fleet_id)} and is an "
                f"ordinary member here; `cafleet member create --role monitor` starts another"
            )
        del card["cafleet"]
        return msgspec.json.encode(card).decode()

    def _import_placements(self) -> None:
        for row in self._sound(
            "member_placements", queries.list_predecessor_placements, PredecessorPlacementRow
        ):
            if row.member_id in self._members:
                queries.insert_placement(
                    self._conn,
                    member_id=self._members.of(row.member_id),
                    backend=row.backend,
                    mux_socket=None,
                    mux_server_pid=None,
                    mux_session=row.mux_session,
                    mux_window_id=row.mux_window_id,
                    mux_pane_id=row.mux_pane_id,
                    coding_agent=row.coding_agent,
                    now=_time(row.created_at),
                )
                self.counts["member_placements"] += 1

    def _import_messages(self) -> None:
        # All ids are given before the first message is written: an origin may come later.
        self._messages.give([row.message_id for row in self._owned_messages(is_telling=True)])
        for row in self._owned_messages(is_telling=False):
            is_to_nobody = (
                row.type is MessageType.BROADCAST_SUMMARY
                or row.owner_member_id == row.from_member_id
            )
            queries.insert_imported_message(
                self._conn,
                message_id=self._messages.of(row.message_id),
                owner_member_id=self._members.of(row.owner_member_id),
                from_member_id=self._members.of(row.from_member_id),
                to_member_id=_mapped(self._members, row.to_member_id),
                type=row.type,
                created_at=_time(row.created_at),
                status_state=row.status_state,
                status_timestamp=_time(row.status_timestamp),
                origin_message_id=_mapped(self._messages, row.origin_message_id),
                text=row.text,
                # Old messages are never typed, as V9 has it.
                delivery_state=DeliveryState.NONE if is_to_nobody else DeliveryState.SEEN,
            )
            self.counts["messages"] += 1

    def _owned_messages(self, *, is_telling: bool) -> Iterator[PredecessorMessageRow]:
        """The messages of the members that come; what is wrong with others is told once."""
        after, ownerless = -LARGEST_INTEGER, 0
        while True:
            sound, damaged = _read(
                self._source,
                "messages",
                queries.list_predecessor_messages,
                PredecessorMessageRow,
                {"after_id": after, "limit": _PAGE},
            )
            if is_telling:
                self.notes += [f"left out: {fault}" for _, fault in damaged]
            for row in sound:
                if row.owner_member_id in self._members:
                    yield row
                elif row.owner_member_id not in self._known:
                    ownerless += 1
            read = [row.message_id for row in sound] + [row["message_id"] for row, _ in damaged]
            if len(read) < _PAGE:
                break
            after = max(read)
        if ownerless and is_telling:
            self.notes.append(
                f"left out: {_counted(ownerless, 'message')} of members that are not there"
            )

    def _sound(
        self, table: str, query: Callable[..., list[RowType]], row: type[RowType]
    ) -> list[RowType]:
        sound, damaged = _read(self._source, table, query, row)
        self.notes += [f"left out: {fault}" for _, fault in damaged]
        return sound

    def _note_ids(self, noun: str, ids: Ids) -> None:
        self.notes += [f"{noun} {old} is {noun} {new} here" for old, new in ids.changed().items()]


def _refuse_second_monitors(rows: Sequence[PredecessorMemberRow]) -> None:
    """Raise RefusedError where two active members of one fleet are its monitor."""
    monitors: dict[int, int] = {}
    for row in rows:
        kind = kind_of(row.member_card_json, row.member_id, None)
        if row.status != "active" or kind is not MemberKind.MONITOR:
            continue
        first = monitors.setdefault(row.fleet_id, row.member_id)
        if first != row.member_id:
            raise RefusedError(
                f"members {first} and {row.member_id} of fleet {row.fleet_id} there are both active "
                f"monitors, nothing was imported; deregister one of them in the old database"
            )


def _read(
    source: Connection,
    table: str,
    query: Callable[..., list[RowType]],
    row: type[RowType],
    values: Mapping[str, Any] | None = None,
) -> tuple[list[RowType], list[tuple[dict[str, Any], str]]]:
    """The rows of a query that can be used, and each other one with what is wrong with it."""
    try:
        return query(source, **(values or {})), []
    except IntegrityError:
        return each(source, table, query.__name__, row, values)


def _births(conn: Connection) -> Mapping[tuple[str, str | None], int]:
    rows = queries.list_stored_fleets(
        conn, after_id=-LARGEST_INTEGER, until_id=LARGEST_INTEGER, limit=LARGEST_INTEGER
    )
    return {(row.created_at, row.name): row.fleet_id for row in rows}


def _without_place(source: Connection) -> list[str]:
    names = table_names(source) - {*_TABLES, "alembic_version"}
    tables = [
        f"table {name} has no place here"
        + (f": {_WITHOUT_PLACE[name]}" if name in _WITHOUT_PLACE else "")
        for name in sorted(names)
    ]
    others = unknown_revisions(source)
    revisions = [
        f"alembic revision {each} is none that cafleet 0.18 to 0.22 left" for each in others
    ]
    unread = {table: columns(source, table) - NEEDED[table] for table in _TABLES}
    return [*revisions, *tables] + [
        f"column {table}.{name} has no place here"
        for table, names in unread.items()
        for name in sorted(names)
    ]


def _mapped(ids: Ids, old: int | None) -> int | None:
    return None if old is None else ids.of(old)


def _time(text: Any) -> Any:
    """A stored time in the one form that it has here; one that cannot be read stays as it is."""
    moment = None if text is None else clock.read(text)
    return text if moment is None else clock.stamp(moment)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
