"""Type into panes at rest and prove it: paste, look, Enter, look.

Enter is pressed only after a look that shows our text and nothing else in the composer. So it never
answers a question and never sends another's draft. A text that no look proves is *unsure*. It is never
typed again, and gets its Enter if a later look shows it alone in the composer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

import msgspec

from cafleet.agents.own_text import begins_with_end, holds_end, holds_marker, holds_only
from cafleet.courier.observing import Observation, Target, look_at
from cafleet.courier.session_witness import has_submitted
from cafleet.errors import MultiplexerTimeoutError, PaneGoneError
from cafleet.panes import Multiplexer
from cafleet.records import ScreenState, Typing, TypingKind, TypingState
from cafleet.screens import Look, Picture, Process, digest, is_same_size

# Without this gap agents take the Enter for a part of the paste (measured).
PASTE_SECONDS = 1.0
LOOK_SECONDS = 0.25
# A text that stays in the composer this long after an Enter gets another one.
RETRY_SECONDS = 1.5
# How long an agent may take to show what became of the text.
PROOF_SECONDS = 6.0
# The same while the composer is empty. On a busy machine opencode shows a paste seconds late, and a turn
# seconds after it has emptied its composer. To give up early would leave a draft behind.
SLOW_SECONDS = 20.0
ENTERS = 3
ON_RECORD = "session record"
"""The evidence where the screen has proved nothing and the agent's session record does."""


class Fate(StrEnum):
    """How the typing into a pane has ended."""

    SUBMITTED = "submitted"
    UNSURE = "unsure"
    REFUSED = "refused"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one pane. With ``refused`` not a byte was typed; ``gone`` says that there is no pane.

    ``screen`` is the state that the deciding look has shown, if there was a look. ``picture`` is the digest
    of the last picture if an unsure text may still stand in the pane.
    """

    fate: Fate
    evidence: str
    gone: bool = False
    screen: ScreenState | None = None
    picture: str | None = None


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A text for one pane that is on record.

    ``fresh`` says that this process has just pasted it into an empty composer. Otherwise an earlier process
    has left it, perhaps before the paste, or it was given up as unsure. ``processes`` are those that were
    seen at rest in the pane.
    """

    target: Target
    typing: Typing
    fresh: bool = True
    processes: tuple[Process, ...] = ()

    @property
    def marker(self) -> list[str]:
        return (self.typing.marker or "").splitlines()


class Outlook(StrEnum):
    """What to do with a text that may stand in a pane: settle it now, type nothing else until it is settled,
    or ignore it."""

    PURSUE = "pursue"
    HOLD = "hold"
    IGNORE = "ignore"


def outlook(draft: Draft, observation: Observation, *, retry: bool) -> Outlook:
    """Decide by one look what to do with a text that was left in a pane.

    An unsure text is taken up again when the picture has changed, apart from the cursor. A change of the
    pane's size does not count. ``retry`` allows an Enter without a change.
    """
    attempt = _Attempt(draft)
    look, typing = observation.look, draft.typing
    if typing.state is TypingState.TYPED or look.state is ScreenState.GONE:
        return Outlook.PURSUE
    if observation.picture is None:
        return Outlook.IGNORE
    if (
        attempt.was_never_pasted(observation)
        or attempt.proof(look)
        or attempt.is_on_record(observation)
    ):
        return Outlook.PURSUE
    same = is_unchanged(typing, observation.picture)
    if attempt.is_drafted(observation):
        may_enter = typing.enters == 0 or look.state is ScreenState.DRAFT
        return Outlook.PURSUE if may_enter and (retry or not same) else Outlook.IGNORE
    if not _is_empty(look):
        return Outlook.IGNORE
    return Outlook.HOLD if same else Outlook.PURSUE


def is_unchanged(typing: Typing, picture: Picture) -> bool:
    """Whether the agent has drawn nothing since the text became unsure, as far as can be seen."""
    before, now = typing.picture or "", digest(picture)
    return before == now or not is_same_size(before, now)


def _is_empty(look: Look) -> bool:
    return look.state in {ScreenState.REST, ScreenState.WORKING} and not look.composer


class _Attempt:
    """A draft that is being submitted."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.typing = draft.typing
        # The Enters of this attempt. The row counts the earlier ones.
        self.pressed = 0
        self.limit = 1 if self.typing.state is TypingState.UNSURE else ENTERS
        self.waited = 0.0
        # Seconds since the picture was first seen to change.
        self.moved: float | None = None
        self.picture = self.typing.picture
        self.shown = False
        self.drafted: Look | None = None
        self.outcome: Outcome | None = None

    def judge(self, observation: Observation) -> bool:
        """Judge a look. Returns whether to press Enter now."""
        look = observation.look
        self._compare(observation)
        if look.state in {ScreenState.GONE, ScreenState.SHELL}:
            self._end(look, Fate.UNSURE, f"{look.state}: {look.cue}")
        elif self.was_never_pasted(observation):
            self._end(look, Fate.UNSURE, "the text was never pasted", stands=False)
        elif self.typing.state is TypingState.UNSURE and self.is_on_record(observation):
            self._end(look, Fate.SUBMITTED, ON_RECORD)
        elif self.is_drafted(observation):
            self.drafted = look
            return self._is_enter_due(look)
        elif proof := self.proof(look):
            self._end(look, Fate.SUBMITTED, proof)
        else:
            self._give_up_if_late(observation)
        return False

    def _compare(self, observation: Observation) -> None:
        if (now := observation.digest) is None:
            return
        if self.picture is not None and now != self.picture and is_same_size(now, self.picture):
            self.moved = self.moved or 0.0
        self.picture = now

    def was_never_pasted(self, observation: Observation) -> bool:
        """Whether the pane proves that the earlier process died before the paste."""
        pasted = None if observation.picture is None else observation.picture.last_paste
        return pasted is not None and bool(self.typing.token) and pasted != self.typing.token

    def is_drafted(self, observation: Observation) -> bool:
        """Whether the composer holds the text and nothing else."""
        look, text = observation.look, self.typing.text
        if self.typing.program not in ("", observation.program):
            return False
        agent = self.draft.target.agent
        if holds_only(look, text, agent, folded=self.draft.fresh):
            return True
        # A folded paste in the composer may be somebody else's by now.
        return (
            self.typing.state is TypingState.TYPED
            and self._was_pasted(observation)
            and holds_only(look, text, agent, folded=True)
            and _fits(look.composer, text)
            and not self._is_in_transcript(look)
        )

    def _was_pasted(self, observation: Observation) -> bool:
        picture = observation.picture
        return picture is not None and picture.last_paste == self.typing.token

    def _give_up_if_late(self, observation: Observation) -> None:
        look = observation.look
        if look.composer and not self.shown:
            # A text that has just appeared gets its time, however late that is.
            self.shown, self.waited = True, 0.0
        empty = _is_empty(look)
        if self.waited < (SLOW_SECONDS if empty and self.draft.fresh else PROOF_SECONDS):
            return
        if self.is_on_record(observation):
            self._end(look, Fate.SUBMITTED, ON_RECORD)
        elif not empty:
            self._end(look, Fate.UNSURE, f"{look.state}: {look.cue}")
        elif self.moved is None or self.moved >= PROOF_SECONDS:
            # The agent draws, and has shown the text or had the time for it. It will not show it again.
            gone = self.drafted is not None or self.moved is not None
            missing = "the composer is empty and the text is not on the screen"
            self._end(look, Fate.UNSURE, missing, stands=not gone)

    def is_on_record(self, observation: Observation) -> bool:
        """Whether the agent's own session record shows that the text was submitted."""
        agent, text = self.draft.target.agent, self.typing.text
        return bool(self.draft.marker) and has_submitted(agent, observation.processes, text)

    def _is_enter_due(self, look: Look) -> bool:
        again = bool(self.typing.enters + self.pressed)
        # A working agent may take it into its queue once. More Enters would go into the turn.
        if self.pressed < self.limit and not (again and look.state is not ScreenState.DRAFT):
            return not again or self.waited >= RETRY_SECONDS
        if self.waited >= PROOF_SECONDS:
            count = self.typing.enters + self.pressed
            enters = "1 Enter" if count == 1 else f"{count} Enters"
            self._end(look, Fate.UNSURE, f"the text is still there after {enters}")
        return False

    def proof(self, look: Look) -> str | None:
        """The evidence that the text was submitted, if there is any."""
        match look.state:
            case _ if look.composer:
                return None
            case ScreenState.REST | ScreenState.WORKING if self._is_in_transcript(look):
                return "the composer is empty, the text is in the transcript"
            case ScreenState.WORKING if self.pressed:
                return "the composer is empty and the agent works"
            case ScreenState.AWAITING if self._was_entered() and self._has_marker(look):
                # The agent has read it and asks already.
                return "a question is open, the text is in the transcript"
            case ScreenState.REST | ScreenState.AWAITING if self._has_taken_command():
                return "the composer has held the command, and has not since the Enter"
        return None

    def _has_taken_command(self) -> bool:
        """Whether an agent's own command has left the composer after its Enter. Some clear the screen
        or open a menu, and leave nothing in the transcript."""
        is_command = self.typing.kind is TypingKind.PROMPT and self.typing.text.startswith("/")
        return is_command and self.pressed > 0 and self.drafted is not None

    def _is_in_transcript(self, look: Look) -> bool:
        if self._has_marker(look):
            return True
        text = self.typing.text
        if not self._was_entered():
            return False
        # The composer has held the text before an Enter; long ones leave but their end in sight.
        if holds_end(look, text):
            return True
        return self.drafted is not None and begins_with_end(look, text, self.drafted)

    def _was_entered(self) -> bool:
        return bool(self.typing.enters + self.pressed)

    def _has_marker(self, look: Look) -> bool:
        return bool(self.draft.marker) and holds_marker(look, self.draft.marker)

    def entered(self) -> None:
        self.pressed += 1
        self.waited = 0.0

    def wait(self, seconds: float) -> None:
        """Count the seconds since the last look."""
        self.waited += seconds
        if self.moved is not None:
            self.moved += seconds

    def _end(self, look: Look, fate: Fate, evidence: str, *, stands: bool = True) -> None:
        stands = stands and fate is Fate.UNSURE and look.state is not ScreenState.GONE
        self.outcome = Outcome(
            fate=fate,
            evidence=evidence,
            screen=look.state,
            # Empty where nobody could look: then no picture counts as another one.
            picture=(self.picture or "") if stands else None,
        )


def _fits(placeholder: str, text: str) -> bool:
    """Whether the placeholder of a folded paste can stand for ``text``. Agents count its line breaks, lines
    or characters, and put that number last."""
    numbers = re.findall("[0-9]+", placeholder)
    breaks = text.count("\n")
    return bool(numbers) and int(numbers[-1]) in {breaks, breaks + 1, len(text)}


def type_and_submit(
    mux: Multiplexer,
    drafts: Sequence[Draft],
    *,
    entering: Callable[[list[Draft]], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[dict[str, Outcome]]:
    """Type the drafts into their panes side by side. Yields outcomes by pane, those of one look together, as
    soon as they are known. ``entering`` is called before each Enter.

    The caller holds the panes' locks, has just seen them at rest, and has noted the texts.
    """
    typed = {draft.target.pane: draft.typing for draft in drafts}
    failed = mux.paste(
        {pane: typing.text for pane, typing in typed.items()},
        {pane: typing.program for pane, typing in typed.items()},
        {draft.target.pane: draft.processes for draft in drafts},
        {pane: typing.token for pane, typing in typed.items()},
    )
    refused = {
        pane: Outcome(fate=Fate.REFUSED, evidence=str(error), gone=isinstance(error, PaneGoneError))
        for pane, error in failed.items()
        if not isinstance(error, MultiplexerTimeoutError)
    }
    if refused:
        yield refused
    going = [draft for draft in drafts if draft.target.pane not in refused]
    if going:
        sleep(PASTE_SECONDS)
    yield from submit(mux, going, entering=entering, sleep=sleep)


def submit(
    mux: Multiplexer,
    drafts: Sequence[Draft],
    *,
    entering: Callable[[list[Draft]], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[dict[str, Outcome]]:
    """Press Enter on drafts that were pasted, as often as the looks ask for it."""
    going = [_Attempt(draft) for draft in drafts]
    while going:
        began = time.monotonic()
        seen = look_at(mux, [each.draft.target for each in going])
        took = time.monotonic() - began
        ready = [each for each in going if each.judge(seen[each.draft.target.pane])]
        if ready:
            entering([each.draft for each in ready])
            # If Enter could not be pressed, the text stays. The next look decides.
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
            # A call to a server that hangs takes seconds, and others wait for the panes.
            unreachable = seen[each.draft.target.pane].unreachable
            each.wait(LOOK_SECONDS + (took if unreachable else 0.0))
