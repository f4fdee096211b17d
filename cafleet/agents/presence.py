"""Whether a coding agent itself is among the processes in the foreground of a pane."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from cafleet.agents.cues import Cues
from cafleet.screens import Process

# What runs a program that is a file: the file says which program it is.
_INTERPRETER = re.compile(r"node(js)?|bun|deno|python[0-9.]*|ruby|perl")
# Options after which no file follows.
_CODE = ("-c", "-e", "-m", "-p")


def of_agent(processes: tuple[Process, ...], cues: Cues) -> tuple[Process, ...]:
    """Those of the processes that are the agent's. A shell never is one, whatever it runs."""
    return tuple(each for each in processes if _is_agent(each, cues))


def only_shells(processes: tuple[Process, ...], cues: Cues) -> bool:
    """Whether there is nothing in the foreground but shells, which then wait for a command."""
    return all(is_shell(_first(each), cues) for each in processes)


def may_run(command: str, cues: Cues) -> bool:
    """Whether a program of this name can be the agent: its own, or an interpreter."""
    return not is_shell(command, cues) and (
        _named(command, cues) or _INTERPRETER.fullmatch(_base(command)) is not None
    )


def is_shell(program: str, cues: Cues) -> bool:
    """Whether a program, by its name or its path, is a shell; a login shell has a dash in front."""
    return _base(program).removeprefix("-") in cues.shells


def _is_agent(process: Process, cues: Cues) -> bool:
    first = _first(process)
    if is_shell(first, cues):
        return False
    if _named(process.name, cues) or _named(first, cues):
        return True
    if not _INTERPRETER.fullmatch(_base(first)):
        return False
    for word in process.words[1:]:
        if not word.startswith("-"):
            return _named(word, cues)
        if word in _CODE:
            break
    return False


def _first(process: Process) -> str:
    return process.words[0] if process.words else process.name


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _named(path: str, cues: Cues) -> bool:
    """Whether a path, or its last part alone, is one of the agent's."""
    return any(
        fnmatchcase(path, pattern) or fnmatchcase(_base(path), pattern) for pattern in cues.programs
    )
