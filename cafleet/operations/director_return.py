"""Bring back a Director whose pane is gone: in the pane of the caller, or in a new window.

A person's shell is never made a Director. The caller's pane is taken only if a coding agent has called.
"""

from __future__ import annotations

import os

import msgspec

from cafleet import clock
from cafleet.agents import agent
from cafleet.agents.cues import current_cues
from cafleet.agents.paths import locate
from cafleet.agents.presence import of_agent
from cafleet.broker import fleets, launches, placements
from cafleet.courier.observing import look_at, target_of
from cafleet.errors import CafleetError, MultiplexerError, RefusedError
from cafleet.operations import launch_digests
from cafleet.operations.agent_start import (
    current_folder,
    pane_environment,
    start_line,
    storable,
    stored_folder,
)
from cafleet.operations.restart import FIRST_WORDS, FRESH, RESUMED, changed_start
from cafleet.operations.sessions import Found, session_of
from cafleet.operations.spawn import SPLIT_SECONDS
from cafleet.operations.typing import type_when_resting
from cafleet.panes import (
    CallerPane,
    Multiplexer,
    PaneTag,
    detect_caller,
    multiplexer,
    parse_tag,
)
from cafleet.panes.processes import ancestors
from cafleet.records import Backend, CodingAgent, Launch, MemberRecord, Placement, ScreenState
from cafleet.store import Connection


class DirectorPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How a Director comes back. ``taken`` is the pane of the calling agent; where it is null, a new window
    opens on the server at ``socket`` with the ``launch``, which takes up ``found``."""

    member: MemberRecord
    launch: Launch
    found: Found
    socket: str
    backend: Backend
    taken: CallerPane | None

    @property
    def session(self) -> str | None:
        """``resumed`` or ``fresh``; null for an agent that runs already."""
        if self.taken is not None:
            return None
        return FRESH if self.found.session_id is None else RESUMED


def plan_return(conn: Connection, director: MemberRecord, *, force: bool) -> DirectorPlan | str:
    """How the Director of a fleet comes back, or what is in its pane if that is there still.

    Raises:
        RefusedError: it has no placement, its folder is gone, or its stored start was changed.
        MultiplexerError: its server does not answer.
        AgentError: its agent is not on PATH.
    """
    database_id = fleets.database_id(conn)
    home = director.placement
    if home is None:
        raise RefusedError(
            f"the Director, member {director.member_id}, has no placement, so nobody knows where it was"
        )
    mux = multiplexer(home.backend, home.mux_socket)
    before = launches.find(conn, member_id=director.member_id)
    seen = _seen(conn, mux, director, before, database_id) if mux.is_listening() else None
    if seen is not None:
        return seen
    called = _calling_agent()
    if called is not None:
        caller, name = called
        return DirectorPlan(
            member=director,
            launch=_launch(director, before, name, folder=current_folder(), base=locate(name).base),
            found=Found(session_id=None, reason=f"the {name} that called is the Director now"),
            socket=caller.socket,
            backend=caller.backend,
            taken=caller,
        )
    launch, found = _next_start(director, home, before, database_id, force=force)
    agent(launch.coding_agent).program()
    return DirectorPlan(
        member=director,
        launch=launch,
        found=found,
        socket=mux.socket,
        backend=home.backend,
        taken=None,
    )


def _seen(
    conn: Connection,
    mux: Multiplexer,
    director: MemberRecord,
    before: Launch | None,
    database_id: str,
) -> str | None:
    """What the pane of the Director shows, or ``None`` if it is gone."""
    target = target_of(director, database_id)
    if target is not None:
        seen = look_at(mux, [target])[target.pane]
        if seen.unreachable:
            raise MultiplexerError(seen.reason)
        return None if seen.look.state is ScreenState.GONE else str(seen.look.state)
    tag = PaneTag(
        database_id=database_id,
        fleet_id=director.fleet_id,
        member_id=director.member_id,
        launch_number=1 if before is None else before.launch_number,
    )
    spot = next((each for each in mux.survey() if parse_tag(each.tag) == tag), None)
    if spot is None:
        return None
    placements.set_pane(
        conn,
        member_id=director.member_id,
        server_pid=mux.server_pid(spot.pane),
        session=spot.session,
        window=spot.window,
        pane=spot.pane,
    )
    return "a resume that was interrupted had opened its pane"


def _next_start(
    director: MemberRecord,
    home: Placement,
    before: Launch | None,
    database_id: str,
    *,
    force: bool,
) -> tuple[Launch, Found]:
    """The start in a new window, as far as the last one is known."""
    found = Found(session_id=None, reason="nothing was kept of its start")
    folder, base, name = current_folder(), None, home.coding_agent
    if before is not None:
        if not force and not launch_digests.fits(database_id, before):
            raise changed_start(before)
        folder, base = stored_folder(before.working_directory), before.agent_base
        name = before.coding_agent
        found = session_of(
            before, fleet_id=director.fleet_id, database_id=database_id, processes=()
        )
    if not os.path.isdir(folder) or not os.access(folder, os.X_OK):
        raise RefusedError(
            f"the folder {folder!r} of the Director cannot be entered; make it again"
        )
    base = base or locate(name).base
    return _launch(director, before, name, folder=folder, base=base), found


def bring_back(conn: Connection, plan: DirectorPlan) -> None:
    """Bring a Director back as planned; its fleet's lock is held.

    Raises:
        MultiplexerError: the pane cannot be opened or tagged.
        RefusedError: another process was faster.
    """
    database_id = fleets.database_id(conn)
    tag = PaneTag(
        database_id=database_id,
        fleet_id=plan.member.fleet_id,
        member_id=plan.member.member_id,
        launch_number=plan.launch.launch_number,
    )
    before = launches.find(conn, member_id=plan.member.member_id)
    launch_digests.note(database_id, plan.launch, before=before)
    home = plan.member.placement
    caller = plan.taken
    placements.start_again(
        conn,
        member_id=plan.member.member_id,
        placement=placements.PendingPlacement(
            backend=plan.backend,
            socket=plan.socket,
            server_pid=None,
            session=caller.session if caller else home.mux_session if home else "",
            window=caller.window if caller else "",
            coding_agent=plan.launch.coding_agent,
        ),
        launch=plan.launch,
        now=clock.utc_now(),
    )
    if caller is not None:
        multiplexer(caller.backend, caller.socket).set_tag(caller.pane, tag, director=True)
        placements.set_pane(
            conn,
            member_id=plan.member.member_id,
            server_pid=caller.server_pid,
            session=caller.session,
            window=caller.window,
            pane=caller.pane,
        )
    else:
        _open(conn, plan, tag)


def say_to_director(conn: Connection, plan: DirectorPlan) -> str | None:
    """Type the first words to a Director that took none on its command line. Returns a warning, or null."""
    spawned = agent(plan.launch.coding_agent)
    if plan.taken is not None or plan.found.session_id is None or spawned.prompts_resumed:
        return None
    try:
        type_when_resting(conn, member_id=plan.member.member_id, line=FIRST_WORDS)
    except CafleetError as error:
        return f"the Director was not told that it was restarted: {error}"
    return None


def _open(conn: Connection, plan: DirectorPlan, tag: PaneTag) -> None:
    member, name = plan.member, plan.launch.coding_agent
    who = f"You are member {member.member_id}, the Director of fleet {member.fleet_id}."
    prompt: str | None = f"{FIRST_WORDS}\n{who}\n{start_line(tag)}"
    if plan.found.session_id is not None and not agent(name).prompts_resumed:
        prompt = None
    mux = multiplexer(plan.backend, plan.socket)
    home = member.placement
    opened = mux.split(
        None,
        session=home.mux_session if home is not None else "",
        env=pane_environment(tag, name, plan.launch.agent_base),
        argv=agent(name).resume_argv(session_id=plan.found.session_id, prompt=prompt),
        tag=tag,
        title=f"{member.name} (member {member.member_id}, fleet {member.fleet_id})",
        cwd=stored_folder(plan.launch.working_directory),
        director=True,
        limit=SPLIT_SECONDS,
    )
    placements.set_pane(
        conn,
        member_id=member.member_id,
        server_pid=opened.server_pid,
        session=opened.session,
        window=opened.window,
        pane=opened.pane,
    )


def _launch(
    director: MemberRecord, before: Launch | None, name: CodingAgent, *, folder: str, base: str
) -> Launch:
    same = before is not None and before.coding_agent is name
    return Launch(
        member_id=director.member_id,
        coding_agent=name,
        model=None,
        effort=None,
        permission_mode=None,
        working_directory=storable(folder),
        agent_base=base,
        prompt=None,
        session_id=before.session_id if before is not None and same else None,
        launch_number=1 + (before.launch_number if before is not None else 1),
        launched_at=clock.stamp(clock.utc_now()),
    )


def _calling_agent() -> tuple[CallerPane, CodingAgent] | None:
    """The pane of this process and the agent in it that has called; ``None`` where a person calls, or
    where the pane belongs to a member."""
    try:
        caller = detect_caller()
    except CafleetError:
        return None
    if caller.tag:
        return None
    chain = ancestors(os.getpid())
    names = [
        name
        for process in chain
        for name in CodingAgent
        if of_agent((process,), current_cues(name))
    ]
    return (caller, names[0]) if names else None
