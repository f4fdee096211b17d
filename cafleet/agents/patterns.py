"""Patterns of what stands on a status line: ``*`` stands for any text, ``#`` for a number."""

from __future__ import annotations

import re
from functools import lru_cache

# A number as agents write it: 12, 1.5K, 14:41. A # itself counts as one, so that a pattern that
# was made from a line fits that line.
_NUMBER = r"(?:#|<?\d+(?:[.,:]\d+)*[KMB]?)"
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*[KMB]?")


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(_expression(pattern) for pattern in patterns) or r"(?!)")


def _expression(pattern: str) -> str:
    return re.escape(folded(pattern)).replace(r"\*", ".*").replace(r"\#", _NUMBER)


def fits(text: str, patterns: tuple[str, ...]) -> bool:
    """Whether the whole of ``text`` fits one of the patterns, however it is spaced."""
    return _compiled(patterns).fullmatch(folded(text)) is not None


def begins(text: str, patterns: tuple[str, ...]) -> bool:
    """Whether ``text`` is how something begins that fits one of the patterns."""
    text = folded(text)
    for pattern in patterns:
        literal = re.split(r"[*#]", folded(pattern), maxsplit=1)[0]
        if literal.startswith(text) or (literal and text.startswith(literal)):
            return True
    return False


def generalised(text: str) -> str:
    """The pattern that fits ``text`` and all that differs from it only in its numbers."""
    return _DIGITS.sub("#", folded(text))


def folded(text: str) -> str:
    """``text`` with each run of blanks as one space, none at its ends."""
    return " ".join(text.split())


def found(phrases: tuple[str, ...], text: str) -> str | None:
    """The first of ``phrases`` that ``text`` holds, however it is spaced, wrapped or capitalised."""
    text = folded(text).casefold()
    return next((phrase for phrase in phrases if folded(phrase).casefold() in text), None)
