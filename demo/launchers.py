"""Small executables that stand in for the coding agents on a PATH."""

from __future__ import annotations

import sys
from pathlib import Path

from demo.screens import AGENTS

_PROGRAM = """\
#!{python}
import sys

sys.path.insert(0, {root!r})
from {module} import main

sys.exit(main({agent!r}, sys.argv[1:]{arguments}))
"""


def install(folder: Path, module: str, **arguments: str) -> None:
    """Write ``claude``, ``codex`` and ``opencode`` into ``folder``.

    Each calls ``main(agent, argv, **arguments)`` of ``module``, which lies in this checkout. They
    are run by the interpreter itself, since a shell in between would be taken for the end of the
    agent. The kernel reads an interpreter's path up to a blank only.

    Raises:
        ValueError: the path of this interpreter holds a blank.
    """
    python = sys.executable
    if any(character.isspace() for character in python):
        raise ValueError(f"{python} cannot run a script, since its path holds a blank")
    folder.mkdir(parents=True, exist_ok=True)
    root = str(Path(__file__).resolve().parent.parent)
    given = "".join(f", {name}={value!r}" for name, value in arguments.items())
    for agent in AGENTS:
        program = folder / agent
        text = _PROGRAM.format(
            python=python, root=root, module=module, agent=agent, arguments=given
        )
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
