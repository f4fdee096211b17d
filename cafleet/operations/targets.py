"""Find the pane of a member that a command acts on."""

from __future__ import annotations

from cafleet.broker import fleets, members
from cafleet.courier.observing import Observation, Target, target_of
from cafleet.errors import PaneGoneError, RefusedError
from cafleet.records import MemberRecord
from cafleet.store import Connection


def placed_target(conn: Connection, member: MemberRecord) -> Target | None:
    """The pane of a placed member, or ``None`` while it is pending.

    Raises:
        RefusedError: the member has no placement.
    """
    if member.placement is None:
        raise RefusedError(
            f"member {member.member_id} has no placement, so there is no pane; "
            f"{members.removal(member)} and create another"
        )
    return target_of(member, fleets.database_id(conn))


def pane_target(conn: Connection, *, member_id: int) -> Target:
    """The pane of an active member.

    Raises:
        UnknownIdError: there is no such active member.
        RefusedError: it has no placement, or its pane is still pending.
    """
    member = members.get(conn, member_id=member_id)
    target = placed_target(conn, member)
    if target is None:
        raise RefusedError(
            f"the pane of member {member_id} is still pending; wait until it is open, or "
            f"{members.revival(member)}"
        )
    return target


def gone(conn: Connection, target: Target, observation: Observation) -> PaneGoneError:
    """The error for a pane that is gone, or that belongs to another member.

    Raises:
        UnknownIdError: the member has left, too.
    """
    member = members.get(conn, member_id=target.member_id)
    return PaneGoneError(
        f"pane {target.pane} of member {member.member_id} is gone ({observation.look.cue}); "
        f"{members.revival(member)}"
    )
