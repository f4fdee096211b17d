"""Whether what was typed is what an agent shows: in its composer, or in its transcript."""

from __future__ import annotations

import unicodedata

from cafleet.agents.cues import cues_for
from cafleet.records import CodingAgent
from cafleet.screens import Look

# A composer scrolls; so much of the end of a text tells it from any other.
_TELLING = 40


def holds_only(look: Look, text: str, agent: CodingAgent) -> bool:
    """Whether the composer holds ``text`` and nothing else, as far as it shows it.

    It may have wrapped the text, scrolled its beginning out of sight, or folded it into a
    placeholder: the pane was at rest before, so a single placeholder is what was pasted.
    """
    shown, wanted = compact(look.composer), compact(text)
    if not shown:
        return False
    if shown == wanted or (len(shown) >= _TELLING and wanted.endswith(shown)):
        return True
    folded = look.composer.strip()
    return (
        any(folded.startswith(start) for start in cues_for(agent).pastes)
        and folded.find("]") == len(folded) - 1
    )


def holds_marker(look: Look, marker: str) -> bool:
    """Whether ``marker`` stands in the transcript, however it is wrapped there."""
    return compact(marker) in compact(look.transcript)


def compact(text: str) -> str:
    """``text`` without what a terminal may add, drop or draw otherwise: white space and what has no
    width of its own."""
    if text.isascii():
        return "".join(text.split())
    return "".join(
        character
        for character in text
        if not character.isspace() and unicodedata.category(character)[0] not in "CM"
    )
