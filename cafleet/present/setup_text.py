"""What `setup` says, without a final line feed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cafleet.present.visible import visible

if TYPE_CHECKING:
    from cafleet.store.migrate import MigrationReport


def migrated(path: str, report: MigrationReport) -> str:
    """One line for what was done to the database, one for the copy that was put aside."""
    lines = [f"database {visible(path)}: {_change(report)}"]
    if report.backup is not None:
        lines.append(f"copied the database as it was to {visible(report.backup)}")
    if report.journal_mode != "wal":
        lines.append(
            f"journal mode is {report.journal_mode}: the file system refuses WAL, so readers wait "
            "while something is written"
        )
    return "\n".join(lines)


def _change(report: MigrationReport) -> str:
    if report.from_version == 0:
        return f"created and migrated to {report.to_version}"
    if report.from_version == report.to_version:
        return f"already at {report.to_version}"
    return f"upgraded from {report.from_version} to {report.to_version}"
