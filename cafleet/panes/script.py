"""Ask about many panes in one call of tmux.

The commands go to ``source-file -``: there each line succeeds or fails on its own, so a pane that
has vanished does not spoil the others, and there is no limit of size. (In a chain of arguments the
first failure ends the rest.) tmux parses these lines, so they hold nothing but our own commands
and checked pane ids; never texts, tags or names.

The values that come back may hold anything, line feeds included. Marks that are random for each call
separate them, so nothing on a screen can imitate a mark.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from cafleet.errors import MultiplexerError, MultiplexerTimeoutError, PaneGoneError
from cafleet.panes.runner import LIMIT, run
from cafleet.panes.words import one_line

_PANE_ID = re.compile(r"%(?:0|[1-9][0-9]{0,9})")


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """The separators of one call: before each record, and after each of its fields."""

    record: str
    field: str

    @classmethod
    def draw(cls) -> Marks:
        """Draw new marks. They are hexadecimal digits, which neither formats nor strftime(3) expand."""
        mark = os.urandom(16).hex()
        return cls(record=f"{mark}0", field=f"{mark}1")

    def format(self, names: Iterable[str]) -> str:
        """The tmux format of a record that has these variables as its fields."""
        return self.record + "".join(f"#{{{name}}}{self.field}" for name in names)

    def records(self, out: str) -> list[list[str]]:
        """The records in ``out``: the values of their fields, and last what follows them."""
        return [record.split(self.field) for record in out.split(self.record)[1:]]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the variables, and the output of the further commands."""

    values: dict[str, str]
    printed: str


def pane_gone(pane: str) -> PaneGoneError:
    """The error for an absent pane, and for an id that cannot exist."""
    return PaneGoneError(
        f"pane {one_line(pane)} does not exist any more; see the member's placement"
    )


def is_pane_id(pane: str) -> bool:
    """Whether tmux could have given a pane this id."""
    return _PANE_ID.fullmatch(pane) is not None


def ask(
    socket: str,
    panes: Iterable[str],
    names: Sequence[str],
    *,
    then: Callable[[str], str] | None = None,
    finally_: str | None = None,
    limit: float = LIMIT,
) -> dict[str, Reply | MultiplexerError]:
    """Read the format variables ``names`` of each pane, then carry out a line of commands for it.

    ``then`` makes that line from a pane id, ``finally_`` is a line after all panes. Never raises:
    a pane that is absent has a PaneGoneError, and a server that does not answer is the error of all.
    """
    wanted = list(dict.fromkeys(panes))
    real = [pane for pane in wanted if is_pane_id(pane)]
    replies: dict[str, Reply | MultiplexerError] = {pane: pane_gone(pane) for pane in wanted}
    if not real:
        return replies
    marks = Marks.draw()
    lines = []
    for pane in real:
        lines.append(f"display-message -p -t '{pane}' '{marks.format(['pane_id', *names])}'")
        if then is not None:
            lines.append(then(pane))
    if finally_ is not None:
        lines.append(finally_)
    lines.append(f"display-message -p '{marks.record}'")
    try:
        answer = run(
            socket, ["source-file", "-"], stdin="\n".join([*lines, ""]).encode(), limit=limit
        )
    except MultiplexerError as error:
        return replies | dict.fromkeys(real, error)
    records = marks.records(answer.out)
    if len(records) != len(real) + 1:
        # The client has ended early. The server may have gone on.
        broken = MultiplexerTimeoutError(
            f"tmux gave an incomplete answer ({answer.err}); see whether its server runs"
        )
        return replies | dict.fromkeys(real, broken)
    for pane, record in zip(real, records, strict=False):
        if record[0] == pane:
            values = dict(zip(names, record[1:], strict=False))
            replies[pane] = Reply(values=values, printed=record[-1].removeprefix("\n"))
    return replies
