"""No text is shown with characters that nobody sees, and none that a script needs is spelled out."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet import invisible
from cafleet.invisible import BELONGING, HIDDEN, hides, spelled
from cafleet.present.visible import visible, visible_body
from tests.harness.odd_texts import HIDDEN_KINDS, REAL_TEXTS

PAGE = Path(invisible.__file__).parent / "web" / "page" / "hidden.js"

anything = st.text(st.characters(exclude_categories=()))
suspicious = st.text(
    st.one_of(
        st.sampled_from("".join(HIDDEN_KINDS.values())), st.sampled_from("a1👩🏽❤क\u094dسកᠠ🏴")
    )
)


@pytest.mark.parametrize("kind", HIDDEN_KINDS)
def test_each_hidden_character_is_spelled(kind: str) -> None:
    for character in HIDDEN_KINDS[kind]:
        shown = spelled(f"a{character}b")
        code = ord(character)
        assert re.fullmatch(rf"a\\[xuU]0*{code:02x}b", shown), hex(code)
        assert hides(f"a{character}b") == shown[1:-1]
        assert spelled(character * 3) == shown[1:-1] * 3


@pytest.mark.parametrize("kind", REAL_TEXTS)
def test_joined_emoji_and_real_scripts_are_left_alone(kind: str) -> None:
    text = REAL_TEXTS[kind]
    assert spelled(text) == text
    assert hides(text) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("👩\u200d", r"👩\u200d"),
        ("\u200d👩", r"\u200d👩"),
        ("👩\u200d\u200d👩", r"👩\u200d\u200d👩"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f\\ufe0f"),
        ("1\ufe0f", r"1\ufe0f"),
        ("س\u200c\u200cا", "س\u200c\\u200cا"),
        ("🏴\U000e0075\U000e0073\U000e007f", r"🏴\U000e0075\U000e0073\U000e007f"),
        ("葛\U000e0100", r"葛\U000e0100"),
        ("\u2800\u2800", r"\u2800\u2800"),
        ("Tab\tand\nline", r"Tab\x09and\x0aline"),
    ],
)
def test_what_no_script_needs_is_spelled(text: str, shown: str) -> None:
    assert spelled(text) == shown


def is_hidden(character: str) -> bool:
    return re.fullmatch(f"[{HIDDEN}]", character) is not None


@pytest.mark.parametrize(
    "piece", ["\u2800", "👩\u200d", "\u200d", "क\u200d", "ក\u200b", "\U000e0041", "\n", "1\ufe0f"]
)
def test_a_long_text_takes_no_longer_than_its_length(piece: str) -> None:
    """A pattern that goes back over what it has read would take hours for this one."""
    spelled(piece * 100_000 + "x")


def test_every_format_character_is_hidden_or_drawn() -> None:
    for code in range(0x110000):
        character = chr(code)
        category = unicodedata.category(character)
        if category in {"Cc", "Cs", "Zl", "Zp"} or (category == "Cf" and code not in ENCLOSING):
            assert is_hidden(character), hex(code)
        elif category[0] in "LNPSZ" and code not in BLANK:
            assert not is_hidden(character), hex(code)


ENCLOSING = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
BLANK = {0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0, 0x1D159, 0x2028, 0x2029}


@given(st.one_of(anything, suspicious))
def test_no_shown_text_hides_anything(text: str) -> None:
    shown = visible(text)
    assert hides(shown) is None
    assert visible(shown) == shown
    assert hides(visible_body(text).translate({9: None, 10: None})) is None
    rest = re.sub(BELONGING, "", shown)
    assert not any(map(is_hidden, rest))


def test_the_page_has_the_same_rule() -> None:
    script = PAGE.read_text()
    for name, pattern in (("HIDDEN", HIDDEN), ("BELONGING", BELONGING)):
        declared = re.search(rf"^const {name} =\n(.*?);\n\n", script, re.DOTALL | re.MULTILINE)
        assert declared is not None
        written = "".join(re.findall(r"String\.raw`(.*)`", declared[1]))
        wanted = re.sub(r"\\U0*([0-9a-f]{5,6})", r"\\u{\1}", pattern)
        assert written == wanted, name
