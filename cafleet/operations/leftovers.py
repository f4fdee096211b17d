"""Processes that outlive their pane: report them, record them, and end them on request."""

from __future__ import annotations

import os
from collections.abc import Mapping

from cafleet import clock, settings
from cafleet.broker import fleets, leftovers
from cafleet.courier.observing import Observation
from cafleet.panes.processes import boot, end, family, heirs, living, outlasting
from cafleet.screens import Process
from cafleet.store import Connection

# How long a process may take to end once its pane is gone.
_SECONDS = 1.0


def family_in(observation: Observation) -> tuple[Process, ...]:
    """The processes of a pane before it is closed. Empty if they cannot be seen."""
    picture = observation.picture
    if picture is None or picture.dead or picture.foreground is None or not picture.pid:
        return ()
    return family(picture.pid)


def told_of(
    conn: Connection, families: Mapping[int, tuple[Process, ...]], *, force: bool = False
) -> list[str]:
    """Sentences about processes that outlived the panes of members, by member id. ``force`` ends them."""
    outlasting([process for each in families.values() for process in each], _SECONDS)
    database_id = fleets.database_id(conn)
    said = []
    for member_id, processes in families.items():
        # What the pane has started may have left it long ago, but not its variables.
        others = heirs_of(database_id, member_id) if processes else []
        left = outlasting({each.pid: each for each in [*processes, *others]}.values(), _SECONDS)
        if left:
            said.append(_settled(conn, member_id, left, force=force))
    return said


def heirs_of(database_id: str, member_id: int) -> list[Process]:
    """The processes that were started for a member, wherever they run now, the courier aside."""
    found = heirs({settings.DATABASE_ID: database_id, settings.MEMBER_ID: str(member_id)})
    # A courier serves the whole fleet, whoever has started it.
    return [each for each in found if "cafleet" not in map(os.path.basename, each.words[:4])]


def end_noted(conn: Connection, member_id: int) -> list[str]:
    """End the processes that outlived the pane of a deleted member. Returns a sentence for each."""
    here = boot()
    noted = leftovers.noted(conn, member_id=member_id)
    left = living(
        Process(pid=row.pid, name=row.name, started=row.started)
        for row in noted
        if row.boot == here
    )
    if left:
        return [_settled(conn, member_id, left, force=True)]
    leftovers.note(conn, member_id=member_id, processes=[], boot=here, now=clock.utc_now())
    return []


def _settled(conn: Connection, member_id: int, left: list[Process], *, force: bool) -> str:
    """End the processes if ``force`` is set, record those that run on, and say what became of them."""
    remaining = end(left) if force else left
    leftovers.note(
        conn,
        member_id=member_id,
        processes=[(each.pid, each.started, each.name) for each in remaining],
        boot=boot(),
        now=clock.utc_now(),
    )
    if not remaining:
        return f"ended what had outlived the pane of member {member_id}: {_named(left)}"
    if force:
        return (
            f"what has outlived the pane of member {member_id} cannot be ended: {_named(remaining)}"
        )
    return (
        f"the pane of member {member_id} is gone, and this still runs: {_named(remaining)}; end it with "
        f"`cafleet member delete {member_id} --force`"
    )


def _named(processes: list[Process]) -> str:
    return ", ".join(f"process {each.pid} ({each.name})" for each in processes)
