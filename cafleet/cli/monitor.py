"""The `monitor` commands."""

from __future__ import annotations

from typing import Annotated

import typer

from cafleet import settings
from cafleet.cli.arguments import identifier, positive, whole
from cafleet.cli.output import say, to_json, warn
from cafleet.cli.parser import SubjectCommand
from cafleet.cli.session import open_session

app = typer.Typer()

FleetId = Annotated[int, typer.Argument(parser=identifier, metavar="FLEET_ID")]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]


@app.command("run", cls=SubjectCommand)
def run(
    fleet_id: FleetId,
    tick: Annotated[
        int | None,
        typer.Option("--tick", parser=positive, metavar="N", help="Tick every N seconds (5)."),
    ] = None,
    interval: Annotated[
        int | None,
        typer.Option(
            "--interval",
            parser=whole,
            metavar="N",
            help="Wake the monitor every N seconds (600); 0 is never.",
        ),
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background.")] = False,
    unless_stopped: Annotated[bool, typer.Option("--unless-stopped", hidden=True)] = False,
) -> None:
    """Run a fleet's courier until it is stopped.

    The courier types notices and wakes the monitor. After `monitor stop` only this command starts it.
    """
    default = settings.monitor_wake_interval()
    # Its deliveries use them; a bad value is told before it claims the fleet.
    settings.max_text_len()
    settings.delivery_hold_timeout()
    with open_session() as conn:
        if detach:
            from cafleet.operations.monitoring import start_loop
            from cafleet.present.monitor_text import detached

            say(detached(start_loop(conn, fleet_id=fleet_id, tick=tick, interval=interval)))
            return
    from cafleet.courier.process import Courier

    Courier(
        settings.database_path(),
        fleet_id,
        tick_seconds=tick,
        wake_interval_seconds=interval,
        default_interval_seconds=default,
        unless_stopped=unless_stopped,
    ).run()


@app.command("status", cls=SubjectCommand)
def status(fleet_id: FleetId, json: Json = False) -> None:
    """Show whether a fleet's courier runs, and which notices are owed."""
    from cafleet.operations.monitoring import loop_status
    from cafleet.present import monitor_text as texts
    from cafleet.present.wire import monitor_status

    with open_session() as conn:
        found = loop_status(conn, fleet_id=fleet_id)
    outcome = monitor_status(
        found.fleet_id, found.runtime, found.owed, found.unsure, running=found.running
    )
    reason = None if found.runtime is None else found.runtime.wake_reason
    say(to_json(outcome) if json else texts.status(outcome, reason))


@app.command("stop", cls=SubjectCommand)
def stop(fleet_id: FleetId, json: Json = False) -> None:
    """Stop a fleet's courier.

    It stays stopped until `monitor run`.
    """
    from cafleet.operations.monitoring import stop_loop
    from cafleet.present import monitor_text as texts
    from cafleet.present.wire import StoppedWire

    with open_session() as conn:
        outcome = StoppedWire(stopped=stop_loop(conn, fleet_id=fleet_id))
    say(to_json(outcome) if json else texts.stopped(fleet_id, outcome))
    if json and not outcome.stopped:
        warn(f"the courier of fleet {fleet_id} was not running; {texts.barred(fleet_id)}")


@app.command("scan", cls=SubjectCommand)
def scan(
    fleet_id: FleetId,
    lines: Annotated[
        int,
        typer.Option("--lines", parser=positive, metavar="N", help="How many lines of each pane."),
    ] = 20,
    ansi: Annotated[
        bool, typer.Option("--ansi", help="Keep colours and other escape sequences.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the last lines of every pane of a fleet."""
    from cafleet.operations.scan import scan_fleet
    from cafleet.present import monitor_text as texts
    from cafleet.present.wire import ScanWire, shaped_all

    with open_session() as conn:
        found = scan_fleet(conn, fleet_id=fleet_id, lines=lines, ansi=ansi)
    outcome = shaped_all(found, ScanWire)
    say(to_json(outcome) if json else texts.scanned(outcome, ansi=ansi))
