"""The `setup` command."""

from __future__ import annotations

import typer

from cafleet import settings
from cafleet.cli.output import say
from cafleet.cli.parser import Command
from cafleet.present.setup_text import migrated

app = typer.Typer()


@app.command("setup", cls=Command)
def setup() -> None:
    """Create the registry, or bring it up to this program's schema."""
    from cafleet.operations.setup import migrate_database

    path = settings.database_path()
    say(migrated(path, migrate_database(path)))
