"""Files that are replaced as a whole: whoever reads one finds the old content or the new."""

from __future__ import annotations

import os
from contextlib import suppress


def replace_file(path: str, content: bytes) -> None:
    """Write ``content`` to ``path``. A crash leaves the old file or the new one.

    Raises:
        OSError: the file could not be written. The old one is unchanged.
    """
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".{name}.new")
    with suppress(FileNotFoundError):
        os.unlink(beside)
    try:
        write_file(beside, content)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    sync_folder(folder)


def write_file(path: str, content: bytes) -> None:
    """Write a new file and wait until it is on the disk.

    Raises:
        OSError: the file exists already, or could not be written.
    """
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: str) -> None:
    """Wait until the names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
