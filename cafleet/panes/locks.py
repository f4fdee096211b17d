"""One typist per pane at a time, over all processes."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from cafleet.errors import MultiplexerError, PaneLockedError
from cafleet.file_lock import try_lock
from cafleet.panes.sockets import SHARED_TMP, default_socket

_RETRY = 0.02


def pane_lock(
    socket: str | None, pane: str, *, limit: float = 10.0
) -> AbstractContextManager[None]:
    """Hold the pane's lock; it is gone with the process, however that ends.

    ``socket`` is the server's, ``None`` as for :func:`cafleet.panes.choice.multiplexer`.

    Raises:
        PaneLockedError: others have held it for all of ``limit`` seconds.
        MultiplexerError: there is no folder for the lock's file.
    """
    busy = f"another process has been typing into pane {pane!r} for {limit:.3g} s; try again"
    return _held(pane_lock_path(socket, pane), PaneLockedError(busy), limit)


def pane_lock_path(socket: str | None, pane: str) -> str:
    """The file of the pane's lock.

    Raises:
        MultiplexerError: there is no folder for it.
    """
    return _path(socket or default_socket(), pane)


def layout_lock(socket: str, *, limit: float) -> AbstractContextManager[None]:
    """Hold the lock under which panes are opened on a server, so that two do not take one place.

    Raises:
        MultiplexerError: as :func:`pane_lock`.
    """
    busy = f"another process has been opening panes for {limit:.3g} s; try again"
    return _held(_path(socket, "layout"), MultiplexerError(busy), limit)


@contextmanager
def _held(path: str, busy: MultiplexerError, limit: float) -> Iterator[None]:
    ends = time.monotonic() + limit
    handle = _open(path)
    try:
        _wait(handle, busy, ends)
        # Whoever cleans the temporary folder may have removed the file: its name counts, so that
        # two processes never hold locks on two files of one name.
        while not _is_at(handle, path):
            os.close(handle)
            handle = _open(path)
            _wait(handle, busy, ends)
        # A file that is in use looks new to such a cleaner.
        os.utime(handle)
        yield
    finally:
        os.close(handle)


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return os.open(path, flags)
        owner = os.stat(os.path.dirname(path)).st_uid
        if owner != os.getuid():
            # Root has made it, and the server's user has to be able to open it. A file that was
            # there before keeps its owner: it may be a link to another.
            os.fchown(handle, owner, -1)
    except OSError as error:
        raise MultiplexerError(
            f"the lock {path} cannot be opened ({error.strerror}); mend that"
        ) from error
    return handle


def _is_at(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _wait(handle: int, busy: MultiplexerError, ends: float) -> None:
    while not try_lock(handle):
        if time.monotonic() >= ends:
            raise busy
        time.sleep(_RETRY)


def lock_folder(owner: int | None = None) -> str:
    """The folder of the lock files of a user's servers, made if need be; by default this user's.

    It has one place, whatever the environment of who locks says: whoever types into the panes of a
    server has to come to the same folder, root included.

    Raises:
        MultiplexerError: there is none that is safe to use.
    """
    user = os.getuid() if owner is None else owner
    folder = os.path.join(SHARED_TMP, f"cafleet-{user}")
    try:
        os.mkdir(folder, 0o700)
        if user != os.getuid():
            os.chown(folder, user, -1, follow_symlinks=False)
    except FileExistsError:
        pass
    except OSError as error:
        raise MultiplexerError(f"{folder} cannot be made ({error.strerror}); mend that") from error
    if not _is_private(folder, user):
        raise MultiplexerError(
            f"{folder} is not a folder that user {user} alone may use; remove it"
        )
    return folder


def _is_private(folder: str, user: int) -> bool:
    """Whether it is a folder, not a link to one, that ``user``, its owner, alone may use."""
    status = os.lstat(folder)
    mode = status.st_mode
    return stat.S_ISDIR(mode) and status.st_uid == user and not stat.S_IMODE(mode) & 0o077


def _path(socket: str, pane: str) -> str:
    from hashlib import sha256

    try:
        # The socket itself, not its path: links and mounts give one socket many paths.
        status = os.stat(socket)
        owner, server = status.st_uid, f"{status.st_dev}:{status.st_ino}"
    except (OSError, ValueError):
        owner, server = os.getuid(), os.path.realpath(socket)
    # A zero byte can stand in neither, so no two pairs are written alike.
    key = b"\0".join(text.encode("utf-8", "surrogatepass") for text in (server, pane))
    return os.path.join(lock_folder(owner), f"{sha256(key).hexdigest()[:32]}.lock")
