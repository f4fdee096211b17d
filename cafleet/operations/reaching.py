"""Finding the pane of a member that a command is to act on."""

from __future__ import annotations

from cafleet.broker import fleets, members
from cafleet.courier.looking import Target, target_of
from cafleet.errors import RefusedError
from cafleet.records import MemberRecord
from cafleet.store import Connection


def placed_target(conn: Connection, member: MemberRecord) -> Target | None:
    """The pane of a placed member, or ``None`` while it is pending.

    Raises:
        RefusedError: the member has no placement.
    """
    if member.placement is None:
        raise RefusedError(
            f"member {member.member_id} has no placement, so there is no pane; delete it with "
            f"`cafleet member delete {member.member_id}` and create another"
        )
    return target_of(member, fleets.database_id(conn))


def pane_target(conn: Connection, *, member_id: int) -> Target:
    """The pane of an active member.

    Raises:
        UnknownIdError: there is no such active member.
        RefusedError: it has no placement, or its pane is still pending.
    """
    target = placed_target(conn, members.get(conn, member_id=member_id))
    if target is None:
        raise RefusedError(
            f"the pane of member {member_id} is still pending; wait until it is open, or delete the member "
            f"with `cafleet member delete {member_id}`"
        )
    return target
