"""Fill in a spawn prompt: four names in braces, and doubled braces for literal ones.

``str.format`` is unsafe here: it evaluates attributes, indexes and format specs of any text in a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cafleet.errors import UsageError

NAMES = ("fleet_id", "member_id", "director_member_id", "coding_agent")
_KNOWN = ", ".join(f"{{{name}}}" for name in NAMES)
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def fill(prompt: str, values: Mapping[str, object]) -> str:
    """Replace the placeholders of ``prompt``. Inserted values are not read again.

    Raises:
        UsageError: an unknown placeholder, or a brace that is neither doubled nor part of one.
    """

    def replaced(match: re.Match[str]) -> str:
        token, name = match[0], match[1]
        if token in {"{{", "}}"}:
            return token[0]
        if name is None:
            raise UsageError(
                f"the prompt has a single {token} at character {match.start() + 1}; double it to mean the "
                f"character itself, or complete the placeholder ({_KNOWN})"
            )
        if name not in NAMES:
            shown = name if len(name) <= 60 else f"{name[:59]}…"
            raise UsageError(
                f"the prompt has the unknown placeholder {{{shown}}}; known are {_KNOWN}, and {{{{ and "
                f"}}}} are literal braces"
            )
        return str(values[name])

    return _TOKEN.sub(replaced, prompt)


def check(prompt: str) -> None:
    """Raise UsageError as :func:`fill` would, before there are values."""
    fill(prompt, dict.fromkeys(NAMES, ""))
