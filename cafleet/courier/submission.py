"""Typing into panes at rest, and proving it: paste, look, Enter, look.

Enter is pressed only after a look that shows our text and nothing else in the composer, so it
never answers a question and never sends another's draft. What no look proves is *unsure*, and is
never typed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

import msgspec

from cafleet.agents.echo import begins_with_end, holds_cut, holds_end, holds_marker, holds_only
from cafleet.courier.looking import Sight, Target, look_at
from cafleet.errors import MultiplexerTimeoutError, PaneGoneError
from cafleet.panes import Multiplexer
from cafleet.records import ScreenState
from cafleet.screens import Look, Process

# With no gap an agent takes the Enter for a part of the paste (measured on the real ones).
PASTE_SECONDS = 1.0
LOOK_SECONDS = 0.25
# A text that stays in the composer for so long after an Enter needs another one.
RETRY_SECONDS = 1.5
# How long an agent may take to show what became of the text.
PROOF_SECONDS = 6.0
# And how long while it shows an empty composer: on a busy machine, opencode shows a paste seconds
# late, and a turn seconds after it has emptied its composer. To give up early leaves a draft behind.
SLOW_SECONDS = 20.0
ENTERS = 3


class Fate(StrEnum):
    """How the typing into one pane has ended."""

    SUBMITTED = "submitted"
    UNSURE = "unsure"
    REFUSED = "refused"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """``refused`` means that not a byte was typed; ``gone`` then, that the pane is not there.

    ``screen`` is what the look has shown that decided, if there was one.
    """

    fate: Fate
    evidence: str
    gone: bool = False
    screen: ScreenState | None = None


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A text for one pane.

    ``program`` and ``processes`` are those that were seen at rest in the pane, and ``marker`` what
    nothing else can have put into the transcript, if the text has such parts.
    ``parts`` are the heads and bodies of what it tells, before they were cut, and ``message_ids``
    the messages, if any.
    """

    target: Target
    text: str
    program: str = ""
    processes: tuple[Process, ...] = ()
    marker: tuple[str, ...] = ()
    parts: list[tuple[str, str]] = []
    message_ids: list[int] = []


class _Attempt:
    """A draft on its way. ``fresh`` says that it was pasted just now into an empty composer."""

    def __init__(self, draft: Draft, *, fresh: bool) -> None:
        self.draft = draft
        self.fresh = fresh
        self.enters = 0
        self.waited = 0.0
        self.shown = False
        self.drafted: Look | None = None
        self.outcome: Outcome | None = None

    def judge(self, sight: Sight) -> bool:
        """Take in what a look shows; whether Enter is to be pressed now."""
        look = sight.look
        if look.state in {ScreenState.GONE, ScreenState.SHELL}:
            self._end(look, Fate.UNSURE, f"{look.state}: {look.cue}")
        elif self._is_drafted(look):
            self.drafted = look
            return self._is_enter_due(look)
        elif proof := self._proof(look):
            self._end(look, Fate.SUBMITTED, proof)
        else:
            self._give_up_if_late(look)
        return False

    def _give_up_if_late(self, look: Look) -> None:
        if look.composer and not self.shown:
            # What has just begun to show gets its time, however late that is.
            self.shown, self.waited = True, 0.0
        empty = look.state in {ScreenState.REST, ScreenState.WORKING} and not look.composer
        if self.waited >= (SLOW_SECONDS if empty and self.fresh else PROOF_SECONDS):
            missing = "the composer is empty and the text is not on the screen"
            self._end(look, Fate.UNSURE, missing if empty else f"{look.state}: {look.cue}")

    def _is_drafted(self, look: Look) -> bool:
        draft = self.draft
        if holds_only(look, draft.text, draft.target.agent, folded=self.fresh):
            return True
        # Whoever pasted it may have cut the bodies elsewhere than our settings do.
        return not self.fresh and bool(draft.parts) and holds_cut(look, draft.parts)

    def _is_enter_due(self, look: Look) -> bool:
        if self.enters < ENTERS:
            return self.enters == 0 or self.waited >= RETRY_SECONDS
        if self.waited >= PROOF_SECONDS:
            self._end(look, Fate.UNSURE, f"the text is still there after {ENTERS} Enters")
        return False

    def _proof(self, look: Look) -> str | None:
        """What shows that the text was submitted, if anything does."""
        match look.state:
            case _ if look.composer:
                return None
            case ScreenState.REST | ScreenState.WORKING if self._is_in_transcript(look):
                return "the composer is empty, the text is in the transcript"
            case ScreenState.WORKING if self.enters:
                return "the composer is empty and the agent works"
            case ScreenState.AWAITING if self.enters and self._has_marker(look):
                # The agent has read it, and asks already.
                return "a question is open, the text is in the transcript"
        return None

    def _is_in_transcript(self, look: Look) -> bool:
        if self._has_marker(look):
            return True
        if not self.enters or self.drafted is None:
            return False
        # The composer has held the text before an Enter; long ones leave but their end in sight.
        text = self.draft.text
        return holds_end(look, text) or begins_with_end(look, text, self.drafted)

    def _has_marker(self, look: Look) -> bool:
        return bool(self.draft.marker) and holds_marker(look, self.draft.marker)

    def entered(self) -> None:
        self.enters += 1
        self.waited = 0.0

    def _end(self, look: Look, fate: Fate, evidence: str) -> None:
        self.outcome = Outcome(fate=fate, evidence=evidence, screen=look.state)


def type_and_submit(
    mux: Multiplexer,
    drafts: Mapping[str, Draft],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[dict[str, Outcome]]:
    """Type each draft into its pane, side by side; the outcomes by pane, those of one look
    together and as soon as they are known.

    The caller holds the panes' locks and has just found them at rest.
    """
    failed = mux.paste(
        {pane: draft.text for pane, draft in drafts.items()},
        {pane: draft.program for pane, draft in drafts.items()},
        {pane: draft.processes for pane, draft in drafts.items()},
    )
    refused = {
        pane: Outcome(fate=Fate.REFUSED, evidence=str(error), gone=isinstance(error, PaneGoneError))
        for pane, error in failed.items()
        if not isinstance(error, MultiplexerTimeoutError)
    }
    if refused:
        yield refused
    typed = [draft for pane, draft in drafts.items() if pane not in refused]
    if typed:
        sleep(PASTE_SECONDS)
    yield from submit(mux, typed, sleep=sleep)


def submit(
    mux: Multiplexer,
    drafts: list[Draft],
    *,
    fresh: bool = True,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[dict[str, Outcome]]:
    """Press Enter on drafts that were pasted, each as often as the looks call for it.

    ``fresh`` as opposed to those of another process, which may not even have come to the paste.
    """
    going = [_Attempt(draft, fresh=fresh) for draft in drafts]
    while going:
        began = time.monotonic()
        seen = look_at(mux, [each.draft.target for each in going])
        took = time.monotonic() - began
        ready = [each for each in going if each.judge(seen[each.draft.target.pane])]
        if ready:
            # A failure to press shows as text that stays; the next look decides.
            mux.enter([each.draft.target.pane for each in ready])
            for each in ready:
                each.entered()
        known = {each.draft.target.pane: each.outcome for each in going if each.outcome is not None}
        if known:
            yield known
        going = [each for each in going if each.outcome is None]
        if going:
            sleep(LOOK_SECONDS)
        for each in going:
            each.waited += LOOK_SECONDS
            # A server that hangs takes seconds to say so, and others wait for the panes.
            if seen[each.draft.target.pane].unreachable:
                each.waited += took
