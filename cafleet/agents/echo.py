"""Whether what was typed is what an agent shows: in its composer, or in its transcript."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from cafleet.agents.cues import cues_for
from cafleet.records import CodingAgent
from cafleet.screens import Look

# Composers and transcripts scroll; so much of the end of a text tells it from any other.
_TELLING = 40
_TELLING_IN_TRANSCRIPT = 80
# Of what a low pane leaves in sight of a text that was just submitted, fewer may be there by chance.
_TELLING_AT_THE_TOP = 4


def holds_only(look: Look, text: str, agent: CodingAgent, *, folded: bool) -> bool:
    """Whether the composer holds ``text`` and nothing else, as far as it shows it.

    It may have wrapped the text or scrolled its beginning out of sight. With ``folded`` a single
    placeholder of a paste counts too, which tells nothing of the text: the caller knows that the
    composer was empty before it pasted.
    """
    shown, wanted = compact(look.composer), compact(text)
    if not shown:
        return False
    if shown == wanted or (len(shown) >= _TELLING and wanted.endswith(shown)):
        return True
    placeholder = look.composer.strip()
    return (
        folded
        and any(placeholder.startswith(start) for start in cues_for(agent).pastes)
        and placeholder.find("]") == len(placeholder) - 1
    )


def holds_cut(look: Look, parts: Sequence[tuple[str, str]]) -> bool:
    """Whether the composer holds these ``parts`` in their order and nothing else, each a head and
    a body that may have been cut anywhere, which an ellipsis shows."""
    rest = compact(look.composer)
    for head, body in reversed(parts):
        rest, found, said = rest.rpartition(compact(head))
        cut = said.endswith("…") and compact(body).startswith(said[:-1])
        if not found or not (cut or said == compact(body)):
            return False
    return not rest


def holds_marker(look: Look, marker: Sequence[str]) -> bool:
    """Whether the parts of ``marker`` stand in the transcript in their order, however wrapped."""
    transcript, at = compact(look.transcript), 0
    for part in map(compact, marker):
        at = transcript.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def holds_end(look: Look, text: str) -> bool:
    """Whether the end of ``text`` stands in the transcript, however wrapped.

    Codex shows a shell command there without the ``!`` that it was typed with.
    """
    shown = compact(text).removeprefix("!")
    return shown[-_TELLING_IN_TRANSCRIPT:] in compact(look.transcript)


def begins_with_end(look: Look, text: str, before: Look) -> bool:
    """Whether the transcript, as far as it is in sight, begins with the end of ``text``, which was
    not there ``before``."""
    transcript, wanted = compact(look.transcript), compact(text)
    for length in range(min(len(transcript), len(wanted)), _TELLING_AT_THE_TOP - 1, -1):
        if transcript.startswith(wanted[-length:]):
            return wanted[-length:] not in compact(before.transcript)
    return False


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
