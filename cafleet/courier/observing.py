"""Look at members' panes: whose they are, and what the agents in them do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import msgspec

from cafleet.agents.cues import Cues, current_cues
from cafleet.agents.judge import judge
from cafleet.agents.presence import of_agent
from cafleet.errors import MultiplexerError, MultiplexerTimeoutError, PaneGoneError
from cafleet.panes import Multiplexer, PaneTag, belongs
from cafleet.records import Backend, CodingAgent, DeliveryState, MemberRecord, ScreenState
from cafleet.screens import Look, Picture, Process, digest

# The seconds between the two pictures that have to agree on rest.
REST_SECONDS = 0.3


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A member's pane, as its placement has it."""

    member_id: int
    backend: Backend
    pane: str
    socket: str | None
    session: str
    window: str
    agent: CodingAgent
    tag: PaneTag


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """A look at a pane. ``picture`` is null if there is no such pane. ``unreachable`` says that nobody could
    look, ``unanswered`` that the server did not answer in time. ``processes`` are the agent's, as far as
    they can be seen in the pane's foreground."""

    look: Look
    picture: Picture | None = None
    unreachable: bool = False
    unanswered: bool = False
    processes: tuple[Process, ...] = ()

    @property
    def program(self) -> str:
        """The program in the pane. Empty if nobody could look."""
        return "" if self.picture is None else self.picture.command

    @property
    def digest(self) -> str | None:
        """A digest of the picture without its cursor."""
        return None if self.picture is None else digest(self.picture)

    @property
    def owed_state(self) -> DeliveryState:
        """The delivery state of a notice that this observation keeps from being typed."""
        if self.unreachable or self.look.state is ScreenState.GONE:
            return DeliveryState.UNREACHABLE
        return DeliveryState.HELD

    @property
    def reason(self) -> str:
        """Why, in a few words."""
        return self.look.cue if self.unreachable else f"{self.look.state}: {self.look.cue}"


def target_of(member: MemberRecord, database_id: str) -> Target | None:
    """The pane to look at, or ``None`` while the member has none."""
    placement = member.placement
    if placement is None or placement.mux_pane_id is None:
        return None
    return Target(
        member_id=member.member_id,
        backend=placement.backend,
        pane=placement.mux_pane_id,
        socket=placement.mux_socket,
        session=placement.mux_session,
        window=placement.mux_window_id,
        agent=placement.coding_agent,
        tag=PaneTag(database_id=database_id, fleet_id=member.fleet_id, member_id=member.member_id),
    )


class Witness(Protocol):
    """A source beside the screen that knows what an agent does."""

    def __call__(self, target: Target, observation: Observation, /) -> ScreenState | None:
        """*Working* or *awaiting* where that is known, else ``None``. Never raises."""


def no_witness(_: Target, __: Observation) -> ScreenState | None:
    """Ask nothing but the screen."""
    return None


def look_at(
    mux: Multiplexer, targets: Sequence[Target], *, witness: Witness = no_witness
) -> dict[str, Observation]:
    """Take and judge one picture of each pane. Returns the observations by pane id.

    The ``witness`` is asked about each pane at rest, and can only take rest away. Where nobody can see
    what a shell runs, two pictures have to show a shell.
    """
    seen = _looked(mux, targets)
    doubtful = [target for target in targets if _may_be_no_shell(seen[target.pane])]
    if doubtful:
        time.sleep(REST_SECONDS)
        seen |= _looked(mux, doubtful)
    return {
        target.pane: _heard(target, seen[target.pane], witness(target, seen[target.pane]))
        if is_at_rest(seen[target.pane])
        else seen[target.pane]
        for target in targets
    }


def _looked(mux: Multiplexer, targets: Sequence[Target]) -> dict[str, Observation]:
    pictures = mux.pictures([target.pane for target in targets])
    return {target.pane: _sight(target, pictures[target.pane]) for target in targets}


def _may_be_no_shell(observation: Observation) -> bool:
    is_shell = observation.look.state is ScreenState.SHELL
    return is_shell and observation.picture is not None and observation.picture.foreground is None


def _heard(target: Target, observation: Observation, said: ScreenState | None) -> Observation:
    """The observation of a pane at rest after the witness has spoken."""
    if said not in (ScreenState.WORKING, ScreenState.AWAITING):
        return observation
    cue = f"the screen looks at rest, but the session record of {target.agent} says otherwise"
    look = msgspec.structs.replace(observation.look, state=said, cue=cue)
    return msgspec.structs.replace(observation, look=look)


def look_for_rest(
    mux: Multiplexer,
    targets: Sequence[Target],
    *,
    sleep: Callable[[float], None] = time.sleep,
    witness: Witness = no_witness,
) -> dict[str, Observation]:
    """The same as :func:`look_at`, where *rest* needs a second picture that agrees a moment later."""
    seen = look_at(mux, targets, witness=witness)
    resting = [target for target in targets if is_at_rest(seen[target.pane])]
    if resting:
        sleep(REST_SECONDS)
        again = look_at(mux, resting, witness=witness)
        for target in resting:
            seen[target.pane] = _agreed(seen[target.pane], again[target.pane])
    return seen


def _agreed(first: Observation, second: Observation) -> Observation:
    """The second of two looks. It is at rest only if both saw the same processes."""
    if not is_at_rest(second) or first.processes == second.processes:
        return second
    look = Look(state=ScreenState.UNKNOWN, cue="another program has come into the pane")
    return msgspec.structs.replace(second, look=look)


def is_at_rest(observation: Observation) -> bool:
    return observation.look.state is ScreenState.REST


def _sight(target: Target, picture: Picture | MultiplexerError) -> Observation:
    if isinstance(picture, PaneGoneError):
        return _gone("the pane does not exist any more")
    if isinstance(picture, MultiplexerError):
        return Observation(
            look=Look(state=ScreenState.UNKNOWN, cue=str(picture)),
            unreachable=True,
            unanswered=isinstance(picture, MultiplexerTimeoutError),
        )
    if not belongs(
        picture,
        tag=target.tag,
        socket=target.socket,
        session=target.session,
        window=target.window,
    ):
        return _gone("the pane is another's now")
    cues = current_cues(target.agent)
    return Observation(
        look=_judged(picture, target.agent, cues),
        picture=picture,
        processes=of_agent(picture.foreground or (), cues),
    )


# Most panes show what they showed at the last look, and a fleet may have many.
@lru_cache(maxsize=256)
def _judged(picture: Picture, agent: CodingAgent, cues: Cues) -> Look:
    return judge(picture, agent, cues=cues)


def _gone(cue: str) -> Observation:
    return Observation(look=Look(state=ScreenState.GONE, cue=cue))


def moved(target: Target, observation: Observation) -> tuple[str, str] | None:
    """The session and window that a pane was moved to, ``None`` if it was not moved."""
    picture = observation.picture
    if picture is None or (picture.session, picture.window) == (target.session, target.window):
        return None
    return picture.session, picture.window


def by_server(targets: Sequence[Target]) -> list[list[Target]]:
    """The targets in groups that share a server."""
    servers: dict[tuple[Backend, str | None], list[Target]] = {}
    for target in targets:
        servers.setdefault((target.backend, target.socket), []).append(target)
    return list(servers.values())
