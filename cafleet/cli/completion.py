"""`--install-completion` and `--show-completion`: the scripts are Typer's, the files the user's."""

from __future__ import annotations

import os
import shlex
from typing import Annotated

import typer
from typer._completion_shared import _get_shell_name, get_completion_script

from cafleet import settings
from cafleet.atomic_write import replace_file
from cafleet.cli.main import COMPLETE
from cafleet.cli.output import say
from cafleet.cli.parser import Command
from cafleet.errors import CafleetError
from cafleet.present.visible import visible

app = typer.Typer()

# Below the home folder; the same places as Typer's own installation has.
_SCRIPTS = {
    "bash": ".bash_completions/cafleet.sh",
    "zsh": ".zfunc/_cafleet",
    "fish": ".config/fish/completions/cafleet.fish",
}
_ZSH = "fpath+=~/.zfunc; autoload -Uz compinit; compinit"


def supported(text: str) -> str:
    """The name of a shell that has a script."""
    if text not in _SCRIPTS:
        raise typer.BadParameter(f"{text[:60]!r} is not one of {', '.join(_SCRIPTS)}")
    return text


Shell = Annotated[
    str | None,
    typer.Argument(parser=supported, metavar="[bash|zsh|fish]", help="Else the current shell."),
]


@app.command("--install-completion", cls=Command)
def install(shell: Shell = None) -> None:
    """Have the shell complete commands and options."""
    shell = _current() if shell is None else shell
    home = settings.home_folder()
    path = os.path.join(home, _SCRIPTS[shell])
    try:
        _install(shell, home, path)
    except OSError as error:
        raise CafleetError(
            f"{error.filename or path} cannot be written ({error.strerror or error}); see what stands "
            f"there, or place what `cafleet --show-completion {shell}` prints yourself"
        ) from error
    say(
        f"{shell} completion installed in {visible(path)}; shells that you start from now on have it"
    )


@app.command("--show-completion", cls=Command)
def show(shell: Shell = None) -> None:
    """Print the script that has the shell complete commands and options."""
    say(_script(_current() if shell is None else shell))


def _current() -> str:
    name = _get_shell_name()
    if name in _SCRIPTS:
        return name
    what = "cannot be found out" if name is None else f"is {name}, which is not supported"
    raise CafleetError(
        f"the current shell {what}; name another after the option: bash, zsh or fish"
    )


def _script(shell: str) -> str:
    return get_completion_script(prog_name="cafleet", complete_var=COMPLETE, shell=shell)


def _install(shell: str, home: str, path: str) -> None:
    # What cannot be written to is found before anything is written.
    _content(path)
    if shell == "fish":
        _write(path, _script(shell))
        return
    startup = os.path.join(home, f".{shell}rc")
    known = _content(startup)
    line = os.fsencode(f"source {shlex.quote(path)}" if shell == "bash" else _ZSH)
    _write(path, _script(shell))
    if line not in known.splitlines():
        break_ = b"" if known.endswith(b"\n") or not known else b"\n"
        with open(startup, "ab") as file:
            file.write(break_ + line + b"\n")


def _content(path: str) -> bytes:
    """What is in a file that can be written to; nothing if there is none."""
    if not os.path.lexists(path):
        return b""
    with open(path, "r+b") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    """All of it or nothing: a shell may start at any time, and reads the file then."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    replace_file(path, f"{text}\n".encode())
