"""One pass: type what is owed to some members where they rest, and note why where they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from enum import StrEnum

from cafleet import clock, settings
from cafleet.broker import deliveries, fleets, members, placements, typings
from cafleet.courier.ledger import Ledger
from cafleet.courier.observing import (
    Observation,
    Target,
    Witness,
    by_server,
    is_at_rest,
    look_for_rest,
    moved,
    target_of,
)
from cafleet.courier.payloads import marker, notices
from cafleet.courier.session_witness import SessionWitness
from cafleet.courier.shutdown import Shutdown
from cafleet.courier.submission import Draft
from cafleet.errors import IntegrityError, MultiplexerError, PaneLockedError
from cafleet.panes import Multiplexer, multiplexer, pane_lock
from cafleet.records import (
    PANE_LOCKED,
    TEXT_UNSHOWN,
    DeliveryState,
    OwedNotice,
    OwingPane,
    ScreenState,
    Typing,
    TypingKind,
)
from cafleet.store import Connection


class Ending(StrEnum):
    """How a pass leaves a member: its state is on record, its server did not answer, or its rows cannot be
    read or written."""

    SERVED = "served"
    UNANSWERED = "unanswered"
    FAILED = "failed"


class Pass:
    """A pass over the panes of some members. All panes of one server are served side by side.

    A member whose pane is done gets its lock released and ``ended`` called at once, so a slow pane delays
    no other.
    """

    def __init__(
        self,
        conn: Connection,
        *,
        now: Callable[[], datetime] = clock.utc_now,
        halt: Shutdown | None = None,
        report: Callable[[str, str], None] | None = None,
        ended: Callable[[int, Ending], None] = lambda *_: None,
        witness: Witness | None = None,
    ) -> None:
        self._conn = conn
        self._report = report
        self._ended = ended
        self._witness = witness or SessionWitness()
        self._now = now
        self._halt = halt or Shutdown()
        self._locks: dict[int, ExitStack] = {}
        self._owing: dict[int, OwingPane] = {}
        self._max_text_len = settings.max_text_len()
        self._hold_timeout = settings.delivery_hold_timeout()

    def run(self, owing: Sequence[OwingPane]) -> None:
        """Deliver what is owed to these members. The next pass takes what has become urgent, or was left
        typed, since ``owing`` was read.

        A pane that fails is noted and does not stop the others. A member with a pending pane keeps what it
        is owed. An earlier text in a pane is settled before anything is typed there.

        Raises:
            ShutdownError: the courier ends. What was marked as typed is settled by the next courier.
        """
        self._owing = {row.member_id: row for row in owing}
        for here in by_server(self._targets()):
            try:
                mux = multiplexer(here[0].backend, here[0].socket)
            except MultiplexerError as error:
                self._postpone(here, DeliveryState.UNREACHABLE, str(error))
                for target in here:
                    self._let_go(target)
                continue
            with ExitStack() as locks:
                held = [target for target in here if self._lock(locks, target)]
                ledger = Ledger(self._conn, mux, now=self._now)
                self._deliver(ledger, mux, self._settle_earlier(ledger, held))

    def _targets(self) -> list[Target]:
        """The panes of the members whose rows can be read. The others are reported."""
        database_id = fleets.database_id(self._conn)
        found = []
        for member_id in self._owing:
            try:
                member = members.find(self._conn, member_id=member_id)
                target = None if member is None else target_of(member, database_id)
                if target is None:
                    self._ended(member_id, Ending.SERVED)
                else:
                    found.append(target)
            except IntegrityError as error:
                self._tell(error)
                self._ended(member_id, Ending.FAILED)
        return found

    def _tell(self, error: IntegrityError) -> None:
        if self._report is None:
            raise error
        self._report(error.message, error.message)

    def _lock(self, locks: ExitStack, target: Target) -> bool:
        """Take the pane's lock until ``locks`` is closed, or the member is done.

        If another process is typing into the pane, the notice is held and tried again soon. To wait here
        would delay the others.
        """
        own = locks.enter_context(ExitStack())
        try:
            own.enter_context(pane_lock(target.socket, target.pane, limit=0))
        except MultiplexerError as error:
            locked = isinstance(error, PaneLockedError)
            reason = PANE_LOCKED if locked else str(error)
            self._postpone([target], DeliveryState.HELD, reason)
            self._ended(target.member_id, Ending.SERVED)
            return False
        self._locks[target.member_id] = own
        return True

    def _read(self, target: Target) -> list[OwedNotice] | None:
        """Read what a member is owed. It may be much, so it is read only when needed. If that fails, it is
        reported and the member is done."""
        try:
            return deliveries.owed(self._conn, member_ids=[target.member_id])
        except IntegrityError as error:
            self._tell(error)
            self._let_go(target, Ending.FAILED)
            return None

    def _let_go(self, target: Target, ending: Ending = Ending.SERVED) -> None:
        if target.member_id in self._locks:
            self._locks.pop(target.member_id).close()
        self._ended(target.member_id, ending)

    def _settle_earlier(self, ledger: Ledger, targets: Sequence[Target]) -> list[Target]:
        """Settle what earlier typing has left in the panes, whose locks we hold. Returns the members to go on
        with. Those whose earlier text was pursued are left to the next pass."""
        left = [target for target in targets if self._has_text(target) and self._adopt(target)]
        standing = ledger.settle(left, settled=self._let_go, sleep=self._halt.rest)
        held_back = [each for each in left if each.pane in standing.held_back - standing.pursued]
        if held_back:
            self._postpone(held_back, DeliveryState.HELD, TEXT_UNSHOWN)
        for target in held_back:
            self._let_go(target)
        return [
            target
            for target in targets
            if target.member_id in self._locks and target.pane not in standing.pursued
        ]

    def _has_text(self, target: Target) -> bool:
        owing = self._owing[target.member_id]
        return bool(owing.typed or owing.unsure)

    def _adopt(self, target: Target) -> bool:
        """Note what an older program has left half typed. Returns whether the member's rows can be read."""
        try:
            if typings.unsettled(self._conn, member_ids=[target.member_id]):
                return True
        except IntegrityError as error:
            self._tell(error)
            self._let_go(target, Ending.FAILED)
            return False
        rows = self._read(target)
        typed = [row for row in rows or [] if row.delivery_state is DeliveryState.TYPED]
        if typed:
            typings.adopt(
                self._conn,
                self._intent(target, typed),
                message_ids=[row.message_id for row in typed],
                now=self._now(),
            )
        return rows is not None

    def _deliver(self, ledger: Ledger, mux: Multiplexer, targets: Sequence[Target]) -> None:
        seen = look_for_rest(mux, targets, sleep=self._halt.rest, witness=self._witness)
        self._remember(targets, seen)
        with self._halt.typing():
            chosen = {
                target.member_id: self._typable(target, seen[target.pane]) for target in targets
            }
            readable = [target for target in targets if chosen[target.member_id] is not None]
            drafts = self._begin(readable, chosen, seen)
            self._keep(readable, seen)
            typed = {draft.target.pane: draft.target for draft in drafts}
            for target in readable:
                if target.pane not in typed:
                    observation = seen[target.pane]
                    self._let_go(
                        target, Ending.UNANSWERED if observation.unanswered else Ending.SERVED
                    )
            for outcomes in ledger.type(drafts):
                for pane in outcomes:
                    self._let_go(typed[pane])

    def _begin(
        self,
        targets: Sequence[Target],
        chosen: Mapping[int, list[OwedNotice] | None],
        seen: Mapping[str, Observation],
    ) -> list[Draft]:
        """Commit what is about to be typed, before its first byte.

        All share one commit, since each commit waits for the disk.
        """
        panes = {target.member_id: target for target in targets}
        owed = {member_id: rows for member_id, rows in chosen.items() if rows}
        if not owed:
            return []

        def compose(rows: Sequence[OwedNotice]) -> typings.Intent:
            target = panes[rows[0].owner_member_id]
            return self._intent(target, rows, seen[target.pane])

        begun = typings.begin_notices(self._conn, chosen=owed, compose=compose, now=self._now())
        return [self._draft(panes[typing.member_id], typing, seen) for typing in begun]

    def _draft(self, target: Target, typing: Typing, seen: Mapping[str, Observation]) -> Draft:
        return Draft(target=target, typing=typing, processes=seen[target.pane].processes)

    def _typable(self, target: Target, observation: Observation) -> list[OwedNotice] | None:
        """What may be typed of what a member is owed; ``None`` as in :meth:`_read`.

        At rest that is everything. If the agent works and its composer is empty, it is what is urgent or was
        held for too long. In any other state it is nothing.
        """
        if is_at_rest(observation):
            return self._read(target)
        if observation.look.state is not ScreenState.WORKING or observation.look.composer:
            return []
        if not (self._owing[target.member_id].pressing or self._hold_timeout):
            return []
        rows = self._read(target)
        return None if rows is None else [row for row in rows if self._may_queue(row)]

    def _may_queue(self, row: OwedNotice) -> bool:
        if row.urgent:
            return True
        held = None if row.held_since is None else clock.seconds_since(row.held_since, self._now())
        return 0 < self._hold_timeout <= (held or 0)

    def _keep(self, targets: Sequence[Target], seen: Mapping[str, Observation]) -> None:
        """Note why nothing was typed for members that do not rest. Members with the same reason share one
        commit."""
        alike: dict[tuple[DeliveryState, str], list[Target]] = {}
        for target in targets:
            observation = seen[target.pane]
            if not is_at_rest(observation):
                alike.setdefault((observation.owed_state, observation.reason), []).append(target)
        for (state, reason), restless in alike.items():
            self._postpone(restless, state, reason)

    def _intent(
        self, target: Target, rows: Sequence[OwedNotice], observation: Observation | None = None
    ) -> typings.Intent:
        return typings.Intent(
            member_id=target.member_id,
            kind=TypingKind.NOTICE,
            pane=target.pane,
            program="" if observation is None else observation.program,
            picture=None if observation is None else observation.digest,
            text=notices(rows, self._max_text_len),
            marker=marker(rows[-1]),
        )

    def _postpone(self, targets: Sequence[Target], state: DeliveryState, reason: str) -> None:
        deliveries.postpone(
            self._conn,
            member_ids=[target.member_id for target in targets],
            state=state,
            reason=reason,
            now=self._now(),
        )

    def _remember(self, targets: Sequence[Target], seen: Mapping[str, Observation]) -> None:
        """Record the looks for the roster, and the new places of panes that were moved."""
        placements.record_looks(
            self._conn,
            looks={target.member_id: seen[target.pane].look.state for target in targets},
            moves={
                target.member_id: (target.pane, *place)
                for target in targets
                if (place := moved(target, seen[target.pane])) is not None
            },
            now=self._now(),
        )
