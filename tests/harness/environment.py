"""The variables of programs under test, in which nothing of the user's own is left."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.harness.journals import Recorders
from tests.harness.program import CAFLEET


def private_environment(root: Path, recorders: Recorders) -> dict[str, str]:
    """All of them, with a home and a runtime folder that are made below ``root``."""
    tmux = shutil.which("tmux")
    assert tmux is not None, "tmux is missing; `make tmux` says how to get it"
    home, runtime = root / "home", root / "runtime"
    home.mkdir()
    runtime.mkdir(mode=0o700)
    folders = [str(recorders.programs), str(CAFLEET.parent), os.path.dirname(tmux)]
    return {
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(runtime),
        "PATH": ":".join([*folders, "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "SHELL": "/bin/sh",
    }
