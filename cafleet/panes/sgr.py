"""Control sequences in the output of ``capture-pane -e``: SGR, and few others."""

from __future__ import annotations

import re

RESET = "\x1b[0m"

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
# From tmux 3.4 on there are hyperlinks (OSC 8). The shifts to and from the line drawing characters
# are left out, for they mean nothing unless the reader's terminal has been set up for them.
_OTHER = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x0e\x0f]")


def only_sgr(printed: str) -> str:
    """Remove all control sequences but SGR (ECMA-48, 8.3.117)."""
    return _OTHER.sub("", printed)


def is_blank(row: str) -> bool:
    """Whether a row shows no character, whatever its colours."""
    return not _SGR.sub("", row).strip()


def attributes(text: str) -> str:
    """The SGR sequences that are in force at the end of ``text``, the last of each kind."""
    held: dict[str, str] = {}
    for match in _SGR.finditer(text):
        codes = match[1]
        first, _, rest = codes.partition(";")
        if first in ("", "0"):
            held.clear()
            if not rest:
                continue
        kind = _kind(codes)
        held.pop(kind, None)
        if codes not in ("39", "49", "59"):
            held[kind] = match[0]
    return "".join(held.values())


def _kind(codes: str) -> str:
    """tmux sets one colour per sequence, and attributes in sequences without colours."""
    first = re.split("[;:]", codes, maxsplit=1)[0]
    if re.fullmatch("3[0-9]|9[0-7]", first):
        return "foreground"
    if re.fullmatch("4[0-9]|10[0-7]", first):
        return "background"
    return "underline" if first in ("58", "59") else codes
