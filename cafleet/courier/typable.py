"""Text in a form that every terminal shows unchanged."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from cafleet.invisible import escaped, spelled

# A cell of tmux holds so many bytes (UTF8_SIZE in tmux 3.1 to 3.5; measured with 3.3a), and the rest of
# a cluster is lost. Joiners put all that they join into one cell.
CELL_BYTES = 21

_TAG = re.compile("[\U000e0020-\U000e007f]")
_JOINER = "\N{ZERO WIDTH JOINER}"
_PICTURES = range(0x1F000, 0x1FB00)
_TONES = range(0x1F3FB, 0x1F400)
_REGIONAL = range(0x1F1E6, 0x1F200)
# Vowels and finals that are drawn into the syllable before them: Hangul Jamo and its extension B.
_JAMO = (range(0x1160, 0x1200), range(0xD7B0, 0xD7FC))


def typable(text: str, limit: int | None = None) -> str:
    """Make ``text`` fit for every terminal, composed (NFC) as Claude Code passes it on.

    Hidden characters, unassigned ones, and those that a cell cannot hold are spelled out. A joined emoji or
    syllable that is too long for a cell becomes its parts without joiners. With ``limit`` the text is cut
    to so many characters, at the end of a cell, and an ellipsis is added.
    """
    if text.isascii() and text.isprintable():
        pieces = [text] if limit is None else list(text)
    else:
        text = spelled(unicodedata.normalize("NFC", text))
        text = _TAG.sub(lambda tag: escaped(tag[0]), text)
        pieces = [piece for cluster in _clusters(text) for piece in _held(cluster)]
    whole = "".join(pieces)
    if limit is None or len(whole) <= limit:
        return whole
    room = limit - 1
    kept = []
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept) + "…"


def _clusters(text: str) -> Iterator[str]:
    """The parts of ``text`` that a terminal may put into one cell each, in order."""
    cluster = ""
    for character in text:
        if cluster and not _extends(cluster, character):
            yield cluster
            cluster = ""
        cluster += character
    if cluster:
        yield cluster


def _extends(cluster: str, character: str) -> bool:
    if cluster[-1] == _JOINER:
        return True
    if character.isascii():
        return False
    code = ord(character)
    return (
        unicodedata.category(character) in {"Mn", "Mc", "Me", "Cf"}
        or code in _TONES
        or any(code in jamo for jamo in _JAMO)
        or (code in _REGIONAL and len(cluster) == 1 and ord(cluster) in _REGIONAL)
    )


def _held(cluster: str) -> Iterator[str]:
    """Split a cluster into clusters that fit into a cell, and spelled characters."""
    start = 0
    while start < len(cluster) and _is_alone(cluster[start]):
        yield escaped(cluster[start])
        start += 1
    cluster = cluster[start:]
    if len(cluster.encode()) <= CELL_BYTES:
        yield cluster
        return
    for part in cluster.split(_JOINER):
        held = _count_held(part)
        yield part[:held]
        yield from map(escaped, part[held:])


def _is_alone(character: str) -> bool:
    """Whether no cell of its own is drawn for a character that begins a cluster.

    A mark without a letter joins what stands before, and few terminals draw unassigned characters. Of
    pictures there are new ones every year, which a terminal may know before this Python does.
    """
    category = unicodedata.category(character)
    return category[0] == "M" or (category == "Cn" and ord(character) not in _PICTURES)


def _count_held(part: str) -> int:
    """How many characters of ``part`` fit into a cell."""
    size = 0
    for at, character in enumerate(part):
        size += len(character.encode())
        if size > CELL_BYTES:
            return at
    return len(part)
