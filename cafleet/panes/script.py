"""Ask about many panes in one call of tmux.

The commands go to ``source-file -``: there each line succeeds or fails on its own, so a pane that
has vanished does not spoil the others, and there is no limit of size. (In a chain of arguments the
first failure ends the rest.) tmux parses these lines, therefore nothing stands in them but our own
commands and pane ids that were checked; texts, tags and names never do.

The values that come back may hold anything, line feeds included. They stand between marks that
are drawn anew for each call, so nothing on a screen can imitate one.
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
        """New marks, of hexadecimal digits, which no format and no strftime(3) expands."""
        mark = os.urandom(16).hex()
        return cls(record=f"{mark}0", field=f"{mark}1")

    def format(self, names: Iterable[str]) -> str:
        """The tmux format of a record that has these variables as its fields."""
        return self.record + "".join(f"#{{{name}}}{self.field}" for name in names)

    def records(self, out: str) -> list[list[str]]:
        """The records in ``out``: the values of their fields, and last what follows them."""
        return [record.split(self.field) for record in out.split(self.record)[1:]]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The variables that were asked for, and what the further commands have printed."""

    values: dict[str, str]
    printed: str


def pane_gone(pane: str) -> PaneGoneError:
    """The error for a pane that is absent, also for an id that cannot be one."""
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
        # Its client has ended early, which says nothing about what the server went on to do.
        broken = MultiplexerTimeoutError(
            f"tmux gave an incomplete answer ({answer.err}); see whether its server runs"
        )
        return replies | dict.fromkeys(real, broken)
    for pane, record in zip(real, records, strict=False):
        if record[0] == pane:
            values = dict(zip(names, record[1:], strict=False))
            replies[pane] = Reply(values=values, printed=record[-1].removeprefix("\n"))
    return replies
