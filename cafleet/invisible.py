"""Which characters of a text draw nothing or steer a terminal, and how they are spelled out.

Such a character stays as it is only where a writing system or an emoji needs it: `BELONGING` has
these places. Both patterns use what regular expressions of Python and JavaScript have in common, for
the page shows texts by the same rule (`web/page/hidden.js`).

The sources are Unicode 15.0: Default_Ignorable_Code_Point and general category Cf (without the
marks that enclose numbers, which are drawn), Extended_Pictographic, and the blocks of the scripts that
Unicode Standard Annex 31, section 2.3, lets join or separate letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Controls, bidirectional controls, separators of lines, surrogates, zero-width characters, fillers,
# variation selectors, annotations, tags, noncharacters, and blanks that are no white space.
HIDDEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0"
    r"\ufff0-\ufffb\ufffe\uffff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(rf"\U{plane:04x}fffe\U{plane:04x}ffff" for plane in range(1, 17))
)

_PICTURE = (
    r"[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u2388\u23cf"
    r"\u23e9-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07"
    r"\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa"
    r"\U0001f400-\U0001faff]"
)
_TONED_PICTURE = rf"{_PICTURE}(?:[\U0001f3fb-\U0001f3ff]|[\ufe0e\ufe0f])?"
# Tags that a black flag begins; other regions have no flag that is for general use.
_FLAG_OF_BRITAIN = r"\U0001f3f4\U000e0067\U000e0062"
_ENGLAND = r"\U000e0065\U000e006e\U000e0067"
_SCOTLAND = r"\U000e0073\U000e0063\U000e0074"
_WALES = r"\U000e0077\U000e006c\U000e0073"
# Arabic, Syriac, Thaana, N'Ko and Mandaic; Brahmic scripts; Khmer and Mongolian; those beyond the BMP.
_JOINING = (
    r"[\u0620-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af\u1900-\u1c4f"
    r"\ua800-\ua8ff\ua900-\ua95f\ua980-\ua9df\uaa00-\uaadf\uabc0-\uabff\ufb50-\ufdcf\ufdf0-\ufdff"
    r"\ufe70-\ufefc\U00010800-\U00011fff\U0001e900-\U0001e95f]"
)
# Thai, Lao, Tibetan, Burmese, Khmer, New Tai Lue and Tai Tham part words without a space.
_SPACELESS = r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1980-\u19df\u1a20-\u1aaf]"

BELONGING = "|".join(
    [
        rf"{_FLAG_OF_BRITAIN}(?:{_ENGLAND}|{_SCOTLAND}|{_WALES})\U000e007f",
        rf"{_TONED_PICTURE}(?:\u200d{_TONED_PICTURE})*",
        r"[0-9#*]\ufe0f\u20e3",
        r"[\u1820-\u18aa][\u180b-\u180d\u180f]\u200d?",
        r"[\u1820-\u18aa]\u180e(?=[\u1820-\u18aa])",
        rf"{_SPACELESS}\u200b(?={_SPACELESS})",
        rf"{_JOINING}[\u200c\u200d]",
        r"[\u2801-\u28ff]\u2800+",
        r"[\U00013000-\U0001342f][\U00013430-\U0001343f]+(?=[\U00013000-\U0001342f])",
    ]
)


def spelled(text: str, *, keep: str = "", spell: Callable[[str], str] | None = None) -> str:
    r"""``text`` with every hidden character spelled ``\x1b``, ``\u200b`` or ``\U000e0041``.

    The characters in ``keep`` stay. ``spell`` makes another spelling of one character.
    """
    if text.isascii() and text.isprintable():
        return text
    pattern = r"([\x00-\x1f\x7f])"
    if not text.isascii():
        # Most texts hold none, and the whole pattern costs time.
        if not re.search(f"[{HIDDEN}]", text):
            return text
        pattern = f"(?:{BELONGING})|([{HIDDEN}])"
    write = spell or escaped

    def seen(match: re.Match[str]) -> str:
        character = match[1]
        return match[0] if character is None or character in keep else write(character)

    return re.sub(pattern, seen, text)


def hides(text: str) -> str | None:
    """The first hidden character of ``text``, spelled out; ``None`` if there is none."""
    found: list[str] = []

    def note(character: str) -> str:
        found.append(escaped(character))
        return ""

    spelled(text, spell=note)
    return found[0] if found else None


def escaped(character: str) -> str:
    r"""One character as ``\x1b``, ``\u200b`` or ``\U000e0041``."""
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
