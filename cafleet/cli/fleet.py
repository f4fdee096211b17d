"""The `fleet` commands."""

from __future__ import annotations

from typing import Annotated

import typer

from cafleet.cli.arguments import coding_agent, filled, identifier, new_name, whole
from cafleet.cli.bodies import read_file
from cafleet.cli.output import say, to_json, warn
from cafleet.cli.parser import Command, SubjectCommand
from cafleet.cli.session import open_session
from cafleet.present import fleet_text as texts
from cafleet.present.wire import (
    DeletedFleetWire,
    FleetWire,
    PausedFleetWire,
    ResumedFleetWire,
    created_fleet,
    shaped,
)
from cafleet.records import CodingAgent

app = typer.Typer()

FleetId = Annotated[int, typer.Argument(parser=identifier, metavar="FLEET_ID")]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]


@app.command("create", cls=Command)
def create(
    name: Annotated[
        str, typer.Option("--name", parser=new_name, metavar="NAME", help="The fleet's name.")
    ],
    agent: Annotated[
        CodingAgent,
        typer.Option(
            "--coding-agent",
            parser=coding_agent,
            metavar="AGENT",
            help="The agent that runs in this pane: claude, codex or opencode.",
        ),
    ],
    monitor_file: Annotated[
        str | None,
        typer.Option(
            "--monitor-file",
            metavar="PATH",
            help="A file with the monitor's prompt; - reads stdin. By default cafleet's own prompt.",
        ),
    ] = None,
    monitor_model: Annotated[
        str | None,
        typer.Option(
            "--monitor-model", parser=filled, metavar="MODEL", help="The model of the monitor."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Create a fleet with this pane as its Director.

    The monitor starts in a new pane, and the courier starts in the background.
    """
    with open_session() as conn:
        from cafleet.operations.bootstrap import create_fleet

        made = create_fleet(
            conn,
            name=name,
            coding_agent=agent,
            monitor_prompt=None if monitor_file is None else lambda: read_file(monitor_file),
            monitor_model=monitor_model,
        )
    outcome = created_fleet(made.fleet, made.director, made.monitor, made.loop_pid)
    say(to_json(outcome) if json else texts.created(outcome))


@app.command("list", cls=Command)
def list_(json: Json = False) -> None:
    """List the fleets, newest first."""
    from cafleet.broker import fleets

    with open_session() as conn:
        found, faults = fleets.list_fleets(conn)
    say(to_json(found) if json else texts.listed(found, faults))
    if json:
        for fleet_id, fault in faults.items():
            warn(f"the members of fleet {fleet_id} cannot be counted: {fault}")


@app.command("show", cls=SubjectCommand)
def show(fleet_id: FleetId, json: Json = False) -> None:
    """Show a fleet. It may be deleted."""
    from cafleet.broker import fleets

    with open_session() as conn:
        fleet = fleets.get(conn, fleet_id=fleet_id)
    say(to_json(shaped(fleet, FleetWire)) if json else texts.shown(fleet))


@app.command("pause", cls=SubjectCommand)
def pause(
    fleet_id: FleetId,
    timeout: Annotated[
        int,
        typer.Option(
            "--timeout",
            parser=whole,
            metavar="S",
            help="How many seconds the members get to come to rest.",
        ),
    ] = 600,
    now: Annotated[
        bool, typer.Option("--now", help="Close every pane at once, whatever its agent does.")
    ] = False,
    json: Json = False,
) -> None:
    """Stop the courier, and close the members' panes when they rest.

    The members stay registered, and their messages are kept. The Director's pane stays open.
    """
    with open_session() as conn:
        from cafleet.operations.pausing import pause_fleet

        paused = pause_fleet(conn, fleet_id=fleet_id, seconds=timeout, at_once=now)
    for warning in paused.warnings:
        warn(warning)
    outcome = shaped(paused, PausedFleetWire)
    say(to_json(outcome) if json else texts.paused(outcome))
    if not paused.is_complete:
        raise typer.Exit(1)


@app.command("resume", cls=SubjectCommand)
def resume(
    fleet_id: FleetId,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Use also a stored start that was changed, and end agents that run outside of their pane.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Bring back the members whose panes are gone.

    Use it after a pause, a crash of tmux or a restart of the machine. A member goes on in its session if
    the record of that is found. Then the courier starts.
    """
    with open_session() as conn:
        from cafleet.operations.resuming import resume_fleet

        resumed = resume_fleet(conn, fleet_id=fleet_id, dry_run=dry_run, force=force)
    for warning in resumed.warnings:
        warn(warning)
    outcome = shaped(resumed, ResumedFleetWire)
    say(to_json(outcome) if json else texts.resumed(outcome))
    if not resumed.is_complete:
        raise typer.Exit(1)


@app.command("delete", cls=SubjectCommand)
def delete(
    fleet_id: FleetId,
    kill_panes: Annotated[
        bool,
        typer.Option("--kill-panes", help="Kill the members' panes, never the Director's."),
    ] = False,
    json: Json = False,
) -> None:
    """Delete a fleet. Its messages stay.

    All its members are deregistered.
    """
    with open_session() as conn:
        from cafleet.operations.teardown import delete_fleet

        ended = delete_fleet(conn, fleet_id=fleet_id, kill_panes=kill_panes)
        outcome = shaped(ended, DeletedFleetWire)
    for warning in ended.warnings:
        warn(warning)
    say(to_json(outcome) if json else texts.deleted(fleet_id, outcome))
