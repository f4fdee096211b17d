"""The tree of commands, of which a call imports and builds only the branch that it names."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_command_from_info
from typer.models import CommandInfo

from cafleet import __version__
from cafleet.cli.output import say
from cafleet.cli.parser import ClickCommand, Context

# Each group is the module of its name; its line of help stands here so that the help of the whole
# program imports none of them.
_GROUPS = {
    "fleet": "Create, list, show and delete fleets.",
    "member": "Create, list, prompt and delete members.",
    "monitor": "Run, watch and stop a fleet's courier; read its panes.",
    "message": "Send, broadcast, poll, acknowledge and show messages.",
    "db": "Check the database, copy it, list its queries.",
}
_SINGLE_COMMANDS = ("setup", "doctor", "server", "whoami")


class Group(TyperGroup):
    """The commands that one module has registered."""

    def list_commands(self, ctx: Context) -> list[str]:
        """The names, in the order of their definition."""
        return [str(info.name) for info in self._registered()]

    def get_command(self, ctx: Context, cmd_name: str) -> ClickCommand | None:
        """The named command, built now, or null."""
        found = (info for info in self._registered() if info.name == cmd_name)
        info = next(found, None)
        return None if info is None else _build(info)

    def _registered(self) -> list[CommandInfo]:
        return _registered_in(str(self.name))


class Root(TyperGroup):
    """`cafleet` itself."""

    def list_commands(self, ctx: Context) -> list[str]:
        """Single commands, then groups."""
        return [*_SINGLE_COMMANDS, *_GROUPS]

    def get_command(self, ctx: Context, cmd_name: str) -> ClickCommand | None:
        """The named command or group, or null; a group is still empty."""
        if cmd_name in _SINGLE_COMMANDS:
            return _build(*_registered_in(cmd_name))
        if cmd_name in _GROUPS:
            return Group(name=cmd_name, help=_GROUPS[cmd_name], rich_markup_mode=None)
        return None


def program(*, completion: bool = True) -> ClickCommand:
    """The whole program, ready to parse; without ``completion`` its options for that are left out,
    which a command that is named at once has no use for."""
    app = typer.Typer(cls=Root, add_completion=completion, rich_markup_mode=None)
    app.callback()(cafleet)
    return get_command(app)


def completion_option(name: str) -> ClickCommand:
    """What the option of this name does, as a command of its own: Typer's parser knows no option
    whose value may be left out."""
    return next(_build(info) for info in _registered_in("completion") if info.name == name)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"cafleet {__version__}")
        raise typer.Exit


def cafleet(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_version, help="Print the version."),
    ] = False,
) -> None:
    """Message broker and member registry for coding agents that work as a team in terminal panes."""


def _registered_in(module: str) -> list[CommandInfo]:
    app: typer.Typer = import_module(f"cafleet.cli.{module}").app
    return app.registered_commands


def _build(info: CommandInfo) -> ClickCommand:
    return get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode=None)
