"""Putting a file or a folder in the place of another, so that no crash leaves half of it there.

What is new is written beside its place, forced to the disk and renamed. What stood there before is
deleted only if an earlier installation is known to have put it there; anything else is somebody's
own and is kept under another name.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256

from cafleet import atomic_write

MANIFEST = ".cafleet-manifest"
_RECORD = ".installed"


def replace_folder(path: str, files: Mapping[str, bytes], *, keep_in: str) -> list[str] | None:
    """Make ``path`` a folder of exactly ``files``; notes for the user, ``None`` if it was one.

    They are written in their order, after a manifest of their digests. A folder that is not as its
    manifest says is moved into the folder ``keep_in``. A symbolic link at ``path`` is replaced, not
    followed.

    Raises:
        OSError: something could not be written; what was at ``path`` is still there, or complete.
    """
    parent, name = os.path.split(path)
    new, old = (os.path.join(parent, f".{name}.{which}") for which in ("new", "old"))
    os.makedirs(parent, exist_ok=True)
    # What a crash of an earlier run may have left.
    _remove(new)
    _remove(old)
    content = {MANIFEST: _manifest(files), **files}
    if _folder_content(path) == content:
        return None
    with _gone_on_failure(new):
        _write_folder(new, content)
    notes = _clear_folder_place(path, old, os.path.join(keep_in, f"{name}-skill"))
    os.rename(new, path)
    atomic_write.sync_folder(parent)
    _remove(old)
    return notes


def replace_file(path: str, content: bytes) -> list[str] | None:
    """Make ``path`` a file of exactly ``content``; notes for the user, ``None`` if it was one.

    A file beside it, ending in ``.installed``, lists the digests of all that was ever installed
    there; anything else that is found in the place of either is renamed. Links and errors as
    :func:`replace_folder`.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    record = path + _RECORD
    known = (_file_content(record) or b"").decode("ascii", "replace").split()
    digest = sha256(content).hexdigest()
    found = _file_content(path)
    is_ours = found is not None and sha256(found).hexdigest() in {*known, digest}
    notes = []
    if digest not in known:
        if os.path.isdir(record) and not os.path.islink(record):
            notes.append(_keep(record, record))
        # First, so that after a crash the new file is known as well.
        atomic_write.replace_file(
            record, "".join(f"{each}\n" for each in [*known, digest]).encode()
        )
    if found == content:
        return notes or None
    if os.path.islink(path):
        notes.append(_link_note(path))
    elif os.path.lexists(path) and not is_ours:
        notes.append(_keep(path, path))
    atomic_write.replace_file(path, content)
    return notes


def differs(path: str, files: Mapping[str, bytes]) -> str | None:
    """The first of ``files`` that is not in the folder ``path`` as it was installed.

    Raises:
        OSError: the folder, or what it holds, cannot be read.
    """
    found = _folder_content(path) or {}
    return next((name for name in sorted(files) if found.get(name) != files[name]), None)


def is_file_of(path: str, content: bytes) -> bool:
    """Whether ``path`` is a regular file of exactly ``content``; errors as :func:`differs`."""
    return _file_content(path) == content


def _clear_folder_place(path: str, old: str, kept: str) -> list[str]:
    if os.path.islink(path):
        note = _link_note(path)
        os.unlink(path)
        return [note]
    if not os.path.lexists(path):
        return []
    if _is_as_installed(path):
        os.rename(path, old)
        return []
    return [_keep(path, kept)]


def _is_as_installed(path: str) -> bool:
    found = _folder_content(path)
    if found is None:
        return False
    manifest = found.pop(MANIFEST, None)
    return not found or manifest == _manifest(found)


def _keep(path: str, name: str) -> str:
    number = 1
    while os.path.lexists(f"{name}.kept-{number}"):
        number += 1
    os.rename(path, f"{name}.kept-{number}")
    return f"{path} was not as cafleet installs it; it is kept as {name}.kept-{number}"


def _link_note(path: str) -> str:
    return f"{path} was a symbolic link to {os.readlink(path)}; the link is replaced, its target is as it was"


def _manifest(files: Mapping[str, bytes]) -> bytes:
    lines = (f"{sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return "".join(lines).encode()


def _folder_content(path: str) -> dict[str, bytes] | None:
    """The files in a folder, or ``None`` if it is no folder of regular files alone."""
    if not stat.S_ISDIR(_mode(path)):
        return None
    found: dict[str, bytes] = {}
    for name in os.listdir(path):
        content = _file_content(os.path.join(path, name))
        if content is None:
            return None
        found[name] = content
    return found


def _file_content(path: str) -> bytes | None:
    """The content of a regular file, or ``None`` for anything else; no link is followed."""
    if not stat.S_ISREG(_mode(path)):
        return None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        # It can be replaced all the same.
        return None
    with open(handle, "rb") as file:
        return file.read()


def _mode(path: str) -> int:
    """The mode of what stands at ``path`` itself, 0 where nothing does."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _write_folder(path: str, content: Mapping[str, bytes]) -> None:
    os.mkdir(path)
    for name, data in content.items():
        atomic_write.write_file(os.path.join(path, name), data)
    atomic_write.sync_folder(path)


@contextmanager
def _gone_on_failure(path: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            _remove(path)
        raise


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
