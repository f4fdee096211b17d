"""What is typed of a cluster is what tmux shows of it, at any width."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from cafleet.agents.own_text import compact, holds_only
from cafleet.courier.payloads import flattened
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Look
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

TONES = ["", "🏻", "🏼", "🏽", "🏾", "🏿"]
ZWJ = "\u200d"
HEART = "❤️"
# The forms of Unicode's emoji-zwj-sequences.txt, and the others of emoji-sequences.txt.
EMOJI = [
    *(ZWJ.join(people) for people in product("👨👩", "👨👩", "👧👦", "👧👦")),
    *(ZWJ.join(people) for people in product("👨👩", "👧👦", "👧👦")),
    *(f"{a}{x}{ZWJ}🤝{ZWJ}{b}{y}" for a, x, b, y in product("🧑👩", TONES, "🧑👨", TONES)),
    *(f"👩{x}{ZWJ}{HEART}{ZWJ}👨{y}" for x, y in product(TONES, TONES)),
    *(f"👩{x}{ZWJ}{HEART}{ZWJ}💋{ZWJ}👨{y}" for x, y in product(TONES, TONES)),
    *(f"🧑{x}{ZWJ}{job}" for x, job in product(TONES, ["🚀", "⚕️", "🦽", "🎄", "🦽‍➡️"])),
    *(f"🏃{x}{ZWJ}{sign}️{ZWJ}➡️" for x, sign in product(TONES, "♀♂")),
    *("🏳️‍🌈", "🏳️‍⚧️", "🏴‍☠️", "👁️‍🗨️", "❤️‍🔥", "🐻‍❄️", "🐦‍⬛", "🍋‍🟩", "🙂‍↔️", "⛓️‍💥"),
    *(f"{key}{variant}\u20e3" for key, variant in product("0123456789#*", ["", "\ufe0f"])),
    *(f"🏴{''.join(chr(0xE0000 + ord(c)) for c in tag)}\U000e007f" for tag in ("gbeng", "ustx")),
    *("🇯🇵🇫🇷🇯", "🇯", "☺︎☺️", "©️", "👍🏿", "🫩", "🫨"),
]
# One of each class of Unicode's GraphemeBreakTest.txt, which tries all pairs, with U+0308 and without.
CLASSES = [*" a\u0300\u200d\u0903\u0600\u0904\u0d4e\u1100\u1160\u11a8\uac00\uac01🇦⌚❤"]
CLASSES += ["\u034f", "\u0378", "\u094d", "\u0915", "\u0e33", "\u0f71"]
PAIRS = [f"{a}{mark}{b}" for a, mark, b in product(CLASSES, ["", "\u0308"], CLASSES)]
LONG = [
    *(base + mark * 40 for base, mark in product("aक日🎉", "\u0301\u0489\u20dd\u094d")),
    *("क्‍" * count for count in range(1, 12)),
    *("\u1112\u1161" + "\u11ab" * count for count in range(12)),
    *("\u115f\u1161\u11ab", "\ua960\ud7b0\ud7cb", "རྒྱྀ༹ྂྃ", "ﷺ﷽", "กำ้ก็", "ශ්‍රී", "ന്‍"),
]


def shown(server: TmuxServer, pane: str, text: str, end: str) -> str:
    """What the pane draws of lines of text, wrapped by tmux; ``end`` tells that it has."""
    server.paste(pane, f"\x1b[H\x1b[2J{text}{end}")
    wait_for(lambda: end in server.screen(pane).replace("\n", ""), "all is drawn")
    return server.screen(pane).replace("\n", "").partition(end)[0]


@pytest.mark.parametrize("columns", [200, 61])
@pytest.mark.parametrize("texts", [EMOJI, PAIRS, LONG], ids=["emoji", "pairs", "long"])
def test_every_cluster_is_known_again(
    tmux_server: TmuxServer, texts: Sequence[str], columns: int
) -> None:
    pane = tmux_server.session(
        f"clusters-{columns}", ["sh", "-c", "stty raw -echo; exec cat"], columns=columns, rows=60
    )
    for at in range(0, len(texts), 40):
        batch = [flattened(f"{text}|", 9_999) for text in texts[at : at + 40]]
        typed = "".join(batch)
        seen = shown(tmux_server, pane, typed, f"#end{at}#")
        look = Look(state=ScreenState.DRAFT, cue="", composer=seen)
        if not holds_only(look, typed, CodingAgent.CLAUDE, folded=False):
            parts = zip(batch, seen.split("|"), strict=False)
            lost = [(a, b) for a, b in parts if compact(a) != compact(f"{b}|")]
            pytest.fail(f"not known again: {lost[:5]!a}")
