"""How wide a terminal draws a text."""

from __future__ import annotations

# The most that a name takes, as shown. Older databases hold longer ones.
NAME_COLUMNS = 80
# No name of so few columns has more, with all its marks.
_MOST_CHARACTERS = 1_000


def display_width(text: str) -> int:
    """How many terminal cells ``text`` takes, by Unicode width."""
    if text.isascii():
        return len(text)
    # Loaded for the few texts that need it: its data would double the start of `member list`.
    from wcwidth import wcswidth

    return max(0, wcswidth(text))


def cut_name(name: str) -> str:
    """A name as it is shown, cut to :data:`NAME_COLUMNS` and an ellipsis."""
    if len(name) <= NAME_COLUMNS // 2:
        return name
    # It may be a megabyte, and nobody sees the end of that.
    if len(name) <= _MOST_CHARACTERS and display_width(name) <= NAME_COLUMNS:
        return name
    kept = name[: NAME_COLUMNS - 1]
    while display_width(kept) >= NAME_COLUMNS:
        kept = kept[:-1]
    return f"{kept}…"
