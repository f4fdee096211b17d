"""Identify the calling member, as far as the environment of this process proves it.

This is the only place that decides it. It reads the environment and the database alone, so it works in a
sandbox.
"""

from __future__ import annotations

import os
from enum import StrEnum

import msgspec

from cafleet import settings
from cafleet.broker import fleets, members
from cafleet.errors import RefusedError
from cafleet.records import MemberRecord, MemberStatus
from cafleet.store import Connection


class Evidence(StrEnum):
    """The proof of who calls: the variables of the member's pane, or the pane itself."""

    VARIABLE = "variable"
    PANE = "pane"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    member: MemberRecord
    evidence: Evidence


class NobodyError(RefusedError):
    """The caller is no active member of this database, or it is not certain which."""


def identify(conn: Connection) -> Caller:
    """The member that calls.

    The variables count only with the id of this database; TMUX_PANE only on the server that the
    placement names, by socket and process id. If the two contradict each other, neither counts.

    Raises:
        NobodyError: it is no member; says why.
        IntegrityError: the row of a member that it may be is damaged.
    """
    named = _by_variables(conn)
    pane = settings.tmux_pane()
    owner = None if pane is None else members.in_pane(conn, pane=pane)
    if named is not None:
        if pane is not None and owner != named.member_id and _is_elsewhere(named, pane, owner):
            whose = "that of no member" if owner is None else f"that of member {owner}"
            raise NobodyError(
                f"{settings.MEMBER_ID} names member {named.member_id}, and this pane, {pane.pane}, is "
                f"{whose}; unset the variable, or call from the member's own pane"
            )
        return Caller(member=named, evidence=Evidence.VARIABLE)
    if owner is not None:
        return Caller(member=members.get(conn, member_id=owner), evidence=Evidence.PANE)
    raise NobodyError(
        "you are no member of a fleet here: neither the variables nor the pane of this process are a "
        "member's; `cafleet fleet list` and `cafleet member list <fleet-id>` show the members"
    )


def is_caller(conn: Connection, *, member_id: int) -> bool:
    """Whether this process acts for the member; raises IntegrityError as :func:`identify`."""
    try:
        return identify(conn).member.member_id == member_id
    except NobodyError:
        return False


def _by_variables(conn: Connection) -> MemberRecord | None:
    variables = settings.member_variables()
    if variables is None or variables.database_id != fleets.database_id(conn):
        return None
    member = members.find(conn, member_id=variables.member_id)
    # A database that was restored from a backup may have given the id to another fleet's member.
    if member is None or variables.fleet_id not in {None, member.fleet_id}:
        return None
    if member.status is not MemberStatus.ACTIVE:
        raise NobodyError(
            f"you were member {member.member_id} of fleet {member.fleet_id}, which is deregistered; "
            f"end your work, nothing more is expected of you"
        )
    return member


def _is_elsewhere(named: MemberRecord, pane: settings.TmuxPane, owner: int | None) -> bool:
    """Whether ``pane``, which is not that of ``named`` by the database, contradicts the variables.

    A pane of another server does not: agents run tools in tmux servers of their own.
    """
    if owner is not None:
        return True
    home = named.placement
    return (
        home is not None
        and home.mux_pane_id is not None
        and home.mux_server_pid == pane.server_pid
        and home.mux_socket is not None
        and os.path.realpath(home.mux_socket) == os.path.realpath(pane.socket)
    )
