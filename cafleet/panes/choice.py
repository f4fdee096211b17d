"""Choose the multiplexer: for the caller by its environment, for a member by its placement."""

from __future__ import annotations

import os

from cafleet.errors import MultiplexerError, PaneGoneError, SettingError
from cafleet.panes.interface import CallerPane, Multiplexer
from cafleet.panes.sockets import default_socket
from cafleet.records import Backend
from cafleet.settings import MULTIPLEXER, tmux_pane

_SIGNS = {Backend.TMUX: "TMUX", Backend.HERDR: "HERDR_ENV"}


def detect_backend() -> Backend:
    """The multiplexer that this process runs in: CAFLEET_MULTIPLEXER, or the variable that it has set.

    Raises:
        SettingError: CAFLEET_MULTIPLEXER names an unknown multiplexer.
        MultiplexerError: the environment shows no multiplexer, or more than one.
    """
    named = os.environ.get(MULTIPLEXER)
    if named is not None:
        if named not in _SIGNS:
            raise SettingError(
                f"{MULTIPLEXER} is {named!r}; set it to {' or '.join(_SIGNS)}, or unset it"
            )
        return Backend(named)
    found = [backend for backend, sign in _SIGNS.items() if os.environ.get(sign)]
    if len(found) == 1:
        return found[0]
    signs = " and ".join(_SIGNS.values())
    if found:
        raise MultiplexerError(
            f"{signs} are both set; say which counts with {MULTIPLEXER}={' or '.join(_SIGNS)}"
        )
    raise MultiplexerError(
        f"this is no pane of a multiplexer ({signs} are not set); start tmux first"
    )


def sign_of(backend: Backend) -> str:
    """The variable that a multiplexer sets in its panes."""
    return _SIGNS[backend]


def detect_caller() -> CallerPane:
    """The pane that this process runs in. It need not have the focus.

    Raises:
        SettingError: CAFLEET_MULTIPLEXER names an unknown multiplexer.
        MultiplexerError: the process does not run in a pane, or the pane's server is gone.
    """
    backend = detect_backend()
    if backend is not Backend.TMUX:
        raise _unsupported(backend)
    place = tmux_pane()
    if place is None:
        raise MultiplexerError("TMUX and TMUX_PANE do not name a tmux pane; run this inside tmux")
    from cafleet.panes.pictures import TAG_OPTION
    from cafleet.panes.script import Reply, ask

    socket, pane = place.socket, place.pane
    reply = ask(socket, [pane], ("session_name", "window_id", "pid", TAG_OPTION))[pane]
    # This process may have outlived its server, and the next server gives the same id to another pane.
    if isinstance(reply, PaneGoneError) or (
        isinstance(reply, Reply) and reply.values["pid"] != str(place.server_pid)
    ):
        raise PaneGoneError("the tmux pane of this process is gone; run this in one that lives")
    if isinstance(reply, MultiplexerError):
        raise reply
    return CallerPane(
        backend=backend,
        socket=socket,
        server_pid=place.server_pid,
        session=reply.values["session_name"],
        window=reply.values["window_id"],
        pane=pane,
        tag=reply.values[TAG_OPTION],
    )


def multiplexer(backend: Backend, socket: str | None) -> Multiplexer:
    """The server at ``socket``; for ``None`` the one that tmux itself would choose here.

    Raises:
        MultiplexerError: ``backend`` is not supported.
    """
    if backend is not Backend.TMUX:
        raise _unsupported(backend)
    from cafleet.panes.tmux import Tmux

    return Tmux(os.path.abspath(socket) if socket else default_socket())


def _unsupported(backend: Backend) -> MultiplexerError:
    return MultiplexerError(f"{backend} is not supported yet; run the fleet inside tmux")
