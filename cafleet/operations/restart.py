"""`member restart`: the same member, the same inbox, a new process."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from cafleet import clock, settings
from cafleet.agents import agent
from cafleet.broker import fleets, launches, members, placements
from cafleet.courier.starting import ensure_running
from cafleet.errors import CafleetError, MultiplexerError, RefusedError
from cafleet.operations import launch_digests
from cafleet.operations.agent_start import AgentStart, PaneOpening, add_remains, stored_folder
from cafleet.operations.caller import is_caller
from cafleet.operations.fleet_lock import fleet_lock
from cafleet.operations.last_start import LastStart, end_last_start, find_last_start
from cafleet.operations.placeholders import check
from cafleet.operations.sessions import Found, session_of
from cafleet.operations.spawn import SPLIT_SECONDS, Beside, beside_of
from cafleet.operations.typing import type_when_resting
from cafleet.panes import PaneTag
from cafleet.records import CodingAgent, Launch, MemberKind, MemberRecord
from cafleet.store import Connection

FIRST_WORDS = "You were restarted. Poll your messages, then continue what was interrupted."
RESUMED = "resumed"
FRESH = "fresh"


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants otherwise than at the last start. ``read_body`` reads a new prompt."""

    fresh: bool = False
    force: bool = False
    coding_agent: CodingAgent | None = None
    model: str | None = None
    effort: str | None = None
    read_body: Callable[[], str] | None = None


class RestartPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a restart will do. ``last`` is what the last start has left, ``start`` the next one."""

    member: MemberRecord
    before: Launch
    last: LastStart
    start: AgentStart
    found: Found
    force: bool

    @property
    def session(self) -> str:
        return FRESH if self.found.session_id is None else RESUMED


class Restarted(msgspec.Struct, frozen=True, kw_only=True):
    """``session`` is ``resumed`` or ``fresh``, and ``reason`` says why."""

    member: MemberRecord
    session: str
    reason: str
    warnings: tuple[str, ...] = ()


def restart_member(conn: Connection, *, member_id: int, wishes: Wishes) -> Restarted:
    """Start a member again. Whatever fails, it stays registered.

    Raises:
        UnknownIdError: there is no such active member.
        RefusedError: it is the Director, the caller itself, alive, its fleet is paused, or nothing is
            known of its start.
        UsageError: the model, the effort or the prompt is not valid.
        AgentError, MultiplexerError: the agent cannot be started.
    """
    member = members.get(conn, member_id=member_id)
    if member.kind is MemberKind.DIRECTOR:
        raise RefusedError(
            f"member {member_id} is the Director of fleet {member.fleet_id}; `cafleet fleet resume "
            f"{member.fleet_id}` brings a Director back whose pane is gone"
        )
    if is_caller(conn, member_id=member_id):
        raise RefusedError("a member cannot restart itself; ask your Director to do it")
    with fleet_lock(member.fleet_id, f"member restart {member_id}"):
        fleets.refuse_paused(conn, fleet_id=member.fleet_id)
        plan = plan_restart(conn, member_id=member_id, wishes=wishes)
        if plan.last.in_pane is not None and not wishes.force:
            raise RefusedError(
                f"the agent of member {member_id} still runs ({plan.last.in_pane}); let it end, or "
                f"restart it with --force, which ends what it does"
            )
        done = carry_out(conn, plan)
        done = msgspec.structs.replace(done, warnings=say_first_words(conn, plan))
    ensure_running(conn, database=settings.database_path(), fleet_id=member.fleet_id)
    return done


def plan_restart(conn: Connection, *, member_id: int, wishes: Wishes) -> RestartPlan:
    """Look at a member and say how it will be started again. Changes nothing.

    Raises:
        RefusedError: nothing is known of its start, or its agent runs outside of its pane.
        Others as :func:`restart_member`.
    """
    member = members.get(conn, member_id=member_id)
    database_id = fleets.database_id(conn)
    before = known_launch(conn, member, database_id, force=wishes.force)
    last = find_last_start(member, before, database_id)
    if last.elsewhere is not None and not wishes.force:
        raise RefusedError(
            f"the agent of member {member_id} still runs outside of its pane ({last.elsewhere}); let it "
            f"end, or pass --force, which ends it"
        )
    start, found = _start(member, before, wishes, database_id, last)
    start.agent.program()
    return RestartPlan(
        member=member, before=before, last=last, start=start, found=found, force=wishes.force
    )


def carry_out(conn: Connection, plan: RestartPlan) -> Restarted:
    """Start a member again as planned; its fleet's lock is held. Raises as :func:`restart_member`."""
    member_id = plan.member.member_id
    if plan.last.opened is not None:
        return _completed(conn, plan)
    director = members.active_director(conn, fleet_id=plan.member.fleet_id)
    database_id = fleets.database_id(conn)
    beside = _beside(director, database_id)
    tag = PaneTag(
        database_id=database_id,
        fleet_id=plan.member.fleet_id,
        member_id=member_id,
        launch_number=plan.before.launch_number + 1,
    )
    opening = PaneOpening(beside.mux, plan.start, tag, director_member_id=director.member_id)
    made = opening.launch(clock.utc_now())
    launch_digests.note(database_id, made, before=plan.before)
    placements.start_again(
        conn,
        member_id=member_id,
        placement=beside.pending(plan.start.agent.name),
        launch=made,
        now=clock.utc_now(),
    )
    try:
        end_last_start(member_id, plan.last, force=plan.force)
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
    return Restarted(
        member=members.get(conn, member_id=member_id),
        session=plan.session,
        reason=plan.found.reason,
    )


def say_first_words(conn: Connection, plan: RestartPlan) -> tuple[str, ...]:
    """Type the first words for an agent that takes none on its command line beside a session.

    Returns a warning if it was not told.
    """
    if plan.last.opened is not None or plan.session == FRESH or plan.start.agent.prompts_resumed:
        return ()
    member_id = plan.member.member_id
    try:
        type_when_resting(conn, member_id=member_id, line=FIRST_WORDS)
    except CafleetError as error:
        return (f"member {member_id} was not told that it was restarted: {error}",)
    return ()


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
        raise changed_start(launch)
    return launch


def changed_start(launch: Launch) -> RefusedError:
    """The refusal of a stored start that is not as this user's programs wrote it."""
    shown = msgspec.json.encode(launch).decode()
    return RefusedError(
        f"the stored start of member {launch.member_id} is not as it was written, so another may "
        f"have changed it: {shown}; read it, and pass --force if it is right"
    )


def _start(
    member: MemberRecord, before: Launch, wishes: Wishes, database_id: str, last: LastStart
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
            before, fleet_id=member.fleet_id, database_id=database_id, processes=last.processes
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


def _beside(director: MemberRecord, database_id: str) -> Beside:
    """Where the new pane opens: beside the Director's, or the caller's."""
    try:
        return beside_of(director, database_id)
    except CafleetError as error:
        raise MultiplexerError(
            f"the pane of the Director is gone, and this is no pane either ({error}); run `cafleet fleet "
            f"resume {director.fleet_id}`, which brings the Director back as well"
        ) from error


def _completed(conn: Connection, plan: RestartPlan) -> Restarted:
    """Finish a start that was interrupted when its pane was open already."""
    mux, spot, member_id = plan.last.mux, plan.last.opened, plan.member.member_id
    if mux is None or spot is None:
        raise ValueError("no start was interrupted")
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
    return Restarted(
        member=members.get(conn, member_id=member_id),
        session=plan.session,
        reason="an interrupted start had opened its pane already",
    )
