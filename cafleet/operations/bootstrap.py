"""`fleet create`: this pane becomes the Director of a new fleet, with a monitor beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

import msgspec

from cafleet import clock, settings
from cafleet.agents import agent, default_monitor_prompt
from cafleet.agents.paths import locate
from cafleet.broker import fleets, lifecycle, members, placements
from cafleet.broker.lifecycle import NewFleet, OpenedPane
from cafleet.courier.process_lock import ProcessLock, creation_lock_path
from cafleet.courier.starting import log_path, start
from cafleet.errors import CafleetError, MultiplexerError, RefusedError
from cafleet.operations import launch_digests
from cafleet.operations.agent_start import (
    AgentStart,
    PaneOpening,
    add_remains,
    current_folder,
    storable,
)
from cafleet.operations.orphans import sweep
from cafleet.operations.placeholders import check
from cafleet.operations.teardown import delete_fleet
from cafleet.panes import CallerPane, Multiplexer, PaneTag, detect_caller, multiplexer, parse_tag
from cafleet.records import CodingAgent, FleetRecord, Launch, MemberRecord, MemberStatus
from cafleet.store import Connection

# Others wait for the write lock while the pane opens, so it must not take long.
SPLIT_SECONDS = 2.0


class CourierStartError(CafleetError):
    """The courier of a new fleet did not start."""


class CreatedFleet(msgspec.Struct, frozen=True, kw_only=True):
    """``loop_pid`` is the process id of the fleet's courier, for people."""

    fleet: FleetRecord
    director: MemberRecord
    monitor: MemberRecord
    loop_pid: int


def create_fleet(
    conn: Connection,
    *,
    name: str,
    coding_agent: CodingAgent,
    monitor_prompt: Callable[[], str] | None,
    monitor_model: str | None,
) -> CreatedFleet:
    """Create a fleet whose Director is the calling pane. ``monitor_prompt`` reads the prompt of the
    monitor, ``None`` stands for the one that is shipped.

    Raises:
        MultiplexerError: this is no usable pane, or the monitor's could not be opened.
        RefusedError: a living fleet owns this pane.
        UsageError: the model or a placeholder of the prompt is not valid.
        AgentError: the coding agent cannot be started.
        CourierStartError: the fleet's courier did not start; the fleet is deleted again.
    """
    # The courier uses them; a bad value is told before anything is made.
    settings.monitor_wake_interval()
    settings.delivery_hold_timeout()
    caller = detect_caller()
    database_id = fleets.database_id(conn)
    _refuse_tagged(conn, caller, database_id)
    home = placements.PendingPlacement(
        backend=caller.backend,
        socket=caller.socket,
        server_pid=caller.server_pid,
        session=caller.session,
        window=caller.window,
        coding_agent=coding_agent,
    )
    placements.refuse_owned_pane(conn, placement=home, pane=caller.pane)
    prompt = default_monitor_prompt() if monitor_prompt is None else monitor_prompt()
    spawned = agent(coding_agent)
    if monitor_model is not None:
        spawned.check_model(monitor_model)
    spawned.program()
    # A prompt that cannot be filled in uses up no ids.
    check(prompt)
    start = AgentStart(
        agent=spawned,
        display_name="monitor",
        prompt=prompt,
        model=monitor_model,
        effort=None,
        monitor=True,
    )
    made = _make(conn, name, home, caller, start, database_id)
    try:
        return CreatedFleet(
            fleet=fleets.get(conn, fleet_id=made.fleet_id),
            director=members.get(conn, member_id=made.director_member_id),
            monitor=members.get(conn, member_id=made.monitor_member_id),
            loop_pid=_start_loop(conn, made.fleet_id),
        )
    except BaseException as failure:
        _take_back(conn, made.fleet_id, failure)
        raise


def _make(
    conn: Connection,
    name: str,
    home: placements.PendingPlacement,
    caller: CallerPane,
    start: AgentStart,
    database_id: str,
) -> NewFleet:
    mux = multiplexer(caller.backend, caller.socket)
    undo: list[Callable[[BaseException], None]] = []
    with _reserved(conn) as made:
        sweep(conn, mux)
        tag = _tag(database_id, made.fleet_id, made.monitor_member_id)
        home_tag = _tag(database_id, made.fleet_id, made.director_member_id)
        pane_opening = PaneOpening(mux, start, tag, director_member_id=made.director_member_id)

        now = clock.utc_now()
        started = [_of_director(made.director_member_id, start, now), pane_opening.launch(now)]
        for each in started:
            launch_digests.note(database_id, each)

        def spawn() -> OpenedPane:
            # Another may have made this pane its Director while this one waited for the write lock.
            _refuse_tagged(conn, detect_caller(), database_id)
            undo.append(pane_opening.undo)
            opened = pane_opening.open(caller.pane, creating=True, limit=SPLIT_SECONDS)
            undo.append(lambda failure: _untag(mux, caller.pane, failure))
            mux.set_tag(caller.pane, home_tag, creating=True, director=True)
            return OpenedPane(
                server_pid=opened.server_pid,
                session=opened.session,
                window=opened.window,
                pane=opened.pane,
            )

        try:
            lifecycle.create(
                conn,
                reserved=made,
                name=name,
                director=home,
                director_pane=caller.pane,
                spawn_monitor=spawn,
                started=started,
                now=now,
            )
            if pane_opening.pane is not None:
                # What is left on them means nothing once the ids are registered here.
                with suppress(MultiplexerError):
                    mux.end_creation([caller.pane, pane_opening.pane.pane])
        except BaseException as failure:
            if members.find(conn, member_id=made.director_member_id) is not None:
                # A signal has come after the commit.
                _take_back(conn, made.fleet_id, failure)
                raise
            # The transaction is rolled back and closed by now; only then are panes touched.
            for step in reversed(undo):
                step(failure)
            raise
    return made


@contextmanager
def _reserved(conn: Connection) -> Iterator[NewFleet]:
    """The ids of a new fleet, and a lock by which others see that its creation is under way."""
    made = lifecycle.reserve(conn, now=clock.utc_now())
    lock = ProcessLock(creation_lock_path(settings.database_path(), made.fleet_id))
    lock.acquire()
    try:
        yield made
    finally:
        lock.remove()


def _start_loop(conn: Connection, fleet_id: int) -> int:
    """Start the courier of a fleet that is committed; its process id once it has claimed the fleet."""
    database = settings.database_path()
    pid = start(conn, database=database, fleet_id=fleet_id)
    if pid is None:
        raise CourierStartError(
            f"the courier of fleet {fleet_id} did not start, so the fleet is deleted again; see "
            f"{log_path(database, fleet_id)}"
        )
    return pid


def _take_back(conn: Connection, fleet_id: int, failure: BaseException) -> None:
    """Delete a fleet that was committed and is not to be."""
    try:
        delete_fleet(conn, fleet_id=fleet_id, kill_panes=True)
    except CafleetError as error:
        add_remains(failure, f"fleet {fleet_id} could not be deleted: {error}")


def _of_director(member_id: int, monitor: AgentStart, now: datetime) -> Launch:
    """What is known of the start of the Director, which runs the same agent as its monitor."""
    return Launch(
        member_id=member_id,
        coding_agent=monitor.agent.name,
        model=None,
        effort=None,
        permission_mode=None,
        working_directory=storable(current_folder()),
        agent_base=locate(monitor.agent.name).base,
        prompt=None,
        session_id=None,
        launched_at=clock.stamp(now),
    )


def _tag(database_id: str, fleet_id: int, member_id: int) -> PaneTag:
    return PaneTag(database_id=database_id, fleet_id=fleet_id, member_id=member_id)


def _untag(mux: Multiplexer, pane: str, failure: BaseException) -> None:
    try:
        mux.set_tag(pane, None)
    except CafleetError as error:
        add_remains(failure, f"pane {pane} may still be tagged: {error}")


def _refuse_tagged(conn: Connection, caller: CallerPane, database_id: str) -> None:
    if not caller.tag:
        return
    tag = parse_tag(caller.tag)
    if tag is None or tag.database_id != database_id:
        raise RefusedError(
            f"this pane belongs to a fleet of another database; use another pane, or free it with: "
            f"tmux set-option -pu -t '{caller.pane}' @cafleet"
        )
    owner = members.find(conn, member_id=tag.member_id)
    if owner is not None and owner.status is MemberStatus.ACTIVE and owner.fleet_id == tag.fleet_id:
        raise RefusedError(
            f"this pane is that of member {owner.member_id} of fleet {owner.fleet_id}; use another pane, "
            f"or delete that fleet first with `cafleet fleet delete {owner.fleet_id}`"
        )
