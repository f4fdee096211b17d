"""Texts that are typed into panes: recorded before the first byte, until they are settled.

A member has at most one row: its pane gets no second text while the first may still stand there. A
settled text is deleted. A prompt is a person's text, and nothing needs it any longer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import msgspec

from cafleet import clock
from cafleet.broker import deliveries, monitor
from cafleet.broker.composing import record, records
from cafleet.records import DeliveryState, OwedNotice, Typing, TypingKind, TypingState
from cafleet.store import Connection, queries
from cafleet.store.connection import transaction


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """A text that is to be pasted into a member's pane.

    ``program`` was seen at rest in the pane, and ``picture`` is the digest of what was seen. ``marker`` holds
    the parts that only this text can have put into the transcript, in their order; it may be empty.
    """

    member_id: int
    kind: TypingKind
    pane: str
    program: str
    picture: str | None
    text: str
    marker: tuple[str, ...] = ()


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one text.

    ``state`` is the new state of the deliveries in the text: *submitted* or *unsure*, or *held* or
    *unreachable* if not a byte was typed. ``picture`` is the digest of the last picture if an unsure text
    may still stand in the pane. Without it the row is deleted.
    """

    typing: Typing
    state: DeliveryState
    evidence: str
    picture: str | None = None


def unsettled(conn: Connection, *, member_ids: Sequence[int]) -> list[Typing]:
    """The texts that may stand in the panes of some members, ids ascending."""
    return records(queries.list_typings(conn, member_ids=member_ids), Typing)


def begin(conn: Connection, intent: Intent, *, now: datetime) -> Typing | None:
    """Note a text before its first byte; ``None`` while another process is typing into the pane."""
    with transaction(conn):
        return _insert(conn, intent, [], now)


def begin_notices(
    conn: Connection,
    *,
    chosen: Mapping[int, Sequence[OwedNotice]],
    compose: Callable[[Sequence[OwedNotice]], Intent],
    now: datetime,
) -> list[Typing]:
    """Note the notices of some messages before their first byte, in one commit for all members.

    ``chosen`` holds the notices by member. Those that are no longer owed are left out, and ``compose`` makes
    the text of the rest. Members whose pane another process is typing into are left out, too.
    """
    begun = []
    with transaction(conn):
        for member_id, rows in chosen.items():
            if _is_being_typed(conn, member_id):
                continue
            ids = deliveries.mark_typed(conn, message_ids=[row.message_id for row in rows], now=now)
            typable = [row for row in rows if row.message_id in ids]
            row = _insert(conn, compose(typable), ids, now) if typable else None
            if row is not None:
                begun.append(row)
    return begun


def adopt(
    conn: Connection, intent: Intent, *, message_ids: Sequence[int], now: datetime
) -> Typing | None:
    """Record a text that an older program has left half typed."""
    with transaction(conn):
        return _insert(conn, intent, message_ids, now, token="")


def _is_being_typed(conn: Connection, member_id: int) -> bool:
    found = queries.list_typings(conn, member_ids=[member_id])
    return any(row.state is TypingState.TYPED for row in found)


def _insert(
    conn: Connection,
    intent: Intent,
    message_ids: Sequence[int],
    now: datetime,
    *,
    token: str | None = None,
) -> Typing | None:
    if _is_being_typed(conn, intent.member_id):
        return None
    queries.delete_typings(conn, member_ids=[intent.member_id])
    row = queries.insert_typing(
        conn,
        member_id=intent.member_id,
        kind=intent.kind,
        text=intent.text,
        marker="\n".join(intent.marker) or None,
        mux_pane_id=intent.pane,
        program=intent.program,
        token=os.urandom(8).hex() if token is None else token,
        picture=intent.picture,
        now=clock.stamp(now),
    )
    if message_ids:
        queries.insert_typing_messages(conn, member_id=intent.member_id, message_ids=message_ids)
    return None if row is None else record(row, Typing)


def note_enters(conn: Connection, *, member_ids: Sequence[int]) -> None:
    """Note that Enter is about to be pressed on the texts of some members."""
    with transaction(conn):
        queries.mark_typings_entered(conn, member_ids=member_ids)


def compare_with(conn: Connection, *, member_id: int, picture: str) -> None:
    """Replace the picture of an unsure text after the pane has changed its size."""
    with transaction(conn):
        queries.set_typing_picture(conn, member_id=member_id, picture=picture)


def settle(conn: Connection, settlements: Sequence[Settlement], *, now: datetime) -> None:
    """Note what became of some texts and of the deliveries in them, in one commit.

    A text that was settled or replaced meanwhile is left alone.
    """
    with transaction(conn):
        for each in settlements:
            _settle(conn, each, now)


def _settle(conn: Connection, settled: Settlement, now: datetime) -> None:
    member_id = settled.typing.member_id
    found = unsettled(conn, member_ids=[member_id])
    if not found or found[0].token != settled.typing.token:
        return
    messages = queries.list_typing_messages(conn, member_ids=[member_id])
    deliveries.settle(
        conn,
        message_ids=[row.message_id for row in messages],
        state=settled.state,
        reason=None if settled.state is DeliveryState.SUBMITTED else settled.evidence,
        evidence=settled.evidence,
        now=now,
        late=True,
    )
    if found[0].kind is TypingKind.WAKE:
        monitor.settle_wake(
            conn,
            typing=found[0],
            state=settled.state,
            evidence=settled.evidence,
            now=now,
        )
    if settled.state is DeliveryState.UNSURE and settled.picture is not None:
        queries.mark_typing_unsure(
            conn,
            member_id=member_id,
            evidence=settled.evidence,
            picture=settled.picture,
            now=clock.stamp(now),
        )
    else:
        queries.delete_typings(conn, member_ids=[member_id])
