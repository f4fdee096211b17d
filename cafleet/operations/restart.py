"""`member restart`: the same member, the same inbox, a new process."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from cafleet import clock, settings
from cafleet.agents import agent
from cafleet.agents.cues import current_cues
from cafleet.agents.presence import of_agent
from cafleet.broker import fleets, launches, members, placements
from cafleet.courier.observing import Observation, Target, look_at, target_of
from cafleet.courier.starting import ensure_running
from cafleet.errors import CafleetError, MultiplexerError, RefusedError
from cafleet.operations import launch_digests
from cafleet.operations.agent_start import AgentStart, PaneOpening, add_remains, stored_folder
from cafleet.operations.caller import is_caller
from cafleet.operations.fleet_lock import fleet_lock
from cafleet.operations.leftovers import family_in, heirs_of
from cafleet.operations.placeholders import check
from cafleet.operations.sessions import Found, session_of
from cafleet.operations.spawn import SPLIT_SECONDS, Beside, beside_of
from cafleet.operations.typing import type_when_resting
from cafleet.panes import Multiplexer, PaneTag, Spot, multiplexer, parse_tag
from cafleet.panes.processes import end, outlasting
from cafleet.records import CodingAgent, Launch, MemberKind, MemberRecord, Placement, ScreenState
from cafleet.screens import Process
from cafleet.store import Connection

FIRST_WORDS = "You were restarted. Poll your messages, then continue what was interrupted."
RESUMED = "resumed"
FRESH = "fresh"
# How long the processes of a pane that was closed may take to end.
_ENDING_SECONDS = 5.0


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants otherwise than at the last start. ``read_body`` reads a new prompt."""

    fresh: bool = False
    force: bool = False
    coding_agent: CodingAgent | None = None
    model: str | None = None
    effort: str | None = None
    read_body: Callable[[], str] | None = None


class Restarted(msgspec.Struct, frozen=True, kw_only=True):
    """``session`` is ``resumed`` or ``fresh``, and ``reason`` says why."""

    member: MemberRecord
    session: str
    reason: str
    warnings: tuple[str, ...] = ()


class _Old(msgspec.Struct, frozen=True, kw_only=True):
    """What the last start has left: the panes to close, the pane that a person works in now, the
    pane of an interrupted restart, and the processes that have to end first."""

    mux: Multiplexer | None = None
    close: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    opened: Spot | None = None
    processes: tuple[Process, ...] = ()
    alive: str | None = None


def restart_member(conn: Connection, *, member_id: int, wishes: Wishes) -> Restarted:
    """Start a member again. Whatever fails, it stays registered.

    Raises:
        UnknownIdError: there is no such active member.
        RefusedError: it is the Director, the caller itself, alive, or nothing is known of its start.
        UsageError: the model, the effort or the prompt is not valid.
        AgentError, MultiplexerError: the agent cannot be started.
    """
    member = members.get(conn, member_id=member_id)
    if member.kind is MemberKind.DIRECTOR:
        raise RefusedError(
            f"member {member_id} is the Director of fleet {member.fleet_id}, whose agent a person starts "
            f"and ends; restart its members alone"
        )
    if is_caller(conn, member_id=member_id):
        raise RefusedError("a member cannot restart itself; ask your Director to do it")
    with fleet_lock(member.fleet_id):
        done = restart_locked(conn, member_id=member_id, wishes=wishes)
    ensure_running(conn, database=settings.database_path(), fleet_id=member.fleet_id)
    return done


def restart_locked(conn: Connection, *, member_id: int, wishes: Wishes) -> Restarted:
    """Start a member again while this process holds the lock of its fleet; raises as above."""
    member = members.get(conn, member_id=member_id)
    director = members.active_director(conn, fleet_id=member.fleet_id)
    database_id = fleets.database_id(conn)
    before = known_launch(conn, member, database_id, force=wishes.force)
    old = _old(member, before, database_id)
    if old.opened is not None and old.mux is not None:
        return _completed(conn, member_id, old.mux, old.opened)
    if old.alive is not None and not wishes.force:
        raise RefusedError(
            f"the agent of member {member_id} still runs ({old.alive}); let it end, or restart it with "
            f"--force, which ends what it does"
        )
    start, found = _start(member, before, wishes, database_id, old.processes)
    beside = _beside(director, database_id)
    start.agent.program()
    number = before.launch_number + 1
    tag = PaneTag(
        database_id=database_id,
        fleet_id=member.fleet_id,
        member_id=member_id,
        launch_number=number,
    )
    opening = PaneOpening(beside.mux, start, tag, director_member_id=director.member_id)
    made = opening.launch(clock.utc_now())
    launch_digests.note(database_id, made)
    placements.start_again(
        conn,
        member_id=member_id,
        placement=placements.PendingPlacement(
            backend=beside.backend,
            socket=beside.mux.socket,
            server_pid=None,
            session=beside.session,
            window=beside.window,
            coding_agent=start.agent.name,
        ),
        launch=made,
        now=clock.utc_now(),
    )
    try:
        _make_room(member_id, old, force=wishes.force)
        opened = opening.open(beside.pane, limit=SPLIT_SECONDS)
        placements.set_pane(
            conn,
            member_id=member_id,
            server_pid=opened.server_pid,
            session=opened.session,
            window=opened.window,
            pane=opened.pane,
        )
    except BaseException as failure:
        opening.undo(failure)
        add_remains(
            failure,
            f"member {member_id} is registered without a pane; when that is mended, run "
            f"`cafleet member restart {member_id}`",
        )
        raise
    member = members.get(conn, member_id=member_id)
    warnings: tuple[str, ...] = ()
    if start.session_id is not None and not start.agent.prompts_resumed:
        warnings = _say_first_words(conn, member_id)
    return Restarted(
        member=member,
        session=FRESH if start.session_id is None else RESUMED,
        reason=found.reason,
        warnings=warnings,
    )


def known_launch(
    conn: Connection, member: MemberRecord, database_id: str, *, force: bool
) -> Launch:
    """How a member was started last.

    Raises:
        RefusedError: nothing is known of it, or the row is not as this user's programs wrote it.
    """
    launch = launches.find(conn, member_id=member.member_id)
    if launch is None or launch.prompt is None:
        raise RefusedError(
            f"nothing was kept of the start of member {member.member_id}, since an older program has "
            f"started it; {members.removal(member)} and create another"
        )
    if not force and not launch_digests.fits(database_id, launch):
        shown = msgspec.json.encode(launch).decode()
        raise RefusedError(
            f"the stored start of member {member.member_id} is not as it was written, so another may "
            f"have changed it: {shown}; read it, and pass --force if it is right"
        )
    return launch


def _start(
    member: MemberRecord,
    before: Launch,
    wishes: Wishes,
    database_id: str,
    processes: tuple[Process, ...],
) -> tuple[AgentStart, Found]:
    name = wishes.coding_agent or before.coding_agent
    same = name is before.coding_agent
    spawned = agent(name)
    model = wishes.model or (before.model if same else None)
    effort = wishes.effort or (before.effort if same else None)
    if model is not None:
        spawned.check_model(model)
    if effort is not None:
        spawned.check_effort(effort)
    folder = stored_folder(before.working_directory)
    if not os.path.isdir(folder) or not os.access(folder, os.X_OK):
        raise RefusedError(
            f"the folder {folder!r} of member {member.member_id} cannot be entered; make it again, or "
            f"{members.removal(member)}"
        )
    if wishes.fresh:
        found = Found(session_id=None, reason="--fresh was given")
    elif not same:
        found = Found(session_id=None, reason=f"it was {before.coding_agent} before")
    else:
        found = session_of(
            before, fleet_id=member.fleet_id, database_id=database_id, processes=processes
        )
    prompt = before.prompt or ""
    if wishes.read_body is not None:
        prompt = wishes.read_body()
        check(prompt)
    return (
        AgentStart(
            agent=spawned,
            display_name=member.name,
            prompt=prompt,
            is_filled=wishes.read_body is None,
            model=model,
            effort=effort,
            monitor=member.kind is MemberKind.MONITOR,
            permission_mode=before.permission_mode if same else None,
            # The arguments are those of the agent that they were given for.
            agent_args=before.agent_args if same else (),
            allowed=before.allowed,
            cwd=folder,
            agent_base=before.agent_base if same else None,
            worktree=before.worktree,
            branch=before.branch,
            base_commit=before.base_commit,
            session_id=found.session_id,
            first_words=FIRST_WORDS,
        ),
        found,
    )


def _old(member: MemberRecord, before: Launch, database_id: str) -> _Old:
    """Look at what the last start of a member has left on its server."""
    home = member.placement
    cues = current_cues(before.coding_agent)
    running = of_agent(tuple(heirs_of(database_id, member.member_id)), cues)
    if home is None:
        return _without_pane(running)
    mux = multiplexer(home.backend, home.mux_socket)
    if not mux.is_listening():
        return _without_pane(running)
    tag = PaneTag(
        database_id=database_id,
        fleet_id=member.fleet_id,
        member_id=member.member_id,
        launch_number=before.launch_number,
    )
    target = target_of(member, database_id)
    close, leave, alive = [], [], None
    in_panes: dict[int, Process] = {}
    for spot in mux.survey():
        found = parse_tag(spot.tag)
        if not tag.is_of_same_member(found):
            continue
        if target is None and found == tag:
            return _Old(mux=mux, opened=spot)
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
            alive = f"pane {spot.pane}, {seen.look.state}"
    elsewhere = _without_pane(tuple(each for each in running if each.pid not in in_panes))
    return _Old(
        mux=mux,
        close=tuple(close),
        leave=tuple(leave),
        processes=(*in_panes.values(), *elsewhere.processes),
        alive=alive or elsewhere.alive,
    )


def _without_pane(running: tuple[Process, ...]) -> _Old:
    """Agents of the member whose pane is gone; they get a moment to end."""
    left = tuple(outlasting(running, _ENDING_SECONDS))
    return _Old(processes=left, alive=_named(left))


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


def _beside(director: MemberRecord, database_id: str) -> Beside:
    """Where the new pane opens: beside the Director's, or the caller's."""
    try:
        return beside_of(director, database_id)
    except CafleetError as error:
        raise MultiplexerError(
            f"the pane of the Director is gone, and this is no pane either ({error}); run this in a pane "
            f"of tmux"
        ) from error


def _make_room(member_id: int, old: _Old, *, force: bool) -> None:
    """Close the old panes and wait until their processes have ended.

    Raises:
        RefusedError: a process of the last start still runs.
    """
    if old.mux is not None:
        for pane in old.leave:
            # A person's shell runs in it.
            old.mux.set_tag(pane, None)
        for pane in old.close:
            old.mux.kill(pane, missing_ok=True)
    left = outlasting(old.processes, _ENDING_SECONDS)
    if left and force:
        left = end(left)
    if left:
        raise RefusedError(
            f"of the last start of member {member_id} this still runs: {_named(tuple(left))}; end it, or "
            f"pass --force"
        )


def _completed(conn: Connection, member_id: int, mux: Multiplexer, spot: Spot) -> Restarted:
    """Finish a restart that was interrupted when its pane was open already."""
    picture = mux.pictures([spot.pane])[spot.pane]
    if isinstance(picture, MultiplexerError):
        raise picture
    placements.set_pane(
        conn,
        member_id=member_id,
        server_pid=mux.server_pid(spot.pane),
        session=picture.session,
        window=picture.window,
        pane=spot.pane,
    )
    member = members.get(conn, member_id=member_id)
    launch = launches.find(conn, member_id=member_id)
    resumed = launch is not None and launch.launch_number > 1 and launch.session_id is not None
    return Restarted(
        member=member,
        session=RESUMED if resumed else FRESH,
        reason="an interrupted start had opened its pane already",
    )


def _say_first_words(conn: Connection, member_id: int) -> tuple[str, ...]:
    try:
        type_when_resting(conn, member_id=member_id, line=FIRST_WORDS)
    except CafleetError as error:
        return (f"member {member_id} was not told that it was restarted: {error}",)
    return ()
