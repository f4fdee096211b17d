"""Wait for the deliveries of messages, and for new messages."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta

from cafleet import clock
from cafleet.broker import deliveries, handover, members, messages, waits
from cafleet.courier.process_lock import ProcessLock, is_held
from cafleet.errors import CafleetError, DatabaseError
from cafleet.records import (
    DeliveryState,
    DeliveryStatus,
    MemberStatus,
    MessageRecord,
    MessageState,
    WaitState,
)
from cafleet.store import Connection
from cafleet.store.connection import data_version

# How often to check whether the database has changed. No lock is held meanwhile.
LOOK_SECONDS = 0.1
# The longest wait, since a caller may ask for more than a clock can count.
_LONGEST_SECONDS = 10 * 365 * 86_400
# Stands in the name of a wait's lock file between the database's name and a random part.
_LOCK_INFIX = ".wait-"


class WaitError(CafleetError):
    """The wait has failed: its time is over, or the awaited can no longer come."""


def wait_for_state(
    conn: Connection,
    *,
    database: str,
    waiter_id: int,
    message_ids: Sequence[int],
    wanted: WaitState,
    seconds: int,
) -> None:
    """Wait until all of some deliveries have reached a state.

    Raises:
        WaitError: the time is over, or a delivery can no longer reach the state. Says its present state.
        UnknownIdError: the waiting member leaves meanwhile.
        RefusedError: a recipient waits for the waiting member already.
    """
    awaited = []
    if wanted is not WaitState.SUBMITTED:
        awaited = deliveries.recipients(conn, message_ids=message_ids)

    def met() -> bool:
        done = _all_met(conn, deliveries.standing(conn, message_ids=message_ids), wanted)
        if not done:
            members.get(conn, member_id=waiter_id)
        return done

    with _waiting(
        conn, database, waiter_id, awaited, message_ids[0], seconds, register=bool(awaited)
    ):
        if _wait(conn, met, seconds):
            return
    late = next(
        row
        for row in deliveries.standing(conn, message_ids=message_ids)
        if not _is_met(row, wanted)
    )
    raise WaitError(
        f"message {late.message_id} is {_words(late)}, not {wanted}, after {seconds} s; it is stored, do not "
        f"send it again, see `cafleet message why {late.message_id}`"
    )


def wait_for_message(
    conn: Connection,
    *,
    database: str,
    member_id: int,
    from_member_id: int | None,
    seconds: int,
) -> Sequence[MessageRecord]:
    """Wait until a member has un-acknowledged deliveries, and return them. A sender may be given. Marks
    nothing.

    Raises:
        UnknownIdError: there is no such active member or sender, or one of them leaves meanwhile.
        WaitError: the time is over.
        RefusedError: the sender waits for the member already.
    """

    def check_sender() -> None:
        if from_member_id is not None:
            members.check_together(conn, member_id=member_id, other_id=from_member_id)

    check_sender()
    found: list[MessageRecord] = []

    def met() -> bool:
        found[:] = [
            message
            for message in messages.poll(conn, member_id=member_id)
            if from_member_id in {None, message.from_member_id}
        ]
        if not found:
            check_sender()
        return bool(found)

    if met():
        return found
    awaited = [] if from_member_id is None else [from_member_id]
    with _waiting(conn, database, member_id, awaited, None, seconds, register=True):
        if _wait(conn, met, seconds):
            return found
    again = "" if from_member_id is None else f" --from-member-id {from_member_id}"
    raise WaitError(
        f"no message for member {member_id} has come in {seconds} s; end your turn, a notice tells you when "
        f"one comes, or wait again with `cafleet message wait {member_id}{again}`"
    )


@contextmanager
def _waiting(
    conn: Connection,
    database: str,
    waiter_id: int,
    awaited_ids: Sequence[int],
    message_id: int | None,
    seconds: int,
    *,
    register: bool,
) -> Iterator[None]:
    """Keep the wait on record while it lasts, if it is a member's."""
    if not register:
        yield
        return
    lock = ProcessLock(f"{database}{_LOCK_INFIX}{os.getpid()}-{os.urandom(4).hex()}.lock")
    lock.acquire()
    try:
        now = clock.utc_now()
        wait_ids = waits.begin(
            conn,
            waiter_id=waiter_id,
            awaited_ids=awaited_ids,
            message_id=message_id,
            lock_file=lock.path,
            is_alive=lambda path: path == lock.path or _is_alive(database, path),
            now=now,
            until=now + timedelta(seconds=min(seconds, _LONGEST_SECONDS)),
        )
        try:
            yield
        finally:
            # A row that stays means nothing without its lock.
            with suppress(DatabaseError):
                waits.end(conn, wait_ids=wait_ids)
    finally:
        lock.release()
        _remove(lock.path)


def _is_alive(database: str, path: str) -> bool:
    """Whether the process of another wait lives. Removes the lock file of a dead one."""
    if is_held(path):
        return True
    if path.startswith(f"{database}{_LOCK_INFIX}"):
        _remove(path)
    return False


def _remove(path: str) -> None:
    # A file that cannot be removed is empty, and nobody reads it.
    with suppress(OSError):
        os.unlink(path)


def _wait(conn: Connection, met: Callable[[], bool], seconds: int) -> bool:
    """Ask at every change of the database until the time is over."""
    ends = time.monotonic() + min(seconds, _LONGEST_SECONDS)
    version = data_version(conn)
    if met():
        return True
    while (left := ends - time.monotonic()) > 0:
        time.sleep(min(LOOK_SECONDS, left))
        now = data_version(conn)
        if now != version:
            version = now
            if met():
                return True
    return met()


def _all_met(conn: Connection, rows: Sequence[DeliveryStatus], wanted: WaitState) -> bool:
    for row in rows:
        if not _is_met(row, wanted) and _is_hopeless(row, wanted):
            went = handover.find_forwarded(conn, message_id=row.message_id)
            if went is not None:
                raise WaitError(
                    f"message {row.message_id} went on to member {went.owner_member_id} as message "
                    f"{went.message_id}, since its recipient has left; do not send it again, see `cafleet "
                    f"message why {went.message_id}`"
                )
            raise WaitError(
                f"message {row.message_id} is {_words(row)} and will never be {wanted}; it is stored, do not "
                f"send it again, see `cafleet message why {row.message_id}`"
            )
    return all(_is_met(row, wanted) for row in rows)


def _is_met(row: DeliveryStatus, wanted: WaitState) -> bool:
    if row.status_state is MessageState.COMPLETED:
        return True
    if wanted is WaitState.ACKED:
        return False
    if row.delivery_state is DeliveryState.SEEN:
        return True
    return wanted is WaitState.SUBMITTED and row.delivery_state is DeliveryState.SUBMITTED


def _is_hopeless(row: DeliveryStatus, wanted: WaitState) -> bool:
    if wanted is WaitState.SUBMITTED:
        return row.delivery_state in {DeliveryState.NONE, DeliveryState.UNSURE}
    return row.owner_status is not MemberStatus.ACTIVE


def _words(row: DeliveryStatus) -> str:
    return row.delivery_state if row.reason is None else f"{row.delivery_state} ({row.reason})"
