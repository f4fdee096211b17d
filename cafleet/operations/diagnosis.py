"""`doctor`: a report on the whole installation, whatever is wrong with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import closing

from cafleet import settings
from cafleet.broker import assets
from cafleet.broker.assets import DamagedInstall
from cafleet.errors import CafleetError
from cafleet.operations.agent_checks import check_agents
from cafleet.operations.findings import DatabaseFindings, Diagnosis
from cafleet.operations.findings import MultiplexerFindings as Multiplexer
from cafleet.operations.fleet_checks import FleetFindings, check_fleets, known_servers
from cafleet.operations.importing import hint
from cafleet.operations.orphans import MendedPane, mend
from cafleet.panes import CallerPane, detect_caller, multiplexer, sign_of
from cafleet.records import AssetInstall
from cafleet.store.connection import connect
from cafleet.store.guard import open_database
from cafleet.store.inspection import Inspection, inspect
from cafleet.store.recognition import HEAD

_Installs = tuple[Sequence[AssetInstall], Sequence[DamagedInstall]]
_NO_INSTALLS: _Installs = ([], [])


def diagnose() -> Diagnosis:
    """Examine multiplexer, database and coding agents. Never raises and changes nothing."""
    caller, multiplexer_found, warnings = _check_multiplexer()
    database, installs = _check_database(caller, warnings)
    agents = check_agents(*installs)
    issues = [multiplexer_found.ok, database.ok, *(agent.error is None for agent in agents.agents)]
    return Diagnosis(
        multiplexer=multiplexer_found,
        database=database,
        coding_agents=agents,
        issues=issues.count(False),
    )


def mend_pane(pane: str) -> MendedPane:
    """Close an orphan pane on one of the servers that `doctor` examines.

    Raises:
        RefusedError: it is no orphan.
        CafleetError: the database cannot be used, or the server cannot be reached.
    """
    try:
        caller = detect_caller()
    except CafleetError:
        caller = None
    with closing(open_database(settings.database_path())) as conn:
        return mend(conn, known_servers(conn, caller), pane)


def _check_multiplexer() -> tuple[CallerPane | None, Multiplexer, list[str]]:
    """The calling pane and the findings on its server."""
    try:
        caller = detect_caller()
        path = multiplexer(caller.backend, caller.socket).variable(caller.pane, "PATH") or ""
    except CafleetError as failure:
        return None, Multiplexer(ok=False, error=str(failure)), []
    own_path = os.environ.get("PATH", "")
    # tmux gives a pane the PATH of who opens it, whatever the server's own is.
    if shutil.which("cafleet", path=own_path) is None:
        error = (
            f"cafleet is not on this PATH ({own_path}), which the panes get that cafleet opens from here, "
            f"so their agents cannot call it; put it into one of these folders"
        )
        return caller, Multiplexer(ok=False, error=error), []
    warnings = []
    if shutil.which("cafleet", path=path) is None:
        warnings.append(
            f"cafleet is not on the PATH that {caller.backend} gives to panes that you open yourself "
            f"({path}), a Director's for instance; panes that cafleet opens from here find it"
        )
    sign = sign_of(caller.backend)
    found = Multiplexer(
        ok=True,
        backend=caller.backend,
        session=caller.session,
        window_id=caller.window,
        pane_id=caller.pane,
        presence_var=sign,
        presence_value=os.environ.get(sign),
    )
    return caller, found, warnings


def _check_database(
    caller: CallerPane | None, warnings_before: Sequence[str]
) -> tuple[DatabaseFindings, _Installs]:
    path, inspection = _inspect()
    errors = [] if inspection.error is None else [inspection.error]
    warnings = [*warnings_before, *_warnings(inspection)]
    fleets = FleetFindings()
    installs = _NO_INSTALLS
    if path is not None and inspection.schema_version == HEAD:
        fleets, installs, faults = _read(path, caller)
        # What else fails in a database that is unsound itself tells nothing new.
        errors += [*(faults if inspection.error is None else []), *fleets.errors]
        warnings += fleets.warnings
    predecessor = None if path is None else hint(path)
    if predecessor is not None:
        warnings.append(predecessor)
    findings = DatabaseFindings(
        ok=not errors,
        schema_version=inspection.schema_version,
        head_version=HEAD,
        error=". ".join(dict.fromkeys(errors)) or None,
        path=path,
        journal_mode=inspection.journal_mode,
        integrity=inspection.integrity,
        size_bytes=inspection.size_bytes,
        file_system=inspection.file_system,
        couriers=fleets.couriers,
        orphan_panes=fleets.orphans,
        warnings=warnings,
    )
    return findings, installs


def _read(path: str, caller: CallerPane | None) -> tuple[FleetFindings, _Installs, list[str]]:
    """The fleets and the installations, and a sentence for each part that could not be read.

    Damage in one does not hide the other.
    """
    fleets, installs, faults = FleetFindings(), _NO_INSTALLS, []
    try:
        with closing(connect(path)) as conn:
            try:
                installs = assets.installs(conn)
                faults += [row.fault for row in installs[1]]
            except CafleetError as failure:
                faults.append(str(failure))
            fleets = check_fleets(conn, path, caller)
    except CafleetError as failure:
        faults.append(str(failure))
    return fleets, installs, faults


def _inspect() -> tuple[str | None, Inspection]:
    try:
        path = settings.database_path()
    except CafleetError as failure:
        return None, Inspection(error=str(failure))
    return path, inspect(path)


def _warnings(found: Inspection) -> list[str]:
    warnings = []
    if found.file_system is not None:
        warnings.append(
            f"the database is on a network file system ({found.file_system}), where SQLite's locks may "
            f"fail; point CAFLEET_DATABASE_URL to a local disk"
        )
    if found.error is None and found.journal_mode not in ("wal", None):
        warnings.append(
            f"the journal mode is {found.journal_mode}, so readers wait while something is written; "
            f"`cafleet setup` switches to wal where the file system can"
        )
    return warnings
