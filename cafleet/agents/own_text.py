"""Whether what was typed is what an agent shows: in its composer, or in its transcript."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from cafleet.agents.cues import cues_for
from cafleet.records import CodingAgent
from cafleet.screens import Look

# What a joiner joins to the picture before it, the tones of skin, and the sign for what is unknown.
_JOINED = re.compile("\u200d[^\u200d\ufe0f]\ufe0f?")
_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
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
    whole = shown == wanted or (len(shown) >= _TELLING and wanted.endswith(shown))
    # A person may have added a picture, so those that are shown have to be ours.
    drawn = pictures(look.composer)
    if whole and (shown or drawn) and _is_within(drawn, pictures(text)):
        return True
    placeholder = look.composer.strip()
    return (
        folded
        and any(placeholder.startswith(start) for start in cues_for(agent).pastes)
        and placeholder.find("]") == len(placeholder) - 1
    )


def _is_within(shown: str, wanted: str) -> bool:
    """Whether all of ``shown`` is in ``wanted``, in this order."""
    rest = iter(wanted)
    return all(picture in rest for picture in shown)


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
    """``text`` without what a terminal may add, drop or draw otherwise.

    That are white space, marks and hidden characters, of which a cell holds so many; the vowels and
    finals of Hangul that have letters of their own; and pictures, of which a terminal knows those of its
    Unicode version.
    """
    if text.isascii():
        return "".join(text.split())
    text = unicodedata.normalize("NFC", text)
    return "".join(
        character
        for character in text
        if not character.isspace()
        and not _is_picture(character)
        and unicodedata.category(character)[0] not in "CM"
        and not ("\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7fb")
    )


def pictures(text: str) -> str:
    """The pictures in ``text`` that begin a cluster, without what a terminal draws for unknown ones."""
    if text.isascii():
        return ""
    joined = _JOINED.sub("", text)
    return "".join(
        each for each in joined if _is_picture(each) and each not in _TONES and each != _UNKNOWN
    )


def _is_picture(character: str) -> bool:
    return unicodedata.category(character) in {"So", "Sk"} and not character.isascii()
