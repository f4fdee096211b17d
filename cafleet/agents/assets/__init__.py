"""Files that ship with the program and teach a coding agent to work in a fleet."""

from __future__ import annotations

import pkgutil

from cafleet.errors import AgentError


def read(name: str) -> str:
    """The text of the shipped file ``name``, a path below this package with forward slashes."""
    return content(name).decode()


def content(name: str) -> bytes:
    """The same as it is shipped, byte by byte.

    Raises:
        AgentError: this installation lacks the file.
    """
    try:
        data = pkgutil.get_data(__name__, name)
    except OSError:
        data = None
    if data is None:
        raise AgentError(f"this installation lacks its file {name}; install cafleet again")
    return data


def folder(name: str) -> dict[str, bytes]:
    """The files right in the shipped folder ``name``, by file name; raises as :func:`content`."""
    from importlib.resources import files

    found = files(__name__).joinpath(name)
    if not found.is_dir():
        raise AgentError(f"this installation lacks its folder {name}; install cafleet again")
    names = sorted(entry.name for entry in found.iterdir() if entry.is_file())
    return {each: content(f"{name}/{each}") for each in names}
