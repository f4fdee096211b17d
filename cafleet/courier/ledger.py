"""The one place that types. Each text is noted before its first byte, and whoever comes next settles
it.

The caller holds the locks of the panes. A text that a killed process has left, or that nothing could
prove, is settled before another is typed into the same pane. If it stands in the composer alone and
whole, it gets its Enter. It is never typed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec

from cafleet import clock
from cafleet.broker import placements, typings
from cafleet.courier.observing import Observation, Target, look_at
from cafleet.courier.submission import (
    ENTERS,
    Draft,
    Fate,
    Outcome,
    Outlook,
    is_unchanged,
    outlook,
    submit,
    type_and_submit,
)
from cafleet.errors import DatabaseError
from cafleet.panes import Multiplexer
from cafleet.records import DeliveryState, Typing
from cafleet.screens import digest
from cafleet.store import Connection

# A text that three Enters have not moved gets another Enter after so many seconds, then after twice as
# long each time. So an agent that hangs gets few Enters.
_RETRY_SECONDS = 30
_LONGEST_RETRY_SECONDS = 3600
_STATES = {Fate.SUBMITTED: DeliveryState.SUBMITTED, Fate.UNSURE: DeliveryState.UNSURE}


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The panes, by id, in which an earlier text was pursued, and those in which it keeps every other text
    out."""

    pursued: frozenset[str]
    held_back: frozenset[str]


class Ledger:
    """The texts in the panes of one multiplexer server."""

    def __init__(
        self,
        conn: Connection,
        mux: Multiplexer,
        *,
        now: Callable[[], datetime] = clock.utc_now,
    ) -> None:
        self._conn = conn
        self._mux = mux
        self._now = now

    def settle(
        self,
        targets: Sequence[Target],
        *,
        settled: Callable[[Target], None] = lambda _: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Standing:
        """Settle what earlier typing has left in these panes, as far as a look allows.

        ``settled`` is called with each target whose text was pursued, once its outcome is on record.
        """
        rows = {
            row.member_id: row
            for row in typings.unsettled(
                self._conn, member_ids=[target.member_id for target in targets]
            )
        }
        drafts = [
            Draft(target=target, typing=rows[target.member_id], fresh=False)
            for target in targets
            if target.member_id in rows
        ]
        self._leave_behind([d for d in drafts if d.typing.mux_pane_id != d.target.pane])
        drafts = [draft for draft in drafts if draft.typing.mux_pane_id == draft.target.pane]
        if not drafts:
            return Standing(pursued=frozenset(), held_back=frozenset())
        seen = look_at(self._mux, [draft.target for draft in drafts])
        views = {draft.target.pane: self._view(draft, seen[draft.target.pane]) for draft in drafts}
        going = [draft for draft in drafts if views[draft.target.pane] is Outlook.PURSUE]
        by_pane = {draft.target.pane: draft for draft in going}
        held_back = {pane for pane, view in views.items() if view is Outlook.HOLD}
        outcomes = submit(self._mux, going, entering=self._note_enters, sleep=sleep)
        for known in self._recorded(by_pane, outcomes):
            for pane, outcome in known.items():
                if outcome.picture is not None:
                    held_back.add(pane)
                settled(by_pane[pane].target)
        return Standing(pursued=frozenset(by_pane), held_back=frozenset(held_back))

    def type(self, drafts: Sequence[Draft]) -> Iterator[dict[str, Outcome]]:
        """Type texts that were noted. Yields the outcomes by pane, each once it is on record."""
        by_pane = {draft.target.pane: draft for draft in drafts}
        outcomes = type_and_submit(self._mux, drafts, entering=self._note_enters)
        return self._recorded(by_pane, outcomes)

    def _recorded(
        self, drafts: Mapping[str, Draft], outcomes: Iterator[dict[str, Outcome]]
    ) -> Iterator[dict[str, Outcome]]:
        for known in outcomes:
            now = self._now()
            typings.settle(
                self._conn,
                [_settlement(drafts[pane].typing, outcome) for pane, outcome in known.items()],
                now=now,
            )
            looks = {
                drafts[pane].target.member_id: outcome.screen
                for pane, outcome in known.items()
                if outcome.screen is not None
            }
            placements.record_looks(self._conn, looks=looks, moves={}, now=now)
            yield known

    def _note_enters(self, drafts: list[Draft]) -> None:
        # The text itself is on record. A full disk must not leave it in the composer.
        with suppress(DatabaseError):
            typings.note_enters(self._conn, member_ids=[draft.typing.member_id for draft in drafts])

    def _view(self, draft: Draft, observation: Observation) -> Outlook:
        view = outlook(draft, observation, retry=self._is_retry_due(draft.typing))
        if view is not Outlook.PURSUE and observation.picture is not None:
            now = digest(observation.picture)
            if now != draft.typing.picture and is_unchanged(draft.typing, observation.picture):
                # The pane has another size, so from now on we compare with this picture.
                typings.compare_with(self._conn, member_id=draft.typing.member_id, picture=now)
        return view

    def _is_retry_due(self, typing: Typing) -> bool:
        seconds = None
        if typing.settled_at is not None:
            seconds = clock.seconds_since(typing.settled_at, self._now())
        doublings = min(max(0, typing.enters - ENTERS), 10)
        pause = min(_RETRY_SECONDS << doublings, _LONGEST_RETRY_SECONDS)
        return seconds is None or not 0 <= seconds < pause

    def _leave_behind(self, drafts: Sequence[Draft]) -> None:
        """Give up texts that were typed into another pane than the member's present one."""
        if drafts:
            evidence = "it was typed into a pane that is not the member's any more"
            typings.settle(
                self._conn,
                [
                    typings.Settlement(
                        typing=draft.typing, state=DeliveryState.UNSURE, evidence=evidence
                    )
                    for draft in drafts
                ],
                now=self._now(),
            )


def _settlement(typing: Typing, outcome: Outcome) -> typings.Settlement:
    state = _STATES.get(outcome.fate)
    if state is None:
        state = DeliveryState.UNREACHABLE if outcome.gone else DeliveryState.HELD
    return typings.Settlement(
        typing=typing, state=state, evidence=outcome.evidence, picture=outcome.picture
    )
