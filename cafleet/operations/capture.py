"""`member capture`: what a member's pane shows."""

from __future__ import annotations

import msgspec

from cafleet import clock
from cafleet.courier.observing import look_at
from cafleet.errors import MultiplexerError
from cafleet.operations.targets import gone, pane_target
from cafleet.panes import multiplexer
from cafleet.store import Connection


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """``lines`` echoes the request. The hash is over the UTF-8 of ``content``, in hexadecimal."""

    member_id: int
    pane_id: str
    lines: int
    content: str
    captured_at: str
    content_sha256: str


def capture_member(conn: Connection, *, member_id: int, lines: int, ansi: bool) -> Capture:
    """Read the last ``lines`` drawn lines of a member's pane. Stores nothing.

    Raises:
        UnknownIdError, RefusedError: the member has no pane.
        PaneGoneError: the pane is gone, or another's.
        MultiplexerError: its server cannot be reached.
    """
    from hashlib import sha256

    target = pane_target(conn, member_id=member_id)
    mux = multiplexer(target.backend, target.socket)
    observation = look_at(mux, [target])[target.pane]
    if observation.unreachable:
        raise MultiplexerError(observation.reason)
    if observation.picture is None:
        raise gone(conn, target, observation)
    content = mux.capture([target.pane], lines=lines, ansi=ansi)[target.pane]
    if isinstance(content, MultiplexerError):
        raise content
    return Capture(
        member_id=member_id,
        pane_id=target.pane,
        lines=lines,
        content=content,
        captured_at=clock.stamp(clock.utc_now()),
        content_sha256=sha256(content.encode("utf-8", "surrogateescape")).hexdigest(),
    )
