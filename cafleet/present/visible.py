"""Stored text as it is shown: what a reader would not see is spelled out instead."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""``text`` fit for one line: every hidden character spelled ``\x1b``, ``\u2028`` or so."""
    return _spelled(text, "")


def visible_body(text: str) -> str:
    """Like :func:`visible`, but line feeds and tabs stay: for text shown over several lines."""
    return _spelled(text, "\n\t")


def _spelled(text: str, keep: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    # Loaded for the texts that need it.
    from cafleet.invisible import spelled

    return spelled(text, keep=keep)
