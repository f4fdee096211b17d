"""One pass: whatever is owed to some members is typed where they rest, and kept where they do not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime

from cafleet import clock, settings
from cafleet.broker import deliveries, fleets, members, placements
from cafleet.courier.looking import (
    Sight,
    Target,
    by_server,
    is_at_rest,
    look_for_rest,
    moved,
    target_of,
)
from cafleet.courier.payloads import marker, notices, uncut
from cafleet.courier.submission import Draft, Fate, Outcome, submit, type_and_submit
from cafleet.errors import IntegrityError, MultiplexerError, PaneLockedError
from cafleet.panes import Multiplexer, multiplexer, pane_lock
from cafleet.records import DeliveryState, ScreenState
from cafleet.store import Connection
from cafleet.store.rows import OwedRow

# A pane that is locked for longer is looked at again by a later pass.
LOCK_SECONDS = 2.0

_SETTLED_AS = {Fate.SUBMITTED: DeliveryState.SUBMITTED, Fate.UNSURE: DeliveryState.UNSURE}


class Pass:
    """A pass over the panes of some members, one server at a time, all its panes side by side."""

    def __init__(
        self,
        conn: Connection,
        *,
        now: Callable[[], datetime] = clock.utc_now,
        sleep: Callable[[float], None] = time.sleep,
        report: Callable[[str, str], None] | None = None,
    ) -> None:
        self._conn = conn
        self._report = report
        self._now = now
        self._sleep = sleep
        self._max_text_len = settings.max_text_len()
        self._hold_timeout = settings.delivery_hold_timeout()

    def run(self, member_ids: Sequence[int]) -> list[int]:
        """Deliver what is owed to these members; those whose rows cannot be read.

        A pane that fails is noted, and fails alone. Members whose pane is still pending keep what
        they are owed.
        """
        targets, unreadable = self._targets(member_ids)
        for here in by_server(targets):
            try:
                mux = multiplexer(here[0].backend, here[0].socket)
            except MultiplexerError as error:
                self._postpone(here, DeliveryState.UNREACHABLE, str(error))
                continue
            # Whoever can be served at once does not wait for a pane that another is typing into.
            busy = self._serve(mux, here, lock_seconds=0)
            for target in busy:
                if self._serve(mux, [target], lock_seconds=LOCK_SECONDS):
                    self._postpone(
                        [target], DeliveryState.HELD, "another process is typing into the pane"
                    )
        return unreadable

    def _targets(self, member_ids: Sequence[int]) -> tuple[list[Target], list[int]]:
        """The panes of the members that can be read, with what they are owed, and the others, which
        are reported."""
        database_id = fleets.database_id(self._conn)
        found, unreadable = [], []
        for member_id in member_ids:
            try:
                member = members.find(self._conn, member_id=member_id)
                target = None if member is None else target_of(member, database_id)
                if target is not None:
                    self._owed(target)
                    found.append(target)
            except IntegrityError as error:
                if self._report is None:
                    raise
                self._report(error.message, error.message)
                unreadable.append(member_id)
        return found, unreadable

    def _serve(
        self, mux: Multiplexer, targets: Sequence[Target], *, lock_seconds: float
    ) -> list[Target]:
        """Serve the panes whose lock is to be had; the others are returned."""
        held, busy = [], []
        with ExitStack() as locks:
            for target in targets:
                try:
                    locks.enter_context(pane_lock(target.socket, target.pane, limit=lock_seconds))
                except PaneLockedError:
                    busy.append(target)
                except MultiplexerError as error:
                    self._postpone([target], DeliveryState.HELD, str(error))
                else:
                    held.append(target)
            self._settle_unfinished(mux, held)
            self._deliver(mux, held)
        return busy

    def _settle_unfinished(self, mux: Multiplexer, targets: Sequence[Target]) -> None:
        """Settle what a pass that ended too early has left as typed: we hold its lock now."""
        drafts = []
        for target in targets:
            typed = [row for row in self._owed(target) if row.delivery_state is DeliveryState.TYPED]
            if typed:
                drafts.append(self._draft(target, typed))
        outcomes = submit(mux, drafts, fresh=False, sleep=self._sleep)
        for target_pane, outcome in outcomes:
            draft = next(each for each in drafts if each.target.pane == target_pane)
            self._settle(draft, outcome)

    def _deliver(self, mux: Multiplexer, targets: Sequence[Target]) -> None:
        owing = [target for target in targets if self._owed(target)]
        seen = look_for_rest(mux, owing, sleep=self._sleep)
        self._remember(owing, seen)
        drafts = {}
        for target in owing:
            sight = seen[target.pane]
            marked = self._mark_typed(target, sight)
            if marked:
                drafts[target.pane] = self._draft(target, marked)
            if not is_at_rest(sight):
                self._postpone([target], sight.owed_state, sight.reason)
        for pane, outcome in type_and_submit(mux, drafts, sleep=self._sleep):
            self._settle(drafts[pane], outcome)

    def _mark_typed(self, target: Target, sight: Sight) -> list[OwedRow]:
        """Commit, before the first byte, what is now being typed of that which is owed to a member.

        At rest that is everything; into the queue of a working agent with an empty composer goes
        only what is urgent or has been held for too long; in no other state anything.
        """
        owed = self._owed(target)
        if not is_at_rest(sight):
            queueing = sight.look.state is ScreenState.WORKING and not sight.look.composer
            owed = [row for row in owed if queueing and self._may_queue(row)]
        if not owed:
            return []
        marked = deliveries.mark_typed(
            self._conn, message_ids=[row.message_id for row in owed], now=self._now()
        )
        return [row for row in owed if row.message_id in marked]

    def _may_queue(self, row: OwedRow) -> bool:
        if row.urgent:
            return True
        held = None if row.held_since is None else clock.seconds_since(row.held_since, self._now())
        return 0 < self._hold_timeout <= (held or 0)

    def _draft(self, target: Target, rows: Sequence[OwedRow]) -> Draft:
        return Draft(
            target=target,
            text=notices(rows, self._max_text_len),
            marker=marker(rows[-1]),
            parts=uncut(rows),
            message_ids=[row.message_id for row in rows],
        )

    def _settle(self, draft: Draft, outcome: Outcome) -> None:
        state = _SETTLED_AS.get(outcome.fate)
        if state is None:
            state = DeliveryState.UNREACHABLE if outcome.gone else DeliveryState.HELD
        deliveries.settle(
            self._conn,
            message_ids=draft.message_ids,
            state=state,
            reason=None if outcome.fate is Fate.SUBMITTED else outcome.evidence,
            evidence=outcome.evidence,
            now=self._now(),
        )

    def _postpone(self, targets: Sequence[Target], state: DeliveryState, reason: str) -> None:
        for target in targets:
            deliveries.postpone(
                self._conn,
                message_ids=[row.message_id for row in self._owed(target)],
                state=state,
                reason=reason,
                now=self._now(),
            )

    def _owed(self, target: Target) -> list[OwedRow]:
        return deliveries.owed(self._conn, member_ids=[target.member_id])

    def _remember(self, targets: Sequence[Target], seen: Mapping[str, Sight]) -> None:
        """Keep the looks for the roster, and follow panes that were moved."""
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
