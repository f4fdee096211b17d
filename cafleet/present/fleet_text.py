"""The `fleet` commands as text, without a final line feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cafleet.present.cells import cell, name_cell
from cafleet.present.table import table
from cafleet.present.wire import CreatedFleetWire, DeletedFleetWire, pane_status
from cafleet.records import FleetRecord, FleetSummary

_COLUMNS = ("FLEET_ID", "DIRECTOR", "NAME", "MEMBERS", "CREATED_AT")
# What `panes` says of a pane that no longer runs.
_ENDED = frozenset({"killed", "already gone"})


def created(fleet: CreatedFleetWire) -> str:
    ids = f"{fleet.fleet_id} director={fleet.director.member_id} monitor={fleet.monitor.member_id}"
    return f"{ids}\nmonitor loop pid={fleet.monitor_loop.pid}"


def listed(fleets: Sequence[FleetSummary], faults: Mapping[int, str]) -> str:
    """A line for each fleet; ``faults`` say by fleet id why its members are not counted."""
    if not fleets:
        return "No fleets; start one with 'cafleet fleet create'."
    rows = [
        [
            cell(fleet.fleet_id),
            cell(fleet.director_member_id),
            name_cell(fleet.name),
            cell(fleet.member_count),
            "  ".join([cell(fleet.created_at), *map(cell, _of(fleet, faults))]),
        ]
        for fleet in fleets
    ]
    return table(_COLUMNS, rows)


def _of(fleet: FleetSummary, faults: Mapping[int, str]) -> list[str]:
    return [faults[fleet.fleet_id]] if fleet.fleet_id in faults else []


def shown(fleet: FleetRecord) -> str:
    lines = [
        f"fleet_id: {fleet.fleet_id}",
        f"name: {name_cell(fleet.name)}",
        f"created_at: {cell(fleet.created_at)}",
    ]
    if fleet.deleted_at is not None:
        lines.append(f"deleted_at: {cell(fleet.deleted_at)}")
    return "\n".join(lines)


def deleted(fleet_id: int, outcome: DeletedFleetWire) -> str:
    """The fleet, the number of members deregistered, and a line for each pane that still runs."""
    running = [
        f"member {pane.member_id}: pane {cell(pane_status(pane.pane_id, pane.status))}"
        for pane in outcome.panes
        if pane.pane_id is not None and pane.status not in _ENDED
    ]
    return "\n".join(
        [f"Fleet {fleet_id} deleted.", f"deregistered: {outcome.deregistered_count}", *running]
    )
