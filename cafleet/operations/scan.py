"""`monitor scan`: capture every pane of a fleet, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cafleet import clock
from cafleet.broker import fleets, members
from cafleet.courier.observing import Target, by_server, look_at, target_of
from cafleet.courier.starting import require_server
from cafleet.errors import MultiplexerError
from cafleet.panes import multiplexer
from cafleet.records import CodingAgent, MemberKind, MemberRecord
from cafleet.store import Connection

PENDING = "pane not available (pending placement)"


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """One member's pane. It has either ``content`` with time and hash, or ``error``."""

    member_id: int
    name: str
    kind: MemberKind
    coding_agent: CodingAgent
    pane_id: str | None
    lines: int
    content: str | None = None
    captured_at: str | None = None
    content_sha256: str | None = None
    error: str | None = None


def scan_fleet(conn: Connection, *, fleet_id: int, lines: int, ansi: bool) -> list[Scan]:
    """Capture the Director's pane, then those of the other placed members, ids ascending. Writes nothing.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
        MultiplexerError: the fleet's multiplexer server cannot be reached.
    """
    fleets.get_living(conn, fleet_id=fleet_id)
    active = members.list_active(conn, fleet_id=fleet_id)
    require_server(conn, fleet_id=fleet_id)
    active.sort(key=lambda member: (member.kind is not MemberKind.DIRECTOR, member.member_id))
    database_id = fleets.database_id(conn)
    targets = [target_of(member, database_id) for member in active]
    captured: dict[int, str | MultiplexerError] = {}
    for here in by_server([target for target in targets if target is not None]):
        captured |= _capture(here, lines, ansi=ansi)
    now = clock.stamp(clock.utc_now())
    return [
        _scan(member, captured.get(member.member_id), lines, now)
        for member in active
        if member.placement is not None
    ]


def _capture(
    targets: Sequence[Target], lines: int, *, ansi: bool
) -> dict[int, str | MultiplexerError]:
    """The content of panes of one server, or the error, by member id."""
    try:
        mux = multiplexer(targets[0].backend, targets[0].socket)
    except MultiplexerError as error:
        return {target.member_id: error for target in targets}
    seen = look_at(mux, targets)
    there = [target.pane for target in targets if seen[target.pane].picture is not None]
    contents = mux.capture(there, lines=lines, ansi=ansi)
    return {
        target.member_id: contents.get(target.pane, MultiplexerError(seen[target.pane].reason))
        for target in targets
    }


def _scan(
    member: MemberRecord, captured: str | MultiplexerError | None, lines: int, now: str
) -> Scan:
    from hashlib import sha256

    placement = member.placement
    if placement is None:
        raise AssertionError("only placed members are scanned")
    scan = Scan(
        member_id=member.member_id,
        name=member.name,
        kind=member.kind,
        coding_agent=placement.coding_agent,
        pane_id=placement.mux_pane_id,
        lines=lines,
    )
    if captured is None:
        return msgspec.structs.replace(scan, error=PENDING)
    if isinstance(captured, MultiplexerError):
        return msgspec.structs.replace(scan, error=f"capture failed: {captured}")
    return msgspec.structs.replace(
        scan,
        content=captured,
        captured_at=now,
        content_sha256=sha256(captured.encode("utf-8", "surrogateescape")).hexdigest(),
    )
