"""The `fleet` commands as text, without a final line feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cafleet.present.cells import cell, name_cell
from cafleet.present.table import table
from cafleet.present.visible import visible
from cafleet.present.wire import (
    CreatedFleetWire,
    DeletedFleetWire,
    PausedFleetWire,
    ResumedFleetWire,
    pane_status,
)
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
    if fleet.paused_at is not None:
        lines.append(f"paused_at: {cell(fleet.paused_at)}")
    return "\n".join(lines)


def paused(fleet: PausedFleetWire) -> str:
    """The fleet, and a line for each member that says what became of its pane."""
    lines = [f"Fleet {fleet.fleet_id} is paused since {cell(fleet.paused_at)}."]
    lines += [_line(each.member_id, each.outcome, each.reason) for each in fleet.members]
    return "\n".join(lines)


def resumed(fleet: ResumedFleetWire) -> str:
    """A line for each member: what was or would be done with it, and why."""
    return "\n".join(
        _line(
            each.member_id,
            " ".join(filter(None, [each.outcome, each.action, each.session])),
            each.reason,
        )
        for each in fleet.members
    )


def _line(member_id: int, what: str, reason: str | None) -> str:
    why = "" if reason is None else f" ({visible(reason)})"
    return f"{member_id} {what}{why}"


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
