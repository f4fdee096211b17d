"""The `monitor` commands as text, without a final line feed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cafleet.present.cells import ABSENT, name_cell
from cafleet.present.visible import visible, visible_body
from cafleet.present.wire import MonitorStatusWire, OwedWire, ScanWire, StoppedWire
from cafleet.records import MonitorRuntime, WakeOutcome

_NO_PANE = "—"
# So many owed notices are told one by one, the oldest.
_OLDEST = 10


def status(outcome: MonitorStatusWire, wake_reason: str | None = None) -> str:
    """The loop's health, a line each, then how much is owed to whom, and the oldest ten of it.

    ``wake_reason`` says why a wake is unproven.
    """
    wake = outcome.wake_outcome
    if wake == WakeOutcome.UNPROVEN and wake_reason is not None:
        wake = f"{wake}: {wake_reason}"
    rows = [f"fleet {outcome.fleet_id}: {'running' if outcome.running else 'not running'}"]
    rows += [
        f"{name}: {ABSENT if value is None else visible(str(value))}"
        for name, value in (
            ("pid", outcome.pid),
            ("started_at", outcome.started_at),
            ("last_tick_at", outcome.last_tick_at),
            ("tick_seconds", outcome.tick_seconds),
            ("wake_interval_seconds", outcome.wake_interval_seconds),
            ("last_wake_at", outcome.last_wake_at),
            ("wake_attempted_at", outcome.wake_attempted_at),
            ("wake_attempts", outcome.wake_attempts),
            ("wake_outcome", wake),
            ("owed", len(outcome.owed)),
            ("unsure", len(outcome.unsure)),
        )
    ]
    owed = Counter(each.to_member_id for each in outcome.owed)
    unsure = Counter(each.to_member_id for each in outcome.unsure)
    rows += [
        f"  member {member_id}: {owed[member_id]} owed, {unsure[member_id]} unsure"
        for member_id in sorted(owed | unsure)
    ]
    rows += [_notice(each) for each in outcome.owed[:_OLDEST]]
    if len(outcome.owed) > _OLDEST:
        rows.append(f"  {len(outcome.owed) - _OLDEST} more are owed; --json has them all")
    return "\n".join(rows)


def _notice(owed: OwedWire) -> str:
    reason = "" if owed.reason is None else f" ({visible(owed.reason)})"
    return (
        f"  message {owed.message_id} to member {owed.to_member_id}: {owed.state.value}{reason} since "
        f"{visible(owed.since)}"
    )


def stopped(fleet_id: int, outcome: StoppedWire) -> str:
    was = "stopped" if outcome.stopped else "was not running"
    return f"The courier of fleet {fleet_id} {was}; {barred(fleet_id)}."


def barred(fleet_id: int) -> str:
    """What a stop means for later, whether or not a courier ran."""
    return (
        f"none is started unasked until somebody runs `cafleet monitor run {fleet_id}`, with --detach in "
        f"the background"
    )


def detached(loop: MonitorRuntime) -> str:
    return (
        f"monitor loop started (fleet {loop.fleet_id}, tick {loop.tick_seconds}s, pid {loop.pid})"
    )


def scanned(scans: Sequence[ScanWire], *, ansi: bool) -> str:
    """One section per pane, a blank line between."""
    return "\n\n".join(_section(scan, ansi=ansi) for scan in scans)


def _section(scan: ScanWire, *, ansi: bool) -> str:
    pane = _NO_PANE if scan.pane_id is None else visible(scan.pane_id)
    facts = [
        name_cell(scan.name),
        f"kind={scan.kind.value}",
        f"coding_agent={scan.coding_agent.value}",
        f"pane={pane}",
    ]
    if scan.captured_at is not None:
        facts.append(f"captured_at={scan.captured_at}")
    head = f"=== {scan.member_id} ({'; '.join(facts)}) ==="
    if scan.content is None:
        return f"{head}\n{visible(scan.error or '')}"
    return f"{head}\n{scan.content if ansi else visible_body(scan.content)}"
