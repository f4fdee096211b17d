"""The findings of `doctor`. The fields stand in the order of the keys of its JSON."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from cafleet.records import Backend, CodingAgent


class InstallState(StrEnum):
    """The state of an agent's assets: of this program, of another version, absent, or unusable."""

    OK = "ok"
    STALE = "stale"
    NOT_INSTALLED = "not_installed"
    ERROR = "error"


class CourierState(StrEnum):
    """The state of a fleet's courier. ``missing`` should run and does not; ``unreachable`` could not run.
    A ``paused`` fleet has none."""

    RUNNING = "running"
    STOPPED = "stopped"
    PAUSED = "paused"
    MISSING = "missing"
    UNREACHABLE = "unreachable"


class MultiplexerFindings(msgspec.Struct, frozen=True, kw_only=True):
    """Where doctor was called. If anything is wrong all but ``ok`` and ``error`` are null."""

    ok: bool
    backend: Backend | None = None
    session: str | None = None
    window_id: str | None = None
    pane_id: str | None = None
    presence_var: str | None = None
    presence_value: str | None = None
    error: str | None = None


class Courier(msgspec.Struct, frozen=True, kw_only=True):
    fleet_id: int
    state: CourierState


class OrphanPane(msgspec.Struct, frozen=True, kw_only=True):
    """A pane tagged for this database whose member is unknown or deregistered."""

    socket: str
    pane_id: str
    fleet_id: int
    member_id: int


class DatabaseFindings(msgspec.Struct, frozen=True, kw_only=True):
    """``schema_version`` is null without a ledger. What could not be examined is null or empty.

    ``integrity`` is ``ok`` or SQLite's first findings. ``file_system`` is the type of a network file system.
    ``warnings`` are sentences that count as no issue.
    """

    ok: bool
    schema_version: int | None
    head_version: int
    error: str | None
    path: str | None
    journal_mode: str | None
    integrity: str | None
    size_bytes: int | None
    file_system: str | None
    couriers: list[Courier]
    orphan_panes: list[OrphanPane]
    warnings: list[str]


class AgentFindings(msgspec.Struct, frozen=True, kw_only=True):
    """``path`` is null where the variable ``source`` is unusable; ``source`` is ``default`` where
    it is unset."""

    coding_agent: CodingAgent
    path: str | None
    source: str
    recorded_version: str | None
    installed_at: str | None
    state: InstallState
    error: str | None


class SupersededInstall(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded installation at another path than the agent's present one."""

    coding_agent: CodingAgent
    path: str
    recorded_version: str
    installed_at: str


class AgentsFindings(msgspec.Struct, frozen=True, kw_only=True):
    ok: bool
    cli_version: str
    agents: list[AgentFindings]
    superseded: list[SupersededInstall]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """``issues`` counts the first two sections and each agent that is not in order."""

    multiplexer: MultiplexerFindings
    database: DatabaseFindings
    coding_agents: AgentsFindings
    issues: int
