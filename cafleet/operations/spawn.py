"""`member create`: a member is registered, its pane opened, and nothing left behind by a failure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from cafleet import clock
from cafleet.agents import agent
from cafleet.agents.allowing import check_allowed
from cafleet.broker import fleets, members, naming, placements, registration
from cafleet.courier.observing import look_at, target_of
from cafleet.errors import CafleetError, RefusedError, UsageError
from cafleet.operations import launch_digests
from cafleet.operations.agent_start import (
    AgentStart,
    PaneOpening,
    add_remains,
    current_folder,
    storable,
)
from cafleet.operations.worktrees import (
    WorktreePlan,
    make_worktree,
    plan_worktree,
    unmake_worktree,
)
from cafleet.panes import Multiplexer, PaneTag, detect_caller, multiplexer
from cafleet.records import Backend, CodingAgent, Launch, MemberRecord, ScreenState
from cafleet.store import Connection

SPLIT_SECONDS = 5.0


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """The pane that a new one opens beside."""

    mux: Multiplexer
    backend: Backend
    pane: str
    session: str
    window: str

    def pending(self, name: CodingAgent) -> placements.PendingPlacement:
        """The placement of a member that is about to open here with this agent."""
        return placements.PendingPlacement(
            backend=self.backend,
            socket=self.mux.socket,
            server_pid=None,
            session=self.session,
            window=self.window,
            coding_agent=name,
        )


def create_member(
    conn: Connection,
    *,
    fleet_id: int,
    name: str,
    description: str,
    coding_agent: CodingAgent | None,
    model: str | None,
    effort: str | None,
    monitor: bool,
    permission_mode: str | None,
    agent_args: tuple[str, ...],
    allowed: tuple[str, ...] = (),
    cwd: str | None = None,
    worktree: str | None = None,
    allow_same_name: bool = False,
    read_body: Callable[[], str],
) -> MemberRecord:
    """Register a member and open its pane, in the folder ``cwd``, by default the current one, or in a new
    work tree of its repository for the branch ``worktree``. ``read_body`` reads its spawn prompt,
    ``allowed`` are patterns of commands that it may run.

    Raises:
        UnknownIdError: the fleet is unknown or deleted.
        RefusedError: the Director is not active, the role is taken or not to be had yet, the name
            is taken for another's, or no work tree can be made for the branch.
        UsageError: the name, the model, the effort, a pattern or a placeholder is not valid.
        BodyError: the prompt cannot be read.
        AgentError, MultiplexerError: the agent cannot be started.
    """
    director = members.active_director(conn, fleet_id=fleet_id)
    spawned = agent(coding_agent or _own_agent(director))
    if model is not None:
        spawned.check_model(model)
    if effort is not None:
        spawned.check_effort(effort)
    if permission_mode is not None and spawned.name is not CodingAgent.CLAUDE:
        raise UsageError(f"--permission-mode is claude's alone; leave it out for {spawned.name}")
    for pattern in allowed:
        check_allowed(pattern)
    folder = None if cwd is None else _folder(cwd)
    registration.check_role(conn, fleet_id=fleet_id, monitor=monitor)
    try:
        naming.check(
            conn, fleet_id=fleet_id, name=name, monitor=monitor, allow_same=allow_same_name
        )
    except RefusedError:
        # Of several monitors with one name, those that lose are to hear that there is one now.
        registration.check_role(conn, fleet_id=fleet_id, monitor=monitor)
        raise
    tree = None if worktree is None else plan_worktree(folder or current_folder(), worktree)
    start = AgentStart(
        agent=spawned,
        display_name=name,
        prompt=read_body(),
        model=model,
        effort=effort,
        monitor=monitor,
        permission_mode=permission_mode,
        agent_args=agent_args,
        allowed=allowed,
        cwd=folder if tree is None else tree.path,
        worktree=None if tree is None else storable(tree.path),
        branch=None if tree is None else tree.branch,
        base_commit=None if tree is None else tree.base_commit,
    )
    database_id = fleets.database_id(conn)
    beside = beside_of(director, database_id)
    spawned.program()
    openings: list[PaneOpening] = []

    def launch(member_id: int) -> Launch:
        tag = PaneTag(database_id=database_id, fleet_id=fleet_id, member_id=member_id)
        openings.append(PaneOpening(beside.mux, start, tag, director_member_id=director.member_id))
        made = openings[-1].launch(clock.utc_now())
        launch_digests.note(database_id, made)
        return made

    with _worktree(tree):
        member_id = registration.register(
            conn,
            fleet_id=fleet_id,
            name=name,
            description=description,
            monitor=monitor,
            allow_same_name=allow_same_name,
            placement=beside.pending(spawned.name),
            launch=launch,
            now=clock.utc_now(),
        )
        pane_opening = openings[-1]
        try:
            opened = pane_opening.open(beside.pane, limit=SPLIT_SECONDS)
            placements.set_pane(
                conn,
                member_id=member_id,
                server_pid=opened.server_pid,
                session=opened.session,
                window=opened.window,
                pane=opened.pane,
            )
            return members.get(conn, member_id=member_id)
        except BaseException as failure:
            pane_opening.undo(failure)
            _withdraw(conn, member_id, failure)
            raise


@contextmanager
def _worktree(plan: WorktreePlan | None) -> Iterator[None]:
    """Make a work tree for a member that is being created. If that fails, the tree goes again."""
    if plan is None:
        yield
        return
    make_worktree(plan)
    try:
        yield
    except BaseException as failure:
        for what in unmake_worktree(plan):
            add_remains(failure, what)
        raise


def _folder(path: str) -> str:
    """The absolute path of a folder that a pane can start in."""
    try:
        found = os.path.abspath(path)
    except FileNotFoundError:
        raise RefusedError(
            f"--cwd {path!r} is relative to a folder that does not exist any more; give it in full"
        ) from None
    if not os.path.isdir(found) or not os.access(found, os.X_OK):
        raise RefusedError(
            f"--cwd {path!r} is no folder that can be entered; make it, or name another"
        )
    return found


def _own_agent(director: MemberRecord) -> CodingAgent:
    if director.placement is None:
        raise RefusedError(
            f"the Director, member {director.member_id}, has no placement that would tell its coding agent; "
            f"pass --coding-agent"
        )
    return director.placement.coding_agent


def beside_of(director: MemberRecord, database_id: str) -> Beside:
    """The Director's pane if it lives, else the caller's."""
    target = target_of(director, database_id)
    if target is not None:
        mux = multiplexer(target.backend, target.socket)
        observation = look_at(mux, [target])[target.pane]
        if observation.picture is not None and observation.look.state is not ScreenState.GONE:
            return Beside(
                mux=mux,
                backend=target.backend,
                pane=target.pane,
                session=observation.picture.session,
                window=observation.picture.window,
            )
    caller = detect_caller()
    return Beside(
        mux=multiplexer(caller.backend, caller.socket),
        backend=caller.backend,
        pane=caller.pane,
        session=caller.session,
        window=caller.window,
    )


def _withdraw(conn: Connection, member_id: int, failure: BaseException) -> None:
    try:
        registration.deregister(conn, member_id=member_id, now=clock.utc_now())
    except CafleetError as error:
        add_remains(failure, f"member {member_id} is still registered: {error}")
