"""Stored text on a terminal: what would steer the terminal is spelled out instead."""

from __future__ import annotations

import re

# C0, DEL and C1; the Arabic letter mark and the other bidirectional controls (Unicode Standard
# Annex 9), which can make a line read as another; the line and paragraph separators; surrogates,
# which stand for bytes that are not UTF-8.
_STEERING = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
# Compiled by the first text that needs it; most calls of the program show none.
_IN_LINE = f"[{_STEERING}]"
_IN_BODY = rf"(?![\n\t])[{_STEERING}]"


def visible(text: str) -> str:
    r"""``text`` fit for one line: every control character spelled ``\x1b``, ``\u2028`` or so."""
    return text if text.isprintable() else re.sub(_IN_LINE, _spell, text)


def visible_body(text: str) -> str:
    """Like :func:`visible`, but line feeds and tabs stay: for text shown over several lines."""
    return text if text.isprintable() else re.sub(_IN_BODY, _spell, text)


def _spell(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
