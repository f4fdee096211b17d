"""What each path and method of the API does: one function each, from a call to what is encoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec
from starlette.exceptions import HTTPException

from cafleet import clock
from cafleet.broker import fleets, launches, members, messages, monitor
from cafleet.errors import IntegrityError, UnknownIdError
from cafleet.operations import monitoring, sending
from cafleet.present import web_wire as wire
from cafleet.present.wire import SummaryWhyWire, WhyWire, life, shaped_all
from cafleet.records import FleetSummary, MemberStatus, TrackedMessage
from cafleet.settings import LARGEST_INTEGER
from cafleet.store import Connection
from cafleet.texts import is_blank
from cafleet.web.requests import Call, read_page

Integer = Annotated[int, msgspec.Meta(ge=-LARGEST_INTEGER - 1, le=LARGEST_INTEGER)]


class IntervalBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    wake_interval_seconds: Annotated[int, msgspec.Meta(ge=0, le=LARGEST_INTEGER)]


class SendBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``to_member_id`` is ``"*"`` for everyone else in the fleet."""

    from_member_id: Integer
    to_member_id: Integer | str
    text: str

    def __post_init__(self) -> None:
        if isinstance(self.to_member_id, str) and self.to_member_id != "*":
            raise ValueError('`to_member_id` is neither an integer nor "*"')
        if is_blank(self.text):
            raise ValueError("`text` is blank")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """``answer`` runs in a thread, with a connection of its own, once the fleet is known to live.

    ``beside`` is what the answer to a GET depends on beside the call and the database.
    """

    answer: Callable[[Connection, Call], object]
    beside: Callable[[Call], tuple[int, ...]] = lambda _: ()
    body: type | None = None
    needs_fleet: bool = True


def list_fleets(conn: Connection, _: Call) -> Sequence[FleetSummary]:
    found, damage = fleets.list_fleets(conn)
    for fault in damage.values():
        raise IntegrityError(fault)
    return found


def list_members(conn: Connection, call: Call) -> wire.RosterWire:
    found = members.roster(conn, fleet_id=call.fleet_id)
    shown = shaped_all(found, wire.RosterMemberWire)
    trees = launches.worktrees(conn, fleet_id=call.fleet_id)
    return wire.RosterWire(members=[wire.in_tree(each, trees) for each in shown])


def show_monitor(conn: Connection, call: Call) -> wire.MonitorWire:
    seen = monitoring.view_courier(conn, fleet_id=call.fleet_id)
    return wire.monitor_card(seen.runtime, seen.targets, running=seen.running, now=seen.now)


def _loop_now(call: Call) -> tuple[int, ...]:
    """Ages are in whole seconds, and a courier that is killed writes nothing."""
    return int(clock.utc_now().timestamp()), monitoring.has_process(fleet_id=call.fleet_id)


def set_interval(conn: Connection, call: Call) -> wire.IntervalWire:
    seconds = call.body.wake_interval_seconds
    if not monitor.set_interval(conn, fleet_id=call.fleet_id, seconds=seconds):
        raise HTTPException(404, "The monitor of this fleet has never run")
    return wire.IntervalWire(wake_interval_seconds=seconds)


def wake_monitor(conn: Connection, call: Call) -> wire.WakeRequestWire:
    asked_at = monitoring.request_wake(conn, fleet_id=call.fleet_id)
    if asked_at is None:
        raise HTTPException(404, "The monitor of this fleet does not run")
    return wire.WakeRequestWire(wake_requested_at=asked_at)


def show_inbox(conn: Connection, call: Call) -> wire.MessagesWire:
    _require_member(conn, call)
    page = read_page(call.query)
    return _named(conn, messages.inbox(conn, member_id=call.subject, page=page))


def show_sent(conn: Connection, call: Call) -> wire.MessagesWire:
    _require_member(conn, call)
    page = read_page(call.query)
    return _named(conn, messages.sent(conn, member_id=call.subject, page=page))


def show_timeline(conn: Connection, call: Call) -> wire.MessagesWire:
    page = read_page(call.query)
    return _named(conn, messages.timeline(conn, fleet_id=call.fleet_id, page=page))


def tell_why(conn: Connection, call: Call) -> WhyWire | SummaryWhyWire:
    try:
        message = messages.get(conn, message_id=call.subject)
    except UnknownIdError:
        raise HTTPException(404, "Message not found") from None
    if not members.in_fleet(conn, member_id=message.owner_member_id, fleet_id=call.fleet_id):
        raise HTTPException(404, "Message not found")
    return life(message, messages.life_lines(conn, message=message))


def send(conn: Connection, call: Call) -> wire.StoredWire:
    body: SendBody = call.body
    if not _is_active(conn, body.from_member_id, call.fleet_id):
        raise HTTPException(400, "The sender is not an active member of this fleet")
    if isinstance(body.to_member_id, str):
        sent = sending.broadcast(
            conn, sender_id=body.from_member_id, text=body.text, urgent=False, wait=None
        )
    elif not _is_active(conn, body.to_member_id, call.fleet_id):
        raise HTTPException(404, "The recipient is not an active member of this fleet")
    else:
        sent = sending.send(
            conn,
            sender_id=body.from_member_id,
            recipient_id=body.to_member_id,
            text=body.text,
            urgent=False,
            wait=None,
        )
    return wire.StoredWire(message_id=sent.message.message_id, status=sent.message.status_state)


ENDPOINTS = {
    "/api/fleets": {"GET": Endpoint(answer=list_fleets, needs_fleet=False)},
    "/api/members": {"GET": Endpoint(answer=list_members)},
    "/api/members/{subject}/inbox": {"GET": Endpoint(answer=show_inbox)},
    "/api/members/{subject}/sent": {"GET": Endpoint(answer=show_sent)},
    "/api/monitor": {
        "GET": Endpoint(answer=show_monitor, beside=_loop_now),
        "PATCH": Endpoint(answer=set_interval, body=IntervalBody),
    },
    "/api/monitor/wake": {"POST": Endpoint(answer=wake_monitor)},
    "/api/timeline": {"GET": Endpoint(answer=show_timeline)},
    "/api/messages/send": {"POST": Endpoint(answer=send, body=SendBody)},
    "/api/messages/{subject}/why": {"GET": Endpoint(answer=tell_why)},
}
"""By path, then by method; every GET answers HEAD as well."""


def _require_member(conn: Connection, call: Call) -> None:
    if not members.in_fleet(conn, member_id=call.subject, fleet_id=call.fleet_id):
        raise HTTPException(404, "Member not found")


def _is_active(conn: Connection, member_id: int, fleet_id: int) -> bool:
    member = members.find(conn, member_id=member_id)
    return (
        member is not None and member.status is MemberStatus.ACTIVE and member.fleet_id == fleet_id
    )


def _named(conn: Connection, found: Sequence[TrackedMessage]) -> wire.MessagesWire:
    return wire.named(found, members.names(conn, member_ids=wire.ends(found)))
