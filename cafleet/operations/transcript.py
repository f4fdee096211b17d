"""`member transcript`: what was said in a member's session, by its agent's own record."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cafleet.agents.sessions import Turn
from cafleet.broker import fleets, launches, members
from cafleet.courier.observing import look_at, target_of
from cafleet.errors import RefusedError
from cafleet.operations.sessions import session_of
from cafleet.panes import multiplexer
from cafleet.records import MemberRecord
from cafleet.screens import Process
from cafleet.store import Connection


def transcript(conn: Connection, *, member_id: int, turns: int) -> list[Turn]:
    """The last ``turns`` turns of a member's session, oldest first.

    Raises:
        UnknownIdError: there is no such active member.
        RefusedError: no record of its session is found, or nothing has been said in it.
    """
    member = members.get(conn, member_id=member_id)
    launch = launches.find(conn, member_id=member_id)
    if launch is None:
        raise RefusedError(
            f"nothing was kept of the start of member {member_id}, since an older program has started "
            f"it; look with `cafleet member capture {member_id}`"
        )
    database_id = fleets.database_id(conn)
    found = session_of(
        launch,
        fleet_id=member.fleet_id,
        database_id=database_id,
        processes=_processes(member, database_id),
    )
    said = () if found.session is None else merged(found.session.turns)
    if not said:
        raise RefusedError(
            f"nothing can be read of what member {member_id} said ({found.reason}); look with "
            f"`cafleet member capture {member_id}`"
        )
    return list(said[-turns:])


def merged(rows: Sequence[Turn]) -> list[Turn]:
    """Rows of one side that follow each other, as one turn each."""
    turns: list[Turn] = []
    for row in rows:
        if turns and turns[-1].role == row.role:
            before = turns.pop()
            text = "\n".join(filter(None, (before.text, row.text)))
            row = msgspec.structs.replace(before, text=text, tools=(*before.tools, *row.tools))
        turns.append(row)
    return turns


def _processes(member: MemberRecord, database_id: str) -> tuple[Process, ...]:
    target = target_of(member, database_id)
    if target is None:
        return ()
    mux = multiplexer(target.backend, target.socket)
    return look_at(mux, [target])[target.pane].processes if mux.is_listening() else ()
