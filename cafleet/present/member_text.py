"""The `member` commands as text, without a final line feed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cafleet.present.cells import (
    ABSENT,
    age_cell,
    agent_cell,
    cell,
    idle_cell,
    name_cell,
    pane_cell,
)
from cafleet.present.table import table
from cafleet.present.visible import visible, visible_body
from cafleet.present.wire import (
    CaptureWire,
    DeletedMemberWire,
    PingWire,
    TurnWire,
    TypedWire,
    WhoamiWire,
)
from cafleet.records import Launch, MemberActivity, MemberRecord

_COLUMNS = (
    "member_id",
    "name",
    "kind",
    "agent",
    "pane_id",
    "screen",
    "owed",
    "unacked",
    "unsure",
    "last_sent",
    "last_recv",
    "last_ack",
    "idle",
)


def created(member: MemberRecord) -> str:
    agent, pane = agent_cell(member.placement), pane_cell(member.placement)
    return f"{member.member_id} {name_cell(member.name)} agent={agent} pane={pane}"


def restarted(member: MemberRecord, session: str, reason: str) -> str:
    return f"{created(member)} session={session} ({visible(reason)})"


def transcript(turns: Sequence[TurnWire]) -> str:
    """Each turn with a line for each call of a tool, and a blank line between turns."""
    return "\n\n".join(map(_turn, turns))


def _turn(turn: TurnWire) -> str:
    lines = [f"{visible(turn.role)} {visible(turn.at)}"]
    lines += [f"  {line}" for line in visible_body(turn.text).split("\n") if turn.text]
    lines += [f"  - {visible(tool)}" for tool in turn.tools]
    return "\n".join(lines)


def shown(member: MemberRecord, launch: Launch | None = None) -> str:
    """``4 bob active``, and the work tree of a member that was given one."""
    line = f"{member.member_id} {name_cell(member.name)} {member.status.value}"
    if launch is None or launch.worktree is None:
        return line
    return f"{line} worktree={visible(launch.worktree)} branch={cell(launch.branch)}"


def identified(who: WhoamiWire) -> str:
    """``member 4 (bob) of fleet 1, Director 1; by the variable``."""
    return (
        f"member {who.member_id} ({name_cell(who.name)}) of fleet {who.fleet_id}, Director "
        f"{cell(who.director_member_id)}; by the {who.evidence}"
    )


def listed(members: Sequence[MemberActivity], now: datetime) -> str:
    """A line for each member; what it last did, and the look at its pane, with the age at ``now``."""
    if not members:
        return "0 members."
    title = "1 member:" if len(members) == 1 else f"{len(members)} members:"
    return f"{title}\n{table(_COLUMNS, [_row(member, now) for member in members])}"


def deleted(
    outcome: DeletedMemberWire,
    handed: int = 0,
    successor_id: int | None = None,
    removed_worktree: str | None = None,
) -> str:
    """What became of the member; ``handed`` of its messages went to its successor."""
    lines = [
        "Member deleted.",
        f"member_id: {outcome.member_id}",
        f"pane_id: {visible(outcome.pane_status)}",
    ]
    if successor_id is not None:
        lines.append(f"handed to member {successor_id}: {handed}")
    if removed_worktree is not None:
        lines.append(f"work tree removed: {visible(removed_worktree)}")
    return "\n".join(lines)


def prompted(typed: TypedWire) -> str:
    place = f"pane {visible(typed.pane_id)} of member {typed.member_id}"
    return f"Typed into {place}: {visible(typed.text)}"


def pinged(ping: PingWire) -> str:
    if ping.skipped:
        return f"Skipped member {ping.member_id}: {cell(ping.reason)}."
    return f"Pinged member {ping.member_id} in pane {cell(ping.pane_id)}."


def captured(capture: CaptureWire, *, ansi: bool) -> str:
    """The content alone; with ``ansi`` its escape sequences are kept for the terminal."""
    return capture.content if ansi else visible_body(capture.content)


def _row(member: MemberActivity, now: datetime) -> list[str]:
    return [
        cell(member.member_id),
        name_cell(member.name),
        cell(member.kind.value),
        agent_cell(member.placement),
        pane_cell(member.placement),
        _screen_cell(member, now),
        cell(member.owed),
        cell(member.unacked),
        cell(member.unsure),
        age_cell(member.last_sent, now),
        age_cell(member.last_recv, now),
        age_cell(member.last_ack, now),
        idle_cell(member.idle),
    ]


def _screen_cell(member: MemberActivity, now: datetime) -> str:
    """What the last look has found, and how long ago that was: ``working 12s``."""
    if member.screen is None:
        return ABSENT
    return f"{member.screen.value} {age_cell(member.screen_at, now)}"
