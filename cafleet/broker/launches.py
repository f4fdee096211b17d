"""How each member was started last: what a restart needs."""

from __future__ import annotations

from cafleet.records import ArgumentKind, Launch
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction


def write(conn: Connection, launch: Launch) -> None:
    """Keep how a member is started, in place of its last start; inside the caller's transaction."""
    queries.delete_launch(conn, member_id=launch.member_id)
    queries.insert_launch(
        conn,
        member_id=launch.member_id,
        coding_agent=launch.coding_agent,
        model=launch.model,
        effort=launch.effort,
        permission_mode=launch.permission_mode,
        working_directory=launch.working_directory,
        agent_base=launch.agent_base,
        worktree=launch.worktree,
        branch=launch.branch,
        base_commit=launch.base_commit,
        prompt=launch.prompt,
        session_id=launch.session_id,
        launch_number=launch.launch_number,
        now=launch.launched_at,
    )
    arguments = [(ArgumentKind.AGENT_ARG, each) for each in launch.agent_args]
    arguments += [(ArgumentKind.ALLOW, each) for each in launch.allowed]
    for position, (kind, argument) in enumerate(arguments):
        queries.insert_launch_argument(
            conn, member_id=launch.member_id, position=position, kind=kind, argument=argument
        )


def find(conn: Connection, *, member_id: int) -> Launch | None:
    """How the member was started last; ``None`` for one that an older program has started."""
    row = queries.find_launch(conn, member_id=member_id)
    if row is None:
        return None
    given = queries.list_launch_arguments(conn, member_id=member_id)
    values = {name: getattr(row, name) for name in row.__struct_fields__}
    return Launch(
        **values,
        agent_args=tuple(each.argument for each in given if each.kind is ArgumentKind.AGENT_ARG),
        allowed=tuple(each.argument for each in given if each.kind is ArgumentKind.ALLOW),
    )


def folders(conn: Connection, *, fleet_id: int) -> dict[int, str]:
    """The folders that the active members of a fleet were started in, by member id."""
    rows = queries.list_launch_folders(conn, fleet_id=fleet_id)
    return {row.member_id: row.working_directory for row in rows}


def worktrees(conn: Connection, *, fleet_id: int) -> dict[int, tuple[str, str | None]]:
    """The work trees of a fleet's members: folder and branch by member id."""
    rows = queries.list_worktrees(conn, fleet_id=fleet_id)
    return {row.member_id: (row.worktree, row.branch) for row in rows}


def note_session(conn: Connection, *, member_id: int, session_id: str) -> bool:
    """Keep the session that a member's agent shows. Returns whether another was kept before, or none."""
    launch = queries.find_launch(conn, member_id=member_id)
    if launch is None or launch.session_id == session_id:
        return False
    with transaction(conn):
        changed = queries.set_launch_session(
            conn, member_id=member_id, launch_number=launch.launch_number, session_id=session_id
        )
    return bool(changed)
