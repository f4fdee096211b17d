"""The `doctor` command."""

from __future__ import annotations

from typing import Annotated

import typer

from cafleet.cli.arguments import filled
from cafleet.cli.output import say, to_json
from cafleet.cli.parser import Command

app = typer.Typer()


@app.command("doctor", cls=Command)
def doctor(
    mend: Annotated[
        str | None,
        typer.Option(
            "--mend",
            parser=filled,
            metavar="PANE",
            help="Close this orphan pane, which the report lists. Do nothing else.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Check multiplexer, database and agents. Exit 1 if there is an issue."""
    if mend is not None:
        from cafleet.operations.diagnosis import mend_pane
        from cafleet.present.doctor_text import mended

        pane = mend_pane(mend)
        say(to_json(pane) if json else mended(pane))
        return
    from cafleet.operations.diagnosis import diagnose
    from cafleet.present.doctor_text import diagnosed

    found = diagnose()
    say(to_json(found) if json else diagnosed(found))
    if found.issues:
        raise typer.Exit(1)
