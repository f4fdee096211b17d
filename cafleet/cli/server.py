"""The `server` command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cafleet import settings
from cafleet.cli.arguments import filled, positive, tcp_port
from cafleet.cli.output import say, warn
from cafleet.cli.parser import Command
from cafleet.errors import CafleetError

app = typer.Typer()

# What the extra brings: the server's own packages and what they cannot be imported without.
_EXTRA = frozenset({"starlette", "uvicorn", "anyio", "h11", "click"})


@app.command("server", cls=Command)
def server(
    host: Annotated[
        str | None,
        typer.Option(
            "--host", parser=filled, metavar="HOST", help="The address to listen on (127.0.0.1)."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", parser=tcp_port, metavar="PORT", help="The TCP port (8000)."),
    ] = None,
    connections: Annotated[
        int,
        typer.Option(
            "--connections",
            parser=positive,
            metavar="N",
            help="Accept at most N connections at once.",
        ),
    ] = 256,
) -> None:
    """Serve the web page and its API."""
    host = settings.broker_host() if host is None else host
    port = settings.broker_port() if port is None else port
    try:
        from cafleet.web.connections import Limits
        from cafleet.web.server import serve
    except ModuleNotFoundError as missing:
        if missing.name not in _EXTRA:
            raise
        raise CafleetError(
            f"the web server needs packages that are not installed ({missing.name}); install them "
            f"with: {sys.executable} -m pip install 'cafleet[web]'"
        ) from missing
    limits = Limits(connections=connections)
    serve(settings.database_path(), host=host, port=port, announce=say, warn=warn, limits=limits)
