"""Files that ship with the program and teach a coding agent to work in a fleet."""

from __future__ import annotations

import pkgutil


def read(name: str) -> str:
    """The text of the shipped file ``name``, a path below this package with forward slashes."""
    data = pkgutil.get_data(__name__, name)
    if data is None:
        raise FileNotFoundError(name)
    return data.decode()
