"""The `setup` command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from cafleet import settings
from cafleet.cli.arguments import coding_agent, filled
from cafleet.cli.output import say
from cafleet.cli.parser import ListCommand
from cafleet.errors import CafleetError, DatabaseError, SettingError
from cafleet.present import setup_text as texts
from cafleet.present.visible import visible
from cafleet.records import CodingAgent

app = typer.Typer()


@app.command("setup", cls=ListCommand)
def setup(
    agents: Annotated[
        list[CodingAgent] | None,
        typer.Option(
            "--coding-agent",
            parser=coding_agent,
            metavar="AGENT...",
            help="Install skill and presets for these agents: claude, codex, opencode. By default for all.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--import",
            parser=filled,
            metavar="PATH",
            show_default=False,
            help="Import fleets, members and messages from a database of the published Python cafleet "
            "(0.18 to 0.22). That file is only read. Fleets that were imported before are skipped.",
        ),
    ] = None,
) -> None:
    """Create or upgrade the database; install skills and presets."""
    wanted = [agent for agent in CodingAgent if not agents or agent in agents]
    database = _migrate()
    importing = _import(source, is_database_ready=database is None)
    assets = _install(wanted, is_database_ready=database is None)
    if database is not None or importing is not None or assets is not None:
        raise CafleetError(texts.failed(database, importing, assets))


def _migrate() -> str | None:
    """Do the first half; what went wrong, if it did."""
    from cafleet.operations.setup import migrate_database

    try:
        path = settings.database_path()
        say(texts.migrated(path, migrate_database(path)))
    except CafleetError as failure:
        return str(failure)
    return None


def _import(source: str | None, *, is_database_ready: bool) -> str | None:
    """Import if that is asked for, else say what could be; what went wrong, if it did."""
    from cafleet.operations.importing import hint, import_database

    if not is_database_ready:
        return None if source is None else "it needs the database"
    try:
        path = settings.database_path()
        if source is not None:
            say(texts.imported(*import_database(path, source)))
        elif (found := hint(path)) is not None:
            say(visible(found))
    except CafleetError as failure:
        return str(failure)
    return None


def _install(agents: Sequence[CodingAgent], *, is_database_ready: bool) -> str | None:
    """Do the second half; what went wrong, if it did."""
    from cafleet.operations.setup import install_assets

    failures = []
    try:
        for outcome in install_assets(
            settings.database_path(), agents, is_database_ready=is_database_ready
        ):
            if outcome.error is not None:
                failures.append(f"{outcome.coding_agent}: {outcome.error}")
            line = texts.installed(outcome)
            if line is not None:
                say(line)
    except (DatabaseError, SettingError) as failure:
        failures.append(str(failure) if is_database_ready else "it needs the database")
    except CafleetError as failure:
        failures.append(str(failure))
    return "; ".join(failures) or None
