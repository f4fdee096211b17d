"""The mounts that this process sees, in the form of ``/proc/self/mountinfo`` (proc(5))."""

from __future__ import annotations

import os
from collections.abc import Iterator

# Where SQLite's locks or its shared memory are not to be trusted (sqlite.org/wal.html, section 1).
_NETWORK = ("nfs", "cifs", "smb", "afs", "ceph", "glusterfs", "lustre", "9p", "fuse.sshfs", "gpfs")
_MOUNTS = "/proc/self/mountinfo"


def mounts() -> str:
    """All mounts. Empty if the system does not tell them."""
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def is_mounted_by_itself(path: str, table: str) -> bool:
    """Whether the file at ``path`` is itself a mount."""
    real = os.path.realpath(path)
    return any(point == real for point, _ in _points(table))


def network_file_system(path: str, table: str) -> str | None:
    """The type of the file system of ``path``, if it is a network file system.

    ``table`` is as :func:`mounts` returns it; without it nothing is known.
    """
    folder = os.path.realpath(os.path.dirname(path))
    best, kind = "", ""
    for point, type_ in _points(table):
        is_above = folder == point or folder.startswith(point.rstrip("/") + "/")
        # Of two mounts at the same place the later one is seen.
        if is_above and len(point) >= len(best):
            best, kind = point, type_
    return kind if kind.startswith(_NETWORK) else None


def _points(table: str) -> Iterator[tuple[str, str]]:
    """Where each file system is mounted, and its type."""
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) >= 7 and "-" in fields[:-1]:
            yield _unescaped(fields[4]), fields[fields.index("-") + 1]


def _unescaped(text: str) -> str:
    for code, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        text = text.replace(f"\\{code}", character)
    return text
