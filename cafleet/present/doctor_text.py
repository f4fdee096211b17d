"""What `doctor` says, without a final line feed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cafleet import settings
from cafleet.errors import NoHomeError
from cafleet.present.cells import ABSENT
from cafleet.present.frame import framed
from cafleet.present.visible import visible

if TYPE_CHECKING:
    from cafleet.operations.findings import (
        AgentFindings,
        AgentsFindings,
        DatabaseFindings,
        Diagnosis,
        MultiplexerFindings,
    )
    from cafleet.operations.orphans import MendedPane

_NO_VERSION = "no version"
_COLUMNS = ("agent", "path", "source", "setup")


def diagnosed(found: Diagnosis) -> str:
    """The version, the three sections, and last the number of issues."""
    issues = "1 issue" if found.issues == 1 else f"{found.issues} issues"
    lines = [
        f"cafleet {found.coding_agents.cli_version}",
        "",
        *_multiplexer(found.multiplexer),
        "",
        *_database(found.database),
        "",
        *_agents(found.coding_agents, is_known=found.database.ok),
        "",
        issues,
    ]
    return "\n".join(lines)


def mended(pane: MendedPane) -> str:
    """What became of an orphan pane."""
    return f"pane {visible(pane.pane_id)} {pane.outcome}"


def _head(ok: bool, title: str, text: str) -> str:
    return f"{'✓' if ok else '✗'} {title}{': ' if text else ''}{visible(text)}"


def _multiplexer(found: MultiplexerFindings) -> list[str]:
    lines = [_head(found.ok, "multiplexer", found.error or found.backend or "")]
    if found.backend is not None:
        place = f"session {found.session}, window {found.window_id}, pane {found.pane_id}"
        lines += [f"  {visible(f'{found.backend}: {place}')}"]
        lines += [f"  {visible(f'${found.presence_var} is {found.presence_value}')}"]
    return lines


def _database(found: DatabaseFindings) -> list[str]:
    lines = [_head(found.ok, "database", found.error or f"schema {found.schema_version} (head)")]
    if found.path is not None:
        size = "" if found.size_bytes is None else f" ({found.size_bytes:,} bytes)"
        lines.append(f"  {visible(found.path)}{size}")
    known = [
        f"{name} {visible(value)}"
        for name, value in [
            ("journal mode", found.journal_mode),
            ("integrity", found.integrity),
            ("network file system", found.file_system),
        ]
        if value is not None
    ]
    if known:
        lines.append(f"  {', '.join(known)}")
    if found.couriers:
        states = ", ".join(f"fleet {each.fleet_id} {each.state}" for each in found.couriers)
        lines.append(f"  couriers: {states}")
    return [*lines, *(f"  ! {visible(warning)}" for warning in found.warnings)]


def _agents(found: AgentsFindings, *, is_known: bool) -> list[str]:
    """``is_known`` says whether the database is fit to be asked what is installed."""
    rows = [
        [
            agent.coding_agent.value,
            _path(agent.path),
            agent.source if agent.source == "default" else f"${agent.source}",
            _setup(agent),
        ]
        for agent in found.agents
    ]
    lines = [_head(found.ok, "coding agents", "")]
    lines += [f"  {line}" for line in framed(_COLUMNS, rows)]
    lines += [
        f"  ✗ {agent.coding_agent}: {visible(agent.error)}"
        for agent in found.agents
        if agent.error is not None
    ]
    if is_known and all(agent.state == "not_installed" for agent in found.agents):
        lines.append("  ! no agent has its skill, so other commands refuse; run `cafleet setup`")
    lines += [
        f"  superseded: {old.coding_agent} {_path(old.path)} ({visible(old.recorded_version or _NO_VERSION)})"
        for old in found.superseded
    ]
    return lines


def _setup(agent: AgentFindings) -> str:
    cure = f"cafleet setup --coding-agent {agent.coding_agent}"
    version = visible(agent.recorded_version or _NO_VERSION)
    match agent.state.value:
        case "ok":
            return f"✓ {version}"
        case "not_installed":
            return f"– {cure}"
        case "stale":
            return f"✗ {version} → {cure}"
        case _:
            if agent.path is None:
                return "✗ bad variable"
            # What setup cannot mend, the line below the table has.
            is_mendable = "`cafleet setup" in (agent.error or "")
            return f"✗ {version}, damaged" + (f" → {cure}" if is_mendable else "")


def _path(path: str | None) -> str:
    """A path fit for a table, the home folder as ``~``."""
    if path is None:
        return ABSENT
    try:
        home = settings.home_folder().rstrip("/")
    except NoHomeError:
        home = ""
    if home and f"{path}/".startswith(f"{home}/"):
        path = f"~{path[len(home) :]}"
    return visible(path)
