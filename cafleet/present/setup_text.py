"""What `setup` says, without a final line feed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cafleet import __version__
from cafleet.present.visible import visible

if TYPE_CHECKING:
    from cafleet.broker.importing import ImportReport
    from cafleet.operations.setup import AgentOutcome
    from cafleet.store.migrate import MigrationReport


def migrated(path: str, report: MigrationReport) -> str:
    """One line for what was done to the database, one for the copy that was put aside."""
    lines = [f"database {visible(path)}: {_change(report)}"]
    if report.is_installs_remade:
        lines.append("its table asset_installs was lost and is made again")
    if report.backup is not None:
        lines.append(f"copied the database as it was to {visible(report.backup)}")
    lines += [visible(sentence) for sentence in report.left_out]
    if report.wal_refusal is not None:
        lines.append(
            f"journal mode is {report.journal_mode}: WAL does not work here ({report.wal_refusal}), so "
            "readers wait while something is written"
        )
    return "\n".join(lines)


_NOUNS = {
    "fleets": "fleet",
    "members": "member",
    "member_placements": "placement",
    "messages": "message",
}


def imported(source: str, report: ImportReport) -> str:
    """One line for what came, one for each thing that is otherwise here or was left out."""
    counts = [
        f"{count} {_NOUNS[table]}{'' if count == 1 else 's'}"
        for table, count in report.counts.items()
    ]
    lines = [f"imported {visible(source)}: {', '.join(counts)}"]
    return "\n".join([*lines, *(f"  {visible(note)}" for note in report.notes)])


def installed(outcome: AgentOutcome) -> str | None:
    """One line for an agent's assets, and one for each thing that was in their way; null if they
    are not installed."""
    done = outcome.installed
    if done is None:
        return None
    what = "installed" if done.is_changed else "already has"
    lines = [f"{outcome.coding_agent} {visible(done.path)}: {what} the assets of {__version__}"]
    lines += [f"  {visible(note)}" for note in done.notes]
    if outcome.forgotten:
        named = ", ".join(visible(what) for what in outcome.forgotten)
        lines.append(f"  deleted {len(outcome.forgotten)} damaged rows of asset_installs ({named})")
    return "\n".join(lines)


def failed(database: str | None, importing: str | None, assets: str | None) -> str:
    """One sentence that names the parts that failed, each with its own."""
    parts = [("database half", database), ("import", importing), ("assets half", assets)]
    told = [f"its {part}: {why}" for part, why in parts if why is not None]
    return f"setup failed in {'; and in '.join(told)}"


def _change(report: MigrationReport) -> str:
    if report.from_version == 0:
        return f"created and migrated to {report.to_version}"
    if report.from_version == report.to_version:
        return f"already at {report.to_version}"
    return f"upgraded from {report.from_version} to {report.to_version}"
