"""The multiplexer interface for tmux. Each operation has a module of its own."""

from __future__ import annotations

import os
import socket as sockets
import struct
from collections.abc import Collection, Mapping, Sequence

from cafleet.errors import MultiplexerError
from cafleet.panes import capture, control, environment, pictures, resettling, typist
from cafleet.panes.identity import PaneTag
from cafleet.panes.interface import NewPane, Spot
from cafleet.panes.survey import survey
from cafleet.screens import Picture, Process

# A process, its user and its group, as unix(7) has them.
_UCRED = struct.Struct("3i")


class Tmux:
    """See :class:`cafleet.panes.interface.Multiplexer`."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    @property
    def socket(self) -> str:
        return self._socket

    def is_listening(self) -> bool:
        with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as client:
            client.setblocking(False)
            try:
                client.connect(os.fsencode(self.socket))
            except BlockingIOError:
                # The server is there, but slow: its queue is full.
                return True
            except OSError:
                return False
        return True

    def is_in_sight(self) -> bool:
        if not hasattr(sockets, "SO_PEERCRED"):
            # Only Linux has such namespaces.
            return True
        with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as client:
            client.setblocking(False)
            try:
                client.connect(os.fsencode(self.socket))
                credentials = client.getsockopt(
                    sockets.SOL_SOCKET, sockets.SO_PEERCRED, _UCRED.size
                )
            except OSError:
                return self.is_listening()
        # The number of a process that has none here is 0.
        return bool(_UCRED.unpack(credentials)[0])

    def split(
        self,
        beside: str | None,
        *,
        env: Mapping[str, str],
        argv: Sequence[str],
        tag: PaneTag,
        title: str,
        cwd: str,
        session: str = "",
        creating: bool = False,
        director: bool = False,
        limit: float = 5.0,
    ) -> NewPane:
        # libtmux takes as long to import as all the rest of a command.
        from cafleet.panes.split import open_pane

        return open_pane(
            self._socket,
            beside,
            env=env,
            argv=argv,
            tag=tag,
            title=title,
            cwd=cwd,
            session=session if beside is None else None,
            listening=beside is not None or self.is_listening(),
            creating=creating,
            director=director,
            limit=limit,
        )

    def set_tag(
        self, pane: str, tag: PaneTag | None, *, creating: bool = False, director: bool = False
    ) -> None:
        control.set_tag(self._socket, pane, tag, creating=creating, director=director)

    def end_creation(self, panes: Sequence[str]) -> None:
        control.end_creation(self._socket, panes)

    def kill(self, pane: str, *, missing_ok: bool) -> None:
        control.kill(self._socket, pane, missing_ok=missing_ok)

    def pictures(self, panes: Sequence[str]) -> dict[str, Picture | MultiplexerError]:
        return pictures.take(self._socket, panes)

    def paste(
        self,
        texts: Mapping[str, str],
        programs: Mapping[str, str] | None = None,
        processes: Mapping[str, Sequence[Process]] | None = None,
        tokens: Mapping[str, str] | None = None,
    ) -> dict[str, MultiplexerError]:
        return typist.paste(self._socket, texts, programs or {}, processes or {}, tokens or {})

    def enter(self, panes: Sequence[str]) -> dict[str, MultiplexerError]:
        return typist.enter(self._socket, panes)

    def capture(
        self, panes: Sequence[str], *, lines: int, ansi: bool
    ) -> dict[str, str | MultiplexerError]:
        return capture.capture(self._socket, panes, lines=lines, ansi=ansi)

    def tagged_panes(self) -> dict[str, str]:
        return {spot.pane: spot.tag for spot in self.survey() if spot.tag}

    def survey(self) -> list[Spot]:
        return survey(self._socket)

    def resettle(
        self, panes: Collection[str], small: Collection[str], *, fleet: str, name: str
    ) -> list[str]:
        return resettling.resettle(self._socket, panes, small, fleet=fleet, name=name)

    def server_pid(self, pane: str) -> int:
        return control.server_pid(self._socket, pane)

    def variable(self, pane: str, name: str) -> str | None:
        return environment.variable(self._socket, pane, name)
