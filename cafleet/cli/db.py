"""The `db` commands: the DBA's door."""

from __future__ import annotations

from typing import Annotated

import typer

from cafleet import settings
from cafleet.cli.arguments import filled
from cafleet.cli.output import say, to_json
from cafleet.cli.parser import Command
from cafleet.cli.session import open_registry
from cafleet.present import db_text as texts
from cafleet.present.wire import BackupWire, CheckWire

app = typer.Typer()

# What stands beside the file belongs to it: SQLite would write an old -wal into the copy.
_RESTORING = """To restore a copy, first stop all that uses the database: `cafleet monitor stop FLEET_ID`
for each fleet (if that is refused, end the courier's process), `cafleet server`, and the agents. Then
move the database and the files beside it away, and put the copy in its place:

\b
  db=~/.local/share/cafleet/cafleet.db   # or the path in CAFLEET_DATABASE_URL
  for end in '' -wal -shm -journal; do
    [ ! -e "$db$end" ] || mv "$db$end" "$db.replaced$end"
  done
  cp PATH "$db"
  cafleet setup
  cafleet db check

`cafleet monitor run FLEET_ID --detach` starts a courier again. To read a copy without restoring it,
set CAFLEET_DATABASE_URL to its path."""

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]


@app.command("queries", cls=Command)
def queries(
    name: Annotated[
        str | None,
        typer.Argument(
            parser=filled, metavar="NAME", show_default=False, help="Show this query alone."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the queries and their contracts.

    With NAME, show the SQL of that query and how SQLite runs it on your database.
    """
    from cafleet.operations import database_tools

    with open_registry() as conn:
        if name is None:
            listed = [texts.query_wire(contract) for contract in database_tools.list_contracts()]
            say(to_json(listed) if json else texts.queries_listed(listed))
            return
        found = database_tools.explain(conn, name)
    say(to_json([texts.query_wire(found.contract)]) if json else texts.query_explained(found))


@app.command("check", cls=Command)
def check(json: Json = False) -> None:
    """Check the whole database. Exit 1 if it has a fault."""
    from cafleet.operations import database_tools

    path = settings.database_path()
    findings = database_tools.check(path)
    outcome = CheckWire(ok=not findings, findings=findings, remarks=database_tools.remarks(path))
    say(to_json(outcome) if json else texts.checked(path, outcome))
    if findings:
        raise typer.Exit(1)


@app.command("backup", cls=Command, epilog=_RESTORING)
def backup(
    path: Annotated[
        str,
        typer.Argument(
            parser=filled, metavar="PATH", help="The copy. No file of this name may exist."
        ),
    ],
    json: Json = False,
) -> None:
    """Copy the database while the fleets work."""
    from cafleet.operations import database_tools

    with open_registry() as conn:
        copy, size = database_tools.copy_database(
            conn, database=settings.database_path(), path=path
        )
    say(to_json(BackupWire(path=copy)) if json else texts.backed_up(copy, size))
