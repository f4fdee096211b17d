"""The `whoami` command."""

from __future__ import annotations

from typing import Annotated

import typer

from cafleet.cli.output import say, to_json
from cafleet.cli.parser import Command
from cafleet.cli.session import open_registry
from cafleet.present.member_text import identified
from cafleet.present.wire import WhoamiWire

app = typer.Typer()


@app.command("whoami", cls=Command)
def whoami(
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Say which member you are. Exit 1 for a person."""
    from cafleet.broker import fleets
    from cafleet.operations.caller import identify

    with open_registry() as conn:
        caller = identify(conn)
        fleet = fleets.get(conn, fleet_id=caller.member.fleet_id)
    who = WhoamiWire(
        member_id=caller.member.member_id,
        fleet_id=fleet.fleet_id,
        director_member_id=fleet.director_member_id,
        name=caller.member.name,
        kind=caller.member.kind,
        evidence=caller.evidence,
    )
    say(to_json(who) if json else identified(who))
