"""Questions about any text that a user or an agent hands over."""

from __future__ import annotations

# Joiners and marks that draw nothing at all. `str.isspace` knows none of them, and a body made of
# them alone would reach its recipient as an empty message.
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))


def is_blank(text: str) -> bool:
    """Whether ``text`` shows nothing: empty, or only white space and zero-width characters.

    White space is what :meth:`str.isspace` says (U+0085, U+00A0, U+3000 and U+001C to U+001F
    among it); zero-width are U+200B, U+200C, U+200D, U+2060 and U+FEFF, the byte order mark.
    """
    rest = text.translate(_INVISIBLE) if not text.isascii() else text
    return not rest or rest.isspace()


def is_unicode(text: str) -> bool:
    """Whether ``text`` can be written as UTF-8, as SQLite and tmux take it.

    Python turns a byte of the environment that is not UTF-8 into a lone surrogate (PEP 383).
    """
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
