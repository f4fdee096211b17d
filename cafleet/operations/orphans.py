"""Orphan panes: they carry a tag of this database and belong to no member.

Only panes of a fleet's creation that was never committed are closed unasked. `doctor` lists all others, and
a person closes them by name. A deleted fleet may have left them on purpose, or the database may be an
older backup that does not know them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from cafleet import settings
from cafleet.broker import fleets, lifecycle, members
from cafleet.courier.process_lock import creation_lock_path, is_held
from cafleet.errors import CafleetError, IntegrityError, RefusedError
from cafleet.operations.findings import OrphanPane
from cafleet.panes import Multiplexer, PaneTag, Spot, parse_tag
from cafleet.records import MemberKind, MemberStatus
from cafleet.store import Connection


class MendedPane(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an orphan: ``closed``, or ``untagged`` if it was a Director's."""

    pane_id: str
    outcome: str


def orphans_on(conn: Connection, server: Multiplexer) -> Iterator[OrphanPane]:
    """The orphans of a server. Empty if it cannot be reached."""
    try:
        spots = server.survey() if server.is_listening() else []
    except CafleetError:
        return
    for spot, tag in _ours(conn, spots):
        if not _is_at_home(conn, spot, tag) and not _is_under_way(tag):
            yield OrphanPane(
                socket=server.socket,
                pane_id=spot.pane,
                fleet_id=tag.fleet_id,
                member_id=tag.member_id,
            )


def sweep(conn: Connection, server: Multiplexer) -> None:
    """Close the panes that interrupted creations of fleets have left, and untag the panes that they
    were called from.

    Raises:
        MultiplexerError: the server cannot be reached.
    """
    for spot, tag in _ours(conn, server.survey()):
        # Without the mark the creation of the pane was committed, be it in a newer database.
        if not spot.creating or members.find(conn, member_id=tag.member_id) is not None:
            continue
        director = lifecycle.reserved_for_director(
            conn, fleet_id=tag.fleet_id, member_id=tag.member_id
        )
        if director is not None and not _is_under_way(tag):
            _remove(server, spot, director=director)


def mend(conn: Connection, servers: Sequence[Multiplexer], pane: str) -> MendedPane:
    """Close the orphan ``pane``, or untag it if it is a Director's.

    Raises:
        RefusedError: it is no orphan, or more than one server has an orphan of this id.
        MultiplexerError: its server cannot be reached.
    """
    found = [
        server
        for server in servers
        for orphan in orphans_on(conn, server)
        if orphan.pane_id == pane
    ]
    if not found:
        raise RefusedError(f"{pane} is none of the orphan panes that `cafleet doctor` lists")
    if len(found) > 1:
        sockets = ", ".join(server.socket for server in found)
        raise RefusedError(
            f"several servers have an orphan pane {pane} ({sockets}); close the one you mean with: "
            f"tmux -S SOCKET kill-pane -t '{pane}'"
        )
    (server,) = found
    spot, tag = next(each for each in _ours(conn, server.survey()) if each[0].pane == pane)
    director = spot.director or _is_directors(conn, tag)
    _remove(server, spot, director=director)
    return MendedPane(pane_id=pane, outcome="untagged" if director else "closed")


def _remove(server: Multiplexer, spot: Spot, *, director: bool) -> None:
    if director:
        # A person's own agent runs in it.
        server.set_tag(spot.pane, None)
    else:
        server.kill(spot.pane, missing_ok=True)


def _ours(conn: Connection, spots: Sequence[Spot]) -> list[tuple[Spot, PaneTag]]:
    database_id = fleets.database_id(conn)
    tagged = [(spot, parse_tag(spot.tag)) for spot in spots]
    return [(spot, tag) for spot, tag in tagged if tag and tag.database_id == database_id]


def _is_at_home(conn: Connection, spot: Spot, tag: PaneTag) -> bool:
    """Whether the pane is that of an active member."""
    try:
        member = members.find(conn, member_id=tag.member_id)
    except IntegrityError:
        # It cannot be known to have left; its row is told of with its fleet's.
        return True
    return (
        member is not None
        and member.status is MemberStatus.ACTIVE
        and member.fleet_id == tag.fleet_id
        and member.placement is not None
        and member.placement.mux_pane_id == spot.pane
    )


def _is_under_way(tag: PaneTag) -> bool:
    """Whether a living process is creating the fleet."""
    return is_held(creation_lock_path(settings.database_path(), tag.fleet_id))


def _is_directors(conn: Connection, tag: PaneTag) -> bool:
    reserved = lifecycle.reserved_for_director(conn, fleet_id=tag.fleet_id, member_id=tag.member_id)
    if reserved is not None:
        return reserved
    member = members.find(conn, member_id=tag.member_id)
    return member is not None and member.kind is MemberKind.DIRECTOR
