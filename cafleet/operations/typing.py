"""`member prompt` and `member ping`: type one line into a pane at rest."""

from __future__ import annotations

import time

import msgspec

from cafleet import clock
from cafleet.broker import members, typings
from cafleet.courier.ledger import Ledger
from cafleet.courier.observing import Observation, Target, is_at_rest, look_for_rest
from cafleet.courier.payloads import poll_request
from cafleet.courier.session_witness import SessionWitness
from cafleet.courier.submission import Draft, Fate
from cafleet.errors import MultiplexerError, UsageError
from cafleet.operations.targets import gone, pane_target, placed_target
from cafleet.panes import multiplexer, pane_lock
from cafleet.records import PANE_LOCKED, TEXT_UNSHOWN, ScreenState, TypingKind
from cafleet.store import Connection
from cafleet.texts import is_blank

# opencode takes up to half a minute to start.
_STARTING_SECONDS = 60.0
_PAUSE_SECONDS = 0.5


class Typed(msgspec.Struct, frozen=True, kw_only=True):
    member_id: int
    pane_id: str
    text: str
    shell: bool


class Ping(msgspec.Struct, frozen=True, kw_only=True):
    """``reason`` says why a ping was skipped. It may be null, and so may the pane."""

    member_id: int
    pane_id: str | None
    skipped: bool
    reason: str | None


class NotAtRestError(MultiplexerError):
    """The agent in the pane is not at rest, and nothing was typed."""


def prompt_member(conn: Connection, *, member_id: int, text: str, shell: bool) -> Typed:
    """Type one line into a member's pane and submit it. ``shell`` makes it a shell command of the agent.

    Raises:
        UsageError: the text is blank or has more than one line.
        UnknownIdError, RefusedError: the member has no pane to type into.
        NotAtRestError: the pane is not at rest.
        MultiplexerError: the pane is gone, cannot be reached, or did not take the text.
    """
    if is_blank(text):
        raise UsageError("the text is blank; give one line to type")
    if len(text.splitlines()) > 1 or text.splitlines()[0] != text:
        raise UsageError("the text has more than one line; give one, or send a message instead")
    if not text.isprintable() and any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text):
        raise UsageError("the text has control characters; leave them out")
    line = f"! {text.strip()}" if shell else text.strip()
    target = pane_target(conn, member_id=member_id)
    _type(conn, target, TypingKind.PROMPT, line)
    return Typed(member_id=member_id, pane_id=target.pane, text=line, shell=shell)


def ping_member(conn: Connection, *, member_id: int) -> Ping:
    """Ask a member to poll, if its agent rests. Otherwise the ping is skipped, which is no failure.

    Raises:
        UnknownIdError, RefusedError: there is no such member, or it has no placement.
        MultiplexerError: the pane is gone, cannot be reached, or did not take the text.
    """
    target = placed_target(conn, members.get(conn, member_id=member_id))
    if target is None:
        return Ping(
            member_id=member_id, pane_id=None, skipped=True, reason="the pane is still pending"
        )
    reason = None
    try:
        _type(conn, target, TypingKind.PING, poll_request(member_id))
    except NotAtRestError as error:
        reason = error.message
    return Ping(member_id=member_id, pane_id=target.pane, skipped=reason is not None, reason=reason)


def type_when_resting(conn: Connection, *, member_id: int, line: str) -> None:
    """Type one line as soon as the agent rests, which an agent that starts does after a while.

    Raises:
        NotAtRestError: it did not rest within a minute.
        MultiplexerError: the pane is gone, cannot be reached, or did not take the text.
    """
    ends = time.monotonic() + _STARTING_SECONDS
    while True:
        try:
            return _type(conn, pane_target(conn, member_id=member_id), TypingKind.PROMPT, line)
        except NotAtRestError:
            if time.monotonic() > ends:
                raise
            time.sleep(_PAUSE_SECONDS)


def _type(conn: Connection, target: Target, kind: TypingKind, line: str) -> None:
    mux = multiplexer(target.backend, target.socket)
    with pane_lock(target.socket, target.pane):
        ledger = Ledger(conn, mux)
        if target.pane in ledger.settle([target]).held_back:
            raise _not_at_rest(target, TEXT_UNSHOWN)
        observation = look_for_rest(mux, [target], witness=SessionWitness())[target.pane]
        if not is_at_rest(observation):
            raise _refusal(conn, target, observation)
        intent = typings.Intent(
            member_id=target.member_id,
            kind=kind,
            pane=target.pane,
            program=observation.program,
            picture=observation.digest,
            text=f"{line.rstrip()} ",
        )
        typing = typings.begin(conn, intent, now=clock.utc_now())
        if typing is None:
            raise _not_at_rest(target, PANE_LOCKED)
        draft = Draft(target=target, typing=typing, processes=observation.processes)
        [outcomes] = ledger.type([draft])
    outcome = outcomes[target.pane]
    if outcome.fate is Fate.REFUSED:
        raise MultiplexerError(f"nothing was typed into pane {target.pane} ({outcome.evidence})")
    if outcome.fate is Fate.UNSURE:
        raise MultiplexerError(
            f"it is not certain that the text was submitted in pane {target.pane} ({outcome.evidence}); "
            f"look with `cafleet member capture {target.member_id}` before you type it again"
        )


def _refusal(conn: Connection, target: Target, observation: Observation) -> MultiplexerError:
    if observation.unreachable:
        return MultiplexerError(observation.reason)
    if observation.look.state is ScreenState.GONE:
        return gone(conn, target, observation)
    return _not_at_rest(target, observation.reason)


def _not_at_rest(target: Target, reason: str) -> NotAtRestError:
    return NotAtRestError(
        f"member {target.member_id} is not at rest ({reason}), nothing was typed; try again later"
    )
