"""What a folder looks like to the last bit, to compare before and after something that leaves no trace."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path


def trace(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every entry below ``folder``: its kind and mode, its times of change, its bytes."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        status = path.lstat()
        content: object = None
        if stat.S_ISREG(status.st_mode):
            content = sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ino, content)
    return found
