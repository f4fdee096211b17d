"""Look up fleets."""

from __future__ import annotations

from datetime import datetime

import msgspec

from cafleet import clock
from cafleet.broker.composing import record, records
from cafleet.broker.ids import is_id
from cafleet.errors import FROM_BACKUP, IntegrityError, RefusedError, UnknownIdError
from cafleet.records import FleetRecord, FleetSummary
from cafleet.store import Connection, queries
from cafleet.store.access import each
from cafleet.store.connection import transaction
from cafleet.store.rows import FleetStatusRow


def database_id(conn: Connection) -> str:
    """The random id of this database. It stands in the tags of its panes.

    Raises:
        IntegrityError: the row is missing.
    """
    found = queries.get_database_id(conn)
    if found is None:
        raise IntegrityError(f"database_identity has no row; restore the database {FROM_BACKUP}")
    return found


def list_fleets(conn: Connection) -> tuple[list[FleetSummary], dict[int, str]]:
    """The living fleets, newest first, each with the number of its active members.

    A fleet has no such number if the status of a member is not known. The second result says why,
    by fleet id.
    """
    faults = _unknown_statuses(conn)
    return [
        msgspec.structs.replace(fleet, member_count=None) if fleet.fleet_id in faults else fleet
        for fleet in records(queries.list_fleets(conn), FleetSummary)
    ], faults


def _unknown_statuses(conn: Connection) -> dict[int, str]:
    """By living fleet, a sentence about the first member whose status is not known."""
    try:
        queries.list_living_statuses(conn)
    except IntegrityError:
        _, unknown = each(conn, "members", "list_living_statuses", FleetStatusRow)
        return {stored["fleet_id"]: fault for stored, fault in reversed(unknown)}
    return {}


def living_ids(conn: Connection) -> list[int]:
    """The ids of the living fleets, newest first. Damaged members do not matter."""
    return [fleet.fleet_id for fleet in queries.list_fleets(conn)]


def check_statuses(conn: Connection, *, fleet_id: int) -> None:
    """Refuse to go on where nobody can say who the active members of a fleet are.

    Raises:
        IntegrityError: the status of a member is not known.
    """
    queries.list_statuses(conn, fleet_id=fleet_id)


def count_active(conn: Connection, *, fleet_id: int) -> int:
    """How many members of a fleet are active. Raises as :func:`check_statuses`."""
    return len(queries.list_statuses(conn, fleet_id=fleet_id))


def get(conn: Connection, *, fleet_id: int) -> FleetRecord:
    """A fleet, deleted or not.

    Raises:
        UnknownIdError: there is none with this id.
    """
    fleet = queries.get_fleet(conn, fleet_id=fleet_id) if is_id(fleet_id) else None
    if fleet is None:
        raise UnknownIdError(
            f"fleet {fleet_id} does not exist; `cafleet fleet list` shows the fleets"
        )
    return record(fleet, FleetRecord)


def refuse_paused(conn: Connection, *, fleet_id: int) -> None:
    """Raise RefusedError if a fleet is paused: nothing starts in it until it is resumed."""
    fleet = get(conn, fleet_id=fleet_id)
    if fleet.paused_at is not None:
        raise RefusedError(
            f"fleet {fleet_id} is paused since {fleet.paused_at}; go on with it with "
            f"`cafleet fleet resume {fleet_id}`"
        )


def pause(conn: Connection, *, fleet_id: int, now: datetime) -> FleetRecord:
    """Pause a living fleet; one that is paused already stays paused since then.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
    """
    with transaction(conn):
        queries.mark_fleet_paused(conn, fleet_id=fleet_id, now=clock.stamp(now))
        return get_living(conn, fleet_id=fleet_id)


def resume(conn: Connection, *, fleet_id: int) -> bool:
    """End the pause of a fleet. Returns whether it was paused."""
    with transaction(conn):
        return bool(queries.mark_fleet_resumed(conn, fleet_id=fleet_id))


def get_living(conn: Connection, *, fleet_id: int) -> FleetRecord:
    """A fleet that is not deleted.

    Raises:
        UnknownIdError: there is none with this id.
    """
    fleet = get(conn, fleet_id=fleet_id)
    if fleet.deleted_at is not None:
        raise UnknownIdError(
            f"fleet {fleet_id} was deleted at {fleet.deleted_at}; `cafleet fleet list` shows the fleets"
        )
    return fleet
