"""`member delete` and `fleet delete`: deregister members and close their panes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cafleet import clock, settings
from cafleet.broker import fleets, launches, lifecycle, members, messages, registration
from cafleet.courier.observing import Observation, Target, by_server, look_at, target_of
from cafleet.errors import CafleetError, MultiplexerError
from cafleet.operations.agent_start import remove_prompt_file
from cafleet.operations.fleet_lock import fleet_lock
from cafleet.operations.leftovers import end_noted, family_in, heirs_of, told_of
from cafleet.operations.worktree_removal import check_removable, described, remove
from cafleet.panes import multiplexer
from cafleet.panes.processes import living
from cafleet.records import Launch, MemberKind, MemberRecord, MemberStatus, ScreenState
from cafleet.screens import Process
from cafleet.store import Connection

# Several members are often deleted at once, each in about a second.
_PATIENCE = 10.0
# How many open messages a warning names.
_MOST_NAMED = 20

KILLED = "killed"
ALREADY_GONE = "already gone"
PENDING = "pending"
NO_PLACEMENT = "no placement"
RUNNING = "still running"
ENDED = "its program has ended"


class PaneFate(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a member's pane. ``pane_id`` is null if there was none. ``warnings`` are sentences about
    processes that outlived it and about open messages. ``handed`` of those went to ``successor_id``.
    ``removed_worktree`` is the work tree that was removed, ``kept_because`` says why it was not."""

    member_id: int
    pane_id: str | None
    status: str
    warnings: Sequence[str] = ()
    handed: int = 0
    successor_id: int | None = None
    removed_worktree: str | None = None
    kept_because: str | None = None


class FleetTeardown(msgspec.Struct, frozen=True, kw_only=True):
    deregistered_count: int
    panes: list[PaneFate]
    warnings: Sequence[str] = ()


def delete_member(
    conn: Connection,
    *,
    member_id: int,
    force: bool = False,
    successor_id: int | None = None,
    remove_worktree: bool = False,
    ignore: Sequence[str] = (),
) -> PaneFate:
    """Kill a member's pane, if it is still the member's, and deregister the member.

    Its open messages go to the successor, if one is given. Else a warning names them. ``force`` also ends
    the processes that outlive the pane, even those of a member that was deleted before. ``remove_worktree``
    also removes its work tree; ``ignore`` are patterns of ignored files that may go with it.

    Raises:
        UnknownIdError: there is no such active member.
        RefusedError: it is the root Director, it cannot hand over to this successor, another
            command works on its fleet, or something would be lost with its work tree. The member stays.
        MultiplexerError: its server cannot be reached. The member stays.
    """
    if force and _has_left(conn, member_id):
        warnings = end_noted(conn, member_id)
        return PaneFate(member_id=member_id, pane_id=None, status=NO_PLACEMENT, warnings=warnings)
    member = members.get(conn, member_id=member_id)
    registration.refuse_director(member)
    with fleet_lock(member.fleet_id, f"member delete {member_id}", patience=_PATIENCE):
        if successor_id is not None:
            registration.check_successor(conn, member_id=member_id, successor_id=successor_id)
        launch = launches.find(conn, member_id=member_id)
        if remove_worktree:
            check_removable(conn, member_id, launch, ignore)
        fate, family = _delete_member(conn, member, force=force, successor_id=successor_id)
        if launch is None or launch.worktree is None:
            return fate
        if remove_worktree:
            return _without_worktree(conn, fate, launch, family, ignore)
        stays = described(launch)
        return msgspec.structs.replace(fate, warnings=[*fate.warnings, *([stays] if stays else [])])


def _without_worktree(
    conn: Connection,
    fate: PaneFate,
    launch: Launch,
    family: Sequence[Process],
    ignore: Sequence[str],
) -> PaneFate:
    """Remove the work tree of a member that has just left, unless a process of its pane is still in it."""
    heirs = heirs_of(fleets.database_id(conn), fate.member_id)
    left = living({each.pid: each for each in [*family, *heirs]}.values())
    stays = described(launch)
    if left:
        return msgspec.structs.replace(
            fate,
            kept_because=f"{stays}: process {left[0].pid} ({left[0].name}) of its pane still runs; end "
            f"it, and remove the tree with `git worktree remove`",
        )
    try:
        return msgspec.structs.replace(fate, removed_worktree=remove(conn, launch, ignore))
    except CafleetError as error:
        return msgspec.structs.replace(
            fate, kept_because=f"the member is deleted, and its work tree stays: {error}"
        )


def _delete_member(
    conn: Connection, member: MemberRecord, *, force: bool, successor_id: int | None
) -> tuple[PaneFate, tuple[Process, ...]]:
    """Returns what became of the pane, and the processes that were in it."""
    member_id = member.member_id
    family: tuple[Process, ...] = ()
    target = target_of(member, fleets.database_id(conn))
    if target is not None:
        mux = multiplexer(target.backend, target.socket)
        observation = look_at(mux, [target])[target.pane]
        if observation.unreachable:
            raise MultiplexerError(f"{observation.reason}; member {member_id} is left as it was")
        if _is_there(observation):
            family = family_in(observation)
            mux.kill(target.pane, missing_ok=True)
        fate = KILLED if _is_there(observation) else ALREADY_GONE
        outcome = PaneFate(member_id=member_id, pane_id=target.pane, status=fate)
    else:
        status = NO_PLACEMENT if member.placement is None else PENDING
        outcome = PaneFate(member_id=member_id, pane_id=None, status=status)
    left = messages.poll(conn, member_id=member_id, oldest=True) if successor_id is None else []
    handed = registration.deregister(
        conn, member_id=member_id, now=clock.utc_now(), successor_id=successor_id
    )
    _remove_prompt(member_id)
    warnings = told_of(conn, {member_id: family}, force=force)
    if left:
        warnings.append(_left_open(member_id, [each.message_id for each in left]))
    outcome = msgspec.structs.replace(
        outcome, warnings=warnings, handed=handed or 0, successor_id=successor_id
    )
    return outcome, family


def _left_open(member_id: int, message_ids: Sequence[int]) -> str:
    """The sentence that names the open messages of a member that has left."""
    shown = ", ".join(map(str, message_ids[:_MOST_NAMED]))
    more = len(message_ids) - _MOST_NAMED
    shown += f" and {more} more" if more > 0 else ""
    count = "1 message" if len(message_ids) == 1 else f"{len(message_ids)} messages"
    return (
        f"member {member_id} has left {count} that it had not acknowledged ({shown}), and nobody has them "
        f"now; send again what still matters, and next time pass --hand-to MEMBER_ID"
    )


def _has_left(conn: Connection, member_id: int) -> bool:
    member = members.find(conn, member_id=member_id)
    return member is not None and member.status is not MemberStatus.ACTIVE


def delete_fleet(conn: Connection, *, fleet_id: int, kill_panes: bool) -> FleetTeardown:
    """Soft-delete a fleet and say which of its members' panes still run. A second call finds none.

    Raises:
        UnknownIdError: there is no such fleet.
        RefusedError: another command works on it.
    """
    fleets.get(conn, fleet_id=fleet_id)
    with fleet_lock(fleet_id, f"fleet delete {fleet_id}", patience=_PATIENCE):
        return _delete_fleet(conn, fleet_id, kill_panes=kill_panes)


def _delete_fleet(conn: Connection, fleet_id: int, *, kill_panes: bool) -> FleetTeardown:
    database_id = fleets.database_id(conn)
    count, leaving = lifecycle.delete(conn, fleet_id=fleet_id, now=clock.utc_now())
    _free_director(leaving, database_id)
    others = [member for member in leaving if member.kind is not MemberKind.DIRECTOR]
    targets = [target_of(member, database_id) for member in others]
    fates: dict[int, PaneFate] = {}
    families: dict[int, tuple[Process, ...]] = {}
    for here in by_server([target for target in targets if target is not None]):
        fates |= _fates(here, families, kill_panes=kill_panes)
    for member in others:
        _remove_prompt(member.member_id)
        if member.member_id not in fates and member.placement is not None:
            fates[member.member_id] = PaneFate(
                member_id=member.member_id, pane_id=None, status=PENDING
            )
    return FleetTeardown(
        deregistered_count=count,
        panes=[fates[member_id] for member_id in sorted(fates)],
        warnings=told_of(conn, families),
    )


def _fates(
    targets: Sequence[Target], families: dict[int, tuple[Process, ...]], *, kill_panes: bool
) -> dict[int, PaneFate]:
    """Close panes of one server. Puts what ran in the closed ones into ``families``.

    Raises nothing, since the fleet is deleted already.
    """
    try:
        mux = multiplexer(targets[0].backend, targets[0].socket)
    except MultiplexerError as error:
        return {target.member_id: _fate(target, f"unreachable: {error}") for target in targets}
    found = {}
    for target in targets:
        observation = look_at(mux, [target])[target.pane]
        if observation.unreachable:
            status = f"unreachable: {observation.reason}"
        elif not _is_there(observation):
            status = ALREADY_GONE
        elif kill_panes:
            status = KILLED
            families[target.member_id] = family_in(observation)
            try:
                mux.kill(target.pane, missing_ok=True)
            except MultiplexerError as error:
                status = f"not killed: {error}"
        elif observation.picture is not None and observation.picture.dead:
            status = ENDED
        else:
            status = RUNNING
        found[target.member_id] = _fate(target, status)
    return found


def _fate(target: Target, status: str) -> PaneFate:
    return PaneFate(member_id=target.member_id, pane_id=target.pane, status=status)


def _is_there(observation: Observation) -> bool:
    """Whether the pane is the member's, the program in it alive or dead."""
    return observation.picture is not None


def _free_director(leaving: Sequence[MemberRecord], database_id: str) -> None:
    """Untag the Director's pane if it can be reached. A stale tag does no harm."""
    for member in leaving:
        target = target_of(member, database_id)
        if member.kind is not MemberKind.DIRECTOR or target is None:
            continue
        try:
            mux = multiplexer(target.backend, target.socket)
            if look_at(mux, [target])[target.pane].look.state is not ScreenState.GONE:
                mux.set_tag(target.pane, None)
        except CafleetError:
            return


def _remove_prompt(member_id: int) -> None:
    try:
        remove_prompt_file(settings.database_path(), member_id)
    except OSError:
        # The member is gone, and nobody reads its old prompt any more.
        return
