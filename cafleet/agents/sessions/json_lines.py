"""Reading the two ends of a file of JSON lines that another program is writing."""

from __future__ import annotations

import os
import stat

import msgspec

TAIL_BYTES = 1_048_576
"""How much of the end of a record is read: enough for many turns, and read in milliseconds."""
_HEAD_BYTES = 262_144


def tail(path: str) -> list[dict[str, object]]:
    """The JSON objects in the last :data:`TAIL_BYTES` of the file, in order.

    A last line without a line feed is still being written, and a first line may be cut: both are
    left out, as is every line that is no JSON object. Empty where the file cannot be read.
    """
    return _objects(_read(path, from_end=True))


def head(path: str) -> list[dict[str, object]]:
    """The JSON objects in the first part of the file, as in :func:`tail`."""
    return _objects(_read(path, from_end=False))


def document(path: str) -> dict[str, object] | None:
    """The one JSON object that the file holds, or ``None``."""
    data = _read(path, from_end=False)
    found = _decoded(data)
    return found or None


def _read(path: str, *, from_end: bool) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                return b""
            if not from_end:
                return file.read(_HEAD_BYTES)
            # One byte more tells whether the first line is whole.
            start = max(0, status.st_size - TAIL_BYTES - 1)
            file.seek(start)
            data = file.read(TAIL_BYTES + 1)
            return data if start == 0 else data[data.find(b"\n") + 1 :]
    except (OSError, ValueError):
        return b""


def _objects(data: bytes) -> list[dict[str, object]]:
    whole, _, _ = data.rpartition(b"\n")
    return [found for line in whole.split(b"\n") if (found := _decoded(line))]


def _decoded(line: bytes) -> dict[str, object]:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
