"""Characters that nobody sees, and texts that need some of them."""

from __future__ import annotations

# Each is hidden between two letters; the ends of ranges and some in between.
HIDDEN_KINDS = {
    "controls": "\x00\x08\x1b\x1f\x7f\x80\x85\x9b\x9f",
    "bidirectional": "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    "separators": "\u2028\u2029",
    "zero width": "\u200b\u200c\u200d\u2060\ufeff\u034f\xad\u180e",
    "deprecated": "\u206a\u206f\u17b4\u17b5\U000e0001",
    "mathematics": "\u2061\u2062\u2063\u2064\u2065",
    "variation": "\ufe00\ufe0e\ufe0f\u180b\u180f\U000e0100\U000e01ef",
    "tags": "\U000e0020\U000e0041\U000e007e\U000e007f\U000e0fff",
    "fillers": "\u115f\u1160\u3164\uffa0\u2800",
    "annotation": "\ufff9\ufffa\ufffb\ufff0",
    "music and shorthand": "\U0001d159\U0001d173\U0001d17a\U0001bca0\U0001bca3\U00013430",
    "surrogates and noncharacters": "\ud800\udfff\ufdd0\ufffe\uffff\U0001ffff\U0010fffe",
}
REAL_TEXTS = {
    "family": "👨‍👩‍👧‍👦 👩‍👩‍👧",
    "tones": "👩🏽‍💻 🧑🏽‍🤝‍🧑🏿 👍🏿",
    "variation": "❤️ ☺︎ ©️ 🏳️‍🌈 👁️‍🗨️ ⛹🏽‍♀️ ❤️‍🔥",
    "keycaps": "1️⃣ #️⃣ *⃣",
    "flags": "🇯🇵🇫🇷 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴󠁧󠁢󠁷󠁬󠁳󠁿 🏴‍☠️",
    "Persian": "می‌خواهم کتاب‌ها",
    "Arabic": "ه‍ ﷽ \u0600١٢",
    "Hindi": "क्‍ष क्‌ष",
    "Sinhala": "ශ්‍රී ලංකා",
    "Malayalam": "ന്‍ അവന്‍",
    "Bengali": "র‍্যা",
    "Khmer": "ភាសា\u200bខ្មែរ",
    "Mongolian": "ᠠ\u180b ᠭ\u180e\u1820",
    "Hebrew": "שָׁלוֹם",
    "Thai": "ภาษาไทย",
    "Korean": "한국어 \u1112\u1161\u11ab",
    "Braille": "⠓⠑⠇⠇⠕\u2800⠺⠕⠗⠇⠙",
    "Japanese": "日本語　が",
    "accents": "é e\u0301 ṩ Ṽ",
}
