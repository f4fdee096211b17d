"""What the last start of a member has left: its panes, and the processes in them."""

from __future__ import annotations

import msgspec

from cafleet.agents.cues import current_cues
from cafleet.agents.presence import of_agent
from cafleet.courier.observing import Observation, Target, look_at, target_of
from cafleet.errors import MultiplexerError, RefusedError
from cafleet.operations.leftovers import family_in, heirs_of
from cafleet.panes import Multiplexer, PaneTag, Spot, multiplexer, parse_tag
from cafleet.panes.processes import end, outlasting
from cafleet.records import Launch, MemberRecord, Placement, ScreenState
from cafleet.screens import Process

# How long the processes of a pane that was closed may take to end.
_ENDING_SECONDS = 5.0


class LastStart(msgspec.Struct, frozen=True, kw_only=True):
    """``close`` are the panes to close, ``leave`` those that a person works in now. ``opened`` is the pane
    of a start that was interrupted before its pane was recorded. ``processes`` are the agent's.

    ``in_pane`` says where and in what state the agent runs in the member's own pane, ``elsewhere`` which
    processes of it run outside of its panes. Both are null where there is nothing.
    """

    mux: Multiplexer | None = None
    close: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    opened: Spot | None = None
    processes: tuple[Process, ...] = ()
    in_pane: str | None = None
    elsewhere: str | None = None


def find_last_start(member: MemberRecord, launch: Launch, database_id: str) -> LastStart:
    """Look at what the last start of a member has left on its server.

    Raises:
        MultiplexerError: the server does not answer.
    """
    home = member.placement
    cues = current_cues(launch.coding_agent)
    running = of_agent(tuple(heirs_of(database_id, member.member_id)), cues)
    mux = None if home is None else multiplexer(home.backend, home.mux_socket)
    if home is None or mux is None or not mux.is_listening():
        return _without_pane(running)
    tag = PaneTag(
        database_id=database_id,
        fleet_id=member.fleet_id,
        member_id=member.member_id,
        launch_number=launch.launch_number,
    )
    target = target_of(member, database_id)
    close, leave, in_pane = [], [], None
    in_panes: dict[int, Process] = {}
    for spot in mux.survey():
        found = parse_tag(spot.tag)
        if not tag.is_of_same_member(found):
            continue
        if target is None and found == tag:
            return LastStart(mux=mux, opened=spot)
        seen = _look(mux, spot.pane, member, home, tag)
        if seen.unreachable:
            raise MultiplexerError(f"{seen.reason}; member {member.member_id} is left as it was")
        is_dead = seen.picture is None or seen.picture.dead
        if seen.look.state is ScreenState.SHELL and not is_dead:
            leave.append(spot.pane)
            continue
        close.append(spot.pane)
        in_panes |= {each.pid: each for each in of_agent(family_in(seen), cues)}
        if target is not None and spot.pane == target.pane and not is_dead:
            in_pane = f"pane {spot.pane}, {seen.look.state}"
    others = _without_pane(tuple(each for each in running if each.pid not in in_panes))
    return LastStart(
        mux=mux,
        close=tuple(close),
        leave=tuple(leave),
        processes=(*in_panes.values(), *others.processes),
        in_pane=in_pane,
        elsewhere=others.elsewhere,
    )


def seen_alive(member: MemberRecord, database_id: str) -> str | None:
    """What an agent does that runs in the pane of its member, or ``None`` where none does.

    Raises:
        MultiplexerError: the server does not answer.
    """
    target = target_of(member, database_id)
    mux = None if target is None else multiplexer(target.backend, target.socket)
    if target is None or mux is None or not mux.is_listening():
        return None
    seen = look_at(mux, [target])[target.pane]
    if seen.unreachable:
        raise MultiplexerError(f"{seen.reason}; member {member.member_id} is left as it was")
    if seen.picture is None or seen.picture.dead or seen.look.state is ScreenState.SHELL:
        return None
    return str(seen.look.state)


def _without_pane(running: tuple[Process, ...]) -> LastStart:
    """Agents of the member whose pane is gone; they get a moment to end."""
    left = tuple(outlasting(running, _ENDING_SECONDS))
    return LastStart(processes=left, elsewhere=_named(left))


def _look(
    mux: Multiplexer, pane: str, member: MemberRecord, home: Placement, tag: PaneTag
) -> Observation:
    target = Target(
        member_id=member.member_id,
        backend=home.backend,
        pane=pane,
        socket=mux.socket,
        session=home.mux_session,
        window=home.mux_window_id,
        agent=home.coding_agent,
        tag=tag,
    )
    return look_at(mux, [target])[pane]


def _named(processes: tuple[Process, ...]) -> str | None:
    if not processes:
        return None
    return ", ".join(f"process {each.pid} ({each.name})" for each in processes)


def end_last_start(member_id: int, last: LastStart, *, force: bool) -> None:
    """Close the old panes and wait until their processes have ended. ``force`` ends those that do not.

    Raises:
        RefusedError: a process of the last start still runs.
        MultiplexerError: a pane cannot be closed.
    """
    if last.mux is not None:
        for pane in last.leave:
            # A person's shell runs in it.
            last.mux.set_tag(pane, None)
        for pane in last.close:
            last.mux.kill(pane, missing_ok=True)
    left = outlasting(last.processes, _ENDING_SECONDS)
    if left and force:
        left = end(left)
    if left:
        raise RefusedError(
            f"of the last start of member {member_id} this still runs: {_named(tuple(left))}; end it, or "
            f"pass --force"
        )
