"""One typist per pane at a time, over all processes of the user."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from cafleet.errors import MultiplexerError, PaneLockedError
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
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise MultiplexerError(
            f"the lock {path} cannot be opened ({error.strerror}); mend that"
        ) from error
    try:
        _wait(handle, busy, limit)
        yield
    finally:
        # The file stays: to remove it would let two processes hold locks on two files of one name.
        os.close(handle)


def _wait(handle: int, busy: MultiplexerError, limit: float) -> None:
    ends = time.monotonic() + limit
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= ends:
                raise busy from None
            time.sleep(_RETRY)
        else:
            return


def lock_folder() -> str:
    """The folder of the lock files, made if need be: the user's alone, in their runtime folder.

    All processes of a user must come to the same one, whatever environment each was given. So
    where XDG_RUNTIME_DIR is unset its usual value is tried, and TMPDIR has no say.

    Raises:
        MultiplexerError: there is none that is safe to use.
    """
    user = os.getuid()
    for base in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{user}"):
        if os.path.isabs(base) and _is_private(base):
            return _made(os.path.join(base, "cafleet"))
    return _made(os.path.join(SHARED_TMP, f"cafleet-{user}"))


def _is_private(folder: str) -> bool:
    """Whether it is a folder, not a link to one, that its owner, this user, alone may use."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    mode = status.st_mode
    return stat.S_ISDIR(mode) and status.st_uid == os.getuid() and not stat.S_IMODE(mode) & 0o077


def _made(folder: str) -> str:
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise MultiplexerError(f"{folder} cannot be made ({error.strerror}); mend that") from error
    if not _is_private(folder):
        raise MultiplexerError(f"{folder} is not a folder of yours alone; remove it")
    return folder


def _path(socket: str, pane: str) -> str:
    from hashlib import sha256

    server = os.path.realpath(socket)
    # A zero byte can stand in neither, so no two pairs are written alike.
    key = b"\0".join(text.encode("utf-8", "surrogatepass") for text in (server, pane))
    return os.path.join(lock_folder(), f"{sha256(key).hexdigest()[:32]}.lock")
