"""The one place that reaches into the copy of Click inside Typer.

Typer 0.28 keeps its parser private, and offers no other way to two of our rules: an option is
given once, and a subject may be a negative integer, which Click takes for an option. The version
is pinned for this reason; the tests of the command line notice if a later one parses otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from typer._click.core import Command as ClickCommand
from typer._click.core import Context, Parameter
from typer._click.parser import _OptionParser, _ParsingState
from typer.core import TyperCommand, TyperOption

__all__ = ["ClickCommand", "Command", "Context", "ListCommand", "SubjectCommand"]


class _Parser(_OptionParser):
    def parse_args(self, args: list[str]) -> tuple[dict[str, Any], list[str], list[Parameter]]:
        values, rest, order = super().parse_args(args)
        self._refuse_repeated(order)
        return values, rest, order

    def _refuse_repeated(self, order: Sequence[Parameter]) -> None:
        for position, param in enumerate(order):
            if isinstance(param, TyperOption) and not param.multiple and param in order[:position]:
                raise typer.BadParameter("it is given more than once", self.ctx, param)


class _SubjectParser(_Parser):
    def _process_opts(self, arg: str, state: _ParsingState) -> None:
        if not state.largs and arg[1:].isdecimal():
            state.largs.append(arg)
        else:
            super()._process_opts(arg, state)


class Command(TyperCommand):
    """A command whose options are given at most once, repeatable ones apart."""

    parser: type[_Parser] = _Parser

    def make_parser(self, ctx: Context) -> _OptionParser:
        """The parser for this command's own parameters."""
        parser = self.parser(ctx)
        for param in self.get_params(ctx):
            param.add_to_parser(parser, ctx)
        return parser


class SubjectCommand(Command):
    """A command whose first argument is an id: ``-5`` in its place is an id that nobody has."""

    parser = _SubjectParser


class ListCommand(Command):
    """A command whose repeatable options also take several values in a row: ``--x a b``."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read ``--x a b`` as ``--x a --x b``."""
        lists = {
            name
            for param in self.params
            if isinstance(param, TyperOption) and param.multiple
            for name in param.opts
        }
        spelled: list[str] = []
        current = None
        for position, word in enumerate(args):
            if word == "--":
                spelled += args[position:]
                break
            if word.startswith("-"):
                name, _, value = word.partition("=")
                current = name if name in lists else None
                spelled.append(word)
                is_open = current is not None and not value and "=" not in word
            elif current is not None and not is_open:
                spelled += [current, word]
            else:
                is_open = False
                spelled.append(word)
        return super().parse_args(ctx, spelled)
