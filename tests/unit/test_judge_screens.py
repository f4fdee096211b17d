"""Screens made by hand: minimal composers, quotes in transcripts, placeholders, drafts, sizes."""

from __future__ import annotations

import tempfile
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.agents.cues import Cues, cues_for
from cafleet.agents.judge import judge
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Look, Picture


def shipped() -> dict[CodingAgent, Cues]:
    """The cues without those of the user who runs the tests."""
    cues_for.cache_clear()
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as home:
        patch.setenv("HOME", home)
        cues = {name: cues_for(name) for name in CodingAgent}
    cues_for.cache_clear()
    return cues


CUES = shipped()
RULE = "─" * 80
DIM, PLAIN, REVERSE = "\x1b[2m", "\x1b[0m", "\x1b[7m"
NBSP = "\N{NO-BREAK SPACE}"
CURSOR = "\N{FULL BLOCK}"
BAR = "  ┃"
CLOSE = "  ╹" + "▀" * 70
QUOTES = [
    "  ❯ 1. Yes",
    "  › 2. No",
    "  Permission required",
    "  Overwrite? [y/n]",
    "  esc to interrupt",
    "  press esc again to interrupt",
    "  Esc to cancel · Enter to confirm",
    f"  {RULE[:60]}",
    "  ❯ a quoted draft",
    f"  {RULE[:60]}",
    "  › another",
    "  ┃  third",
    "  ╹▀▀▀▀▀▀▀▀",
]


def look(agent: str, *lines: str, **changes: Any) -> Look:
    """Judge the lines; the cursor stands where ``CURSOR`` is, or behind the last line."""
    at = next((y for y, line in enumerate(lines) if CURSOR in line), len(lines) - 1)
    before = lines[at].partition(CURSOR)[0]
    for sequence in (DIM, PLAIN, REVERSE):
        before = before.replace(sequence, "")
    given = {
        "screen": "\n".join(lines).replace(CURSOR, ""),
        "columns": 80,
        "rows": 40,
        "cursor_x": len(before),
        "cursor_y": at,
        "command": agent,
        "tag": "",
        "session": "$0",
        "window": "@0",
    }
    return judge(Picture(**(given | changes)), CodingAgent(agent), cues=CUES[CodingAgent(agent)])


def composer(agent: str, *text: str, footer: bool = True) -> list[str]:
    """A composer as the agent draws it, its rows of text given, a status below."""
    first, *more = text or (CURSOR,)
    match agent:
        case "claude":
            rows = [f"❯{NBSP}{first}", *[f"  {line}" for line in more]]
            return [RULE, *rows, RULE, "  ? for shortcuts"]
        case "codex":
            rows = [f"\x1b[1m›{PLAIN} {first}", *[f"  {line}" for line in more]]
            return ["", *rows, "", "  gpt-5 default · /home/u"]
        case _:
            rows = [f"{BAR}  {line}" for line in (first, *more)]
            line = [BAR, f"{BAR}  Build · m1"] if footer else []
            return [BAR, *rows, *line, CLOSE, "   /home/u        ctrl+p commands"]


AGENTS = ["claude", "codex", "opencode"]
# What each agent writes at the end of a turn.
FINISHED = {
    "claude": "✻ Cooked for 1m 2s",
    "codex": f"{DIM}  Worked for 1m 02s • 14:41{PLAIN}",
    "opencode": "     ▣  Build · m1 · 2.3s",
}


@pytest.mark.parametrize("agent", AGENTS)
def test_quotes_in_the_transcript_count_for_nothing(agent: str) -> None:
    for text, state in [(CURSOR, "rest"), (f"draft{CURSOR}", "draft")]:
        seen = look(agent, *QUOTES, "", FINISHED[agent], "", *composer(agent, text))
        assert seen.state == state, seen.cue
        assert "Permission required" in seen.transcript
        assert "Overwrite? [y/n]" in seen.transcript


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "text",
    [
        [f"one{CURSOR}"],
        [f"{CURSOR}one"],
        [f"{CURSOR}o"],
        [f"o{CURSOR}n"],
        ["one", f"two{CURSOR}"],
        ["one", "", f"three{CURSOR}"],
        [f"{CURSOR}", "", "three"],
        [f"{CURSOR}one", "", "three"],
        ["one", f"{CURSOR}", "three"],
        [f"界面{CURSOR}"],
        [f"e\N{COMBINING ACUTE ACCENT}{CURSOR}"],
        [f"[y/n]{CURSOR}"],
        [f"Permission required esc to interrupt{CURSOR}"],
        [f"[Pasted text #1 +5 lines]{CURSOR}"],
        [f"{DIM}[Pasted text #1 +5 lines]{PLAIN}{CURSOR}"],
        [f"[Pasted ~2 lines]{CURSOR}"],
        [f"[Pasted Content 1234 chars]{CURSOR}"],
        [f"[cafleet msg 3 to 3 (b) from 2 (a) 2026-01-01T00:00:00.000000+00:00]{CURSOR}"],
    ],
)
def test_draft(agent: str, text: list[str]) -> None:
    seen = look(agent, *composer(agent, *text))
    plain = "\n".join(text)
    for gone in (CURSOR, DIM, PLAIN):
        plain = plain.replace(gone, "")
    assert seen.state == ScreenState.DRAFT, seen.cue
    assert seen.composer.split() == plain.split()


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "text",
    [
        CURSOR,
        f"{CURSOR}{DIM}Ask anything{PLAIN}",
        f"{CURSOR}{REVERSE}A{PLAIN}{DIM}sk anything{PLAIN}",
        f"{CURSOR}{REVERSE} {PLAIN}",
        f"{NBSP}{CURSOR}",
    ],
)
def test_rest(agent: str, text: str) -> None:
    seen = look(agent, "● quoted", "", FINISHED[agent], "", *composer(agent, text))
    assert (seen.state, seen.composer) == (ScreenState.REST, ""), seen.cue


@pytest.mark.parametrize(
    ("agent", "lines"),
    [
        ("claude", [f"❯ {CURSOR}"]),
        ("claude", [f"❯{NBSP}{CURSOR}"]),
        ("claude", [f"❯{CURSOR}"]),
        ("claude", ["hello", "", f"❯ {CURSOR}", "  ? for shortcuts"]),
        ("claude", [RULE, "❯ ", RULE, f"{CURSOR}"]),
        ("claude", [RULE, f"❯ {CURSOR}", RULE]),
        ("codex", [f"› {CURSOR}"]),
        ("codex", ["hello", "", f"› {CURSOR}", "  ? for shortcuts"]),
        ("codex", [f"› {CURSOR}", "", "  ? for shortcuts"]),
        ("opencode", [f"┃ {CURSOR}"]),
        ("opencode", [f"  ┃  {CURSOR}", "  ╹▀▀▀▀"]),
        ("opencode", ["┃", f"┃  {CURSOR}", "┃", "╹▀▀▀▀"]),
        ("opencode", ["┃", "┃", "┃  Build · m1", "╹▀▀▀▀", f"{CURSOR}"]),
    ],
)
def test_less_than_the_agent_always_draws_is_no_rest(agent: str, lines: list[str]) -> None:
    """A prompt of a shell, of ssh or of any program may have the same glyph."""
    seen = look(agent, *lines)
    assert seen.state == ScreenState.UNKNOWN, seen.cue


@pytest.mark.parametrize(
    ("agent", "lines"),
    [
        ("claude", ["", "❯ ", "", f"$ {CURSOR}"]),
        ("claude", ["❯ ", "  output", f"{CURSOR}"]),
        ("claude", [RULE, "❯ ", RULE, *["  more"] * 9, f"{CURSOR}"]),
        ("claude", [f"{CURSOR}  a dialog", "", RULE, "❯ ", RULE, "  status"]),
        ("codex", [f"{CURSOR}a pager", "", "› ", "", "  status"]),
        ("opencode", [f"{CURSOR}a dialog", *composer("opencode", "")]),
        ("opencode", ["  ┃  hello there", "", f"{CURSOR}"]),
        ("claude", [f"{CURSOR}"]),
        ("codex", [f"{CURSOR}"]),
        ("opencode", [f"{CURSOR}"]),
        ("claude", [f"> {CURSOR}"]),
        ("codex", [f"❯ {CURSOR}"]),
    ],
)
def test_no_composer_in_use(agent: str, lines: list[str]) -> None:
    seen = look(agent, *lines)
    assert seen.state == ScreenState.UNKNOWN, seen.cue


@pytest.mark.parametrize(
    ("agent", "lines"),
    [
        ("claude", ["● Bash(x)", RULE, " Proceed?", f" {CURSOR}❯ 2. No", "   3. Maybe"]),
        ("claude", ["Which one?", "", f"{CURSOR}❯ 1. A", "  2. B", RULE, "  3. Other"]),
        ("claude", [*composer("claude", "")[:3], " Trust it?", f" {CURSOR}❯ 1. Yes"]),
        ("claude", [f"Overwrite? [y/n] {CURSOR}"]),
        ("claude", [f"Overwrite? [Y/n] {CURSOR}"]),
        ("codex", ["  Would you?", "", f"› 1. Yes{CURSOR}", "  2. No"]),
        ("codex", ["  Would you?", "", "  1. Yes", f"› 2. No{CURSOR}"]),
        ("codex", [*composer("codex", "")[:2], "", f"› 1. Yes{CURSOR}", "  2. No"]),
        ("codex", [*composer("codex", "")[:2], "", f"› 1. m1 low · fast{CURSOR}"]),
        ("codex", ["  Continue", "", f"  Press enter to continue{CURSOR}"]),
        ("opencode", [BAR, f"{BAR}  △ Permission required", BAR, f"{BAR}  Allow once{CURSOR}"]),
        ("opencode", [*composer("opencode", "")[:2], "", f"{BAR}  Permission required{CURSOR}"]),
        ("opencode", ["Permission required", "", f"Allow once   Reject{CURSOR}"]),
    ],
)
def test_awaiting(agent: str, lines: list[str]) -> None:
    seen = look(agent, *lines)
    assert seen.state == ScreenState.AWAITING, seen.cue


@pytest.mark.parametrize(
    ("agent", "lines"),
    [
        ("claude", [*composer("claude")[:-1], "  esc to interrupt · ← for agents"]),
        ("claude", [*composer("claude")[:-1], "  Esc   to", "interrupt"]),
        ("claude", ["● Done.", "", "✶ Actualizing…", "", *composer("claude")]),
        ("claude", ["✻ Baking (12s · esc to interrupt)", "  ⎿  Tip: x", "", *composer("claude")]),
        ("codex", ["• Working (2s • esc to interrupt)", *composer("codex")]),
        (
            "codex",
            [
                f"• {DIM}Working{PLAIN} {DIM}(2s • {PLAIN}esc{DIM} to interrupt){PLAIN}",
                *composer("codex"),
            ],
        ),
        ("opencode", [*composer("opencode")[:-1], "  ⬝⬝⬝  esc interrupt"]),
        ("opencode", [*composer("opencode")[:-1], "  ⬝⬝⬝  esc again to interrupt"]),
    ],
)
def test_working_with_an_empty_composer(agent: str, lines: list[str]) -> None:
    seen = look(agent, *lines)
    assert (seen.state, seen.composer) == (ScreenState.WORKING, ""), seen.cue


@pytest.mark.parametrize(
    ("agent", "lines"),
    [
        ("claude", ["● Press (esc to interrupt) now…", "", *composer("claude")]),
        ("claude", ["✻ Cogitated for 12s", "", *composer("claude")]),
        ("codex", ["• It says (2s • esc to interrupt) now", *composer("codex")]),
        ("codex", ["• Working (2s • esc to interrupt)", *composer("codex")]),
        ("opencode", ["     esc interrupt", "", *composer("opencode")]),
    ],
)
def test_an_answer_that_speaks_of_working(agent: str, lines: list[str]) -> None:
    at = lines.index("")
    seen = look(agent, *lines[:at], "", FINISHED[agent], *lines[at:])
    assert seen.state == ScreenState.REST, seen.cue


@pytest.mark.parametrize("quoted", ["Worked for 3s • 14:02", "Limits: 5 per minute"])
@pytest.mark.parametrize("status", ["• Working (16s • esc to interrupt)", ""])
def test_a_queued_message_of_codex_that_quotes_the_end_of_a_turn(status: str, quoted: str) -> None:
    queued = ["• Queued follow-up inputs", "  ↳ please note", f"    {quoted}", ""]
    seen = look("codex", "› do it", "", status, "", *queued, *composer("codex"))
    assert seen.state != ScreenState.REST
    assert not status or seen.state == ScreenState.WORKING, seen.cue


def test_a_queued_message_of_claude_that_quotes_the_end_of_a_turn() -> None:
    queued = ["✻ Baking… (12s)", "", "  ❯ quoted:", "    ✻ Worked for 3s"]
    seen = look("claude", "❯ do it", "", *queued, *composer("claude"))
    assert seen.state == ScreenState.WORKING, seen.cue


@pytest.mark.parametrize(
    "line",
    [
        f"{DIM}• {PLAIN}Copy the two files into build/ and run make:",
        f"{DIM}• {PLAIN}Copy that",
        f"{DIM}• {PLAIN}Model changed to a smaller one in the config",
        f"{DIM}• {PLAIN}Reasoning shortcuts are dangerous here",
        "  Limits: 5 per minute",
        "  Weekly limit: 3",
        "  Worked for 3s • 14:02",
        "  ■ the first item",
        "  ■ Conversation interrupted - it said",
        "  >_ OpenAI Codex (v0.171.0) was seen",
        "■ '/model' is disabled while a task is in progress.",
        "■ Compacting",
    ],
)
def test_an_answer_that_codex_streams_is_not_over_whatever_it_says(line: str) -> None:
    """Codex draws no status line meanwhile."""
    seen = look("codex", "› do it", "", f"{DIM}• {PLAIN}Well.", "", line, "", *composer("codex"))
    assert seen.state == ScreenState.UNKNOWN or "blanks" in seen.cue


@pytest.mark.parametrize(
    "title", ["Ask [y/n]", "press enter to continue", "Explain Permission required"]
)
def test_a_title_of_a_session_is_no_question(title: str) -> None:
    lines = [*composer("codex")[:-1], f"  gpt-5 default · /home/u · {title}"]
    seen = look("codex", FINISHED["codex"], "", *lines)
    assert seen.state == ScreenState.REST, seen.cue


@pytest.mark.parametrize("folder", ["/home/u/interrupts", "~/esc interrupt"])
def test_a_folder_is_no_work(folder: str) -> None:
    lines = [*composer("opencode")[:-1], f"   {folder}        ctrl+p commands"]
    seen = look("opencode", FINISHED["opencode"], "", *lines)
    assert seen.state == ScreenState.REST, seen.cue


LONG = "/tmp/pytest-of-root/pytest-of-somebody-31/a-folder-with-a-very-long-name-of-its-own/work"


def wrapped_status(width: int, keys: list[str], folder: str = LONG) -> list[str]:
    """The folder and the keys as opencode draws them where the row has no room for both."""
    left = [folder[at : at + width] for at in range(0, len(folder), width)]
    rows = max(len(left), len(keys))
    left += [""] * (rows - len(left))
    right = keys + [""] * (rows - len(keys))
    return [f"   {a:{width}} {b}".rstrip() for a, b in zip(left, right, strict=True)]


@pytest.mark.parametrize("width", range(36, 50, 3))
@pytest.mark.parametrize(
    "keys",
    [
        ["ctrl+p", "commands"],
        ["ctrl+p commands"],
        ["10 ctrl+p", "   commands"],
        ["10.1K (3%)  ctrl+p", "            commands"],
    ],
)
def test_a_folder_of_opencode_that_wraps_is_known(width: int, keys: list[str]) -> None:
    lines = [*composer("opencode")[:-1], *wrapped_status(width, keys)]
    seen = look("opencode", FINISHED["opencode"], "", *lines)
    assert seen.state == ScreenState.REST, seen.cue


@pytest.mark.parametrize("width", range(36, 70, 3))
@pytest.mark.parametrize(
    "keys", [["esc", "interrupt"], ["ctrl+p", "commands", "retrying in 5s"], ["ctrl+p", "newwords"]]
)
def test_what_stands_beside_a_folder_that_wraps_has_to_be_known(
    width: int, keys: list[str]
) -> None:
    lines = [*composer("opencode")[:-1], *wrapped_status(width, keys)]
    seen = look("opencode", FINISHED["opencode"], "", *lines)
    assert seen.state != ScreenState.REST, seen.cue


@pytest.mark.parametrize("rest", ["test_a_small_terminal_opencode0/work", ""])
def test_a_folder_that_opencode_wraps_behind_a_slash_is_known(rest: str) -> None:
    status = [
        f"   {'/tmp/pytest-of-root/pytest-71/':55}10 ctrl+p",
        f"   {rest:55}   commands",
    ]
    lines = [*composer("opencode")[:-1], *status]
    seen = look("opencode", FINISHED["opencode"], "", *lines)
    assert seen.state == ScreenState.REST, seen.cue


@pytest.mark.parametrize("right", ["ctrl+p", "ctrl+p commands"])
@pytest.mark.parametrize("below", ["esc", "working…", "retrying", "busy"])
def test_a_word_below_a_folder_that_had_room_is_no_part_of_it(right: str, below: str) -> None:
    keys = "commands" if right == "ctrl+p" else ""
    status = [f"   {'/home/u/ws1':30}{right}", f"   {below:30}{keys}".rstrip()]
    lines = [*composer("opencode")[:-1], *status]
    seen = look("opencode", FINISHED["opencode"], "", *lines)
    assert seen.state != ScreenState.REST, seen.cue


@pytest.mark.parametrize(
    "below", ["   esc interrupt", "   ⬝⬝⬝■■■", "   something new", "   [retrying in 5s]"]
)
def test_a_line_below_a_folder_is_no_part_of_it_if_it_says_more(below: str) -> None:
    status = ["   /home/u/ws1                   ctrl+p commands", below]
    lines = [*composer("opencode")[:-1], *status]
    seen = look("opencode", FINISHED["opencode"], "", *lines)
    assert seen.state != ScreenState.REST, seen.cue


def test_keys_that_opencode_shows_at_work_too_are_no_rest() -> None:
    lines = [*composer("opencode")[:-1], "   tab agents  ctrl+p commands"]
    seen = look("opencode", f"{BAR}  do it", "", "     Well.", "", *lines)
    assert seen.state == ScreenState.UNKNOWN, seen.cue


TITLE = "Write a script that asks [y/n] twice, then says what was found where and why that matters"


@pytest.mark.parametrize("columns", range(60, 132, 3))
@pytest.mark.parametrize("above", ["", "• Working (2m 03s • esc to interrupt)"])
def test_a_title_of_codex_that_wraps_is_no_line_of_its_own(columns: int, above: str) -> None:
    status = textwrap.wrap(
        f"gpt-5 default · /home/u/work · {TITLE}",
        columns - 2,
        initial_indent="  ",
        subsequent_indent="  ",
    )
    frame = composer("codex")[:-1]
    hint = "  ← for agents · ? for shortcuts"
    end = [above] if above else [FINISHED["codex"]]
    seen = look("codex", "› do it", "", *end, "", *frame, *status, hint, columns=columns)
    assert seen.state == ("working" if above else "rest"), seen.cue


STATUS_LINES = [
    "● Computing… (34s)",
    "⏺ Thinking… (2m 03s · ↓ 1.2k tokens)",
    "⠋ Thinking",
    "◐ Thinking",
]


@pytest.mark.parametrize(
    "footer", ["? for shortcuts", "-- INSERT --", "⏵⏵ bypass permissions on (shift+tab to cycle)"]
)
@pytest.mark.parametrize("line", [*STATUS_LINES, "考えています…", "❯ a text that was just sent"])
def test_a_footer_known_at_rest_makes_no_unknown_line_rest(line: str, footer: str) -> None:
    seen = look("claude", "❯ do it", "", line, "", *composer("claude")[:-1], f"  {footer}")
    assert seen.state in {"working", "unknown"}, seen.cue


@pytest.mark.parametrize(
    "footer",
    [
        "Context left until auto-compact: 7%",
        "✗ Auto-update failed · Try claude doctor",
        "You've used 91% of your weekly limit · resets Dec 4, 1:39am (UTC)",
        "2 MCP servers need auth · /mcp",
        "Thinking off (tab to toggle)",
        "⧉ In main.py",
        "PR #12",
        "1 bash · 2 background tasks · ↓ to manage",
    ],
)
def test_what_claude_says_beside_a_conversation_is_known_at_rest(footer: str) -> None:
    status = f"  ? for shortcuts · {footer}"
    seen = look("claude", "● done", "", FINISHED["claude"], "", *composer("claude")[:-1], status)
    assert seen.state == "rest", seen.cue


@pytest.mark.parametrize(
    ("line", "status", "state"),
    [
        ("     ▣  Build · m1 · 2.3s", "   ctrl+p commands", "rest"),
        ("     ▣  Build · m1 · 4m 2s", "   ctrl+p commands", "rest"),
        ("     ▣  Build · m1", "   ctrl+p commands", "unknown"),
        ("     ▣  Build · m1", "   /home/u        ctrl+p commands", "rest"),
    ],
)
def test_an_answer_of_opencode_without_a_duration_may_go_on(
    line: str, status: str, state: str
) -> None:
    seen = look("opencode", "     answer", "", line, "", *composer("opencode")[:-1], status)
    assert seen.state == state, seen.cue


@pytest.mark.parametrize(
    "head", ["• Queued follow-up inputs", "• Messages to be submitted at end of turn"]
)
def test_a_queue_of_codex_is_work(head: str) -> None:
    seen = look("codex", "› do it", "", head, "  ↳ and this", *composer("codex"))
    assert seen.state == "working", seen.cue


def test_the_order_of_what_is_outside_the_screen() -> None:
    rest = composer("claude")
    for changes, state in [
        ({"dead": True, "in_mode": True, "command": "bash"}, "gone"),
        ({"in_mode": True, "command": "bash"}, "blocked"),
        ({"input_off": True, "command": "bash"}, "blocked"),
        ({"command": "bash", "columns": 20}, "shell"),
        ({"command": "-zsh"}, "shell"),
        ({"command": "/bin/sh"}, "shell"),
        ({"columns": 59}, "unknown"),
        ({"rows": 11}, "unknown"),
        ({"columns": 60, "rows": 12}, "rest"),
        ({"command": "node"}, "rest"),
        ({"command": ""}, "rest"),
    ]:
        assert look("claude", *rest, **changes).state == state, changes


def test_a_selected_draft_beside_a_hint() -> None:
    seen = look("claude", *composer("claude", f"{REVERSE}all{PLAIN} {DIM}hint{PLAIN}{CURSOR}"))
    assert (seen.state, seen.composer) == (ScreenState.DRAFT, "all")


@pytest.mark.parametrize(
    ("agent", "lines"),
    [
        ("claude", ["  line 8", "", f"  line 9{CURSOR}", RULE, "  status"]),
        ("claude", [f"❯{NBSP}{CURSOR}line 1", "", "  line 3", RULE, "  status"]),
        ("codex", [f"› {CURSOR}", "", f"  line 2 {DIM}↓{PLAIN}"]),
        ("codex", [f"› {CURSOR}", "", f"                {DIM}↓{PLAIN}"]),
    ],
)
def test_a_draft_taller_than_the_pane(agent: str, lines: list[str]) -> None:
    assert look(agent, *lines).state == ScreenState.DRAFT


def test_a_dialog_taller_than_the_pane() -> None:
    lines = [f"{CURSOR}    2. Opus", "  Enter to set · Esc to cancel", RULE]
    assert look("claude", *lines).state == ScreenState.AWAITING


def test_a_placeholder_in_the_colour_of_the_separator() -> None:
    def box(ink: str) -> Look:
        text = f"{BAR}  \x1b[38;5;{ink}mAsk anything{PLAIN}"
        footer = f"{BAR}  Build \x1b[38;5;245m·\x1b[38;5;232m m1{PLAIN}"
        lines = [BAR, text, BAR, footer, CLOSE, "   /home/u"]
        return look("opencode", *lines, cursor_x=5, cursor_y=1)

    assert box("245").state == ScreenState.REST
    assert (box("232").state, box("232").composer) == (ScreenState.DRAFT, "Ask anything")


def test_a_theme_without_a_colour_of_its_own_for_placeholders() -> None:
    text = f"{BAR}  \x1b[38;5;245mAsk anything{PLAIN}"
    footer = f"{BAR}  Build \x1b[38;5;245m· m1{PLAIN}"
    seen = look("opencode", BAR, text, BAR, footer, CLOSE, cursor_x=5, cursor_y=1)
    assert seen.state == ScreenState.DRAFT


def test_a_sidebar_belongs_to_nothing() -> None:
    lines = ["  ┃  hello   a", "", *composer("opencode")]
    aside = [f"{line.ljust(80)}  sidebar {at}" for at, line in enumerate(lines)]
    at = next(y for y, line in enumerate(lines) if CURSOR in line)
    seen = look("opencode", *[line.replace(CURSOR, "") for line in aside], cursor_y=at, cursor_x=5)
    assert (seen.state, seen.composer) == (ScreenState.REST, ""), seen.cue
    assert "sidebar" not in seen.transcript
    assert "hello" in seen.transcript


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PARTS = st.sampled_from(
    [
        *(
            "❯ ",
            "› ",
            "┃",
            "╹▀▀",
            RULE,
            "1. ",
            "[y/n]",
            "esc to interrupt",
            "\n",
            "\n\n",
            " ",
            "…",
            "(",
        ),
        *(
            "\x1b[2m",
            "\x1b[7m",
            "\x1b[0m",
            "\x1b[38;5;246m",
            "\x1b[38;2;1m",
            "\x1b[38",
            "\x1b]8;;",
            "●",
        ),
        *(
            "• ",
            "✻ ",
            "\x1b[;:99999m",
            "界",
            "\u0301",
            "\u200b",
            "\N{NO-BREAK SPACE}",
            CURSOR,
            "\r",
            "\t",
        ),
    ]
)
SCREENS = st.lists(PARTS | TEXT, max_size=40).map("".join)
NUMBERS = st.integers(-2, 200)


@given(agent=st.sampled_from(AGENTS), screen=SCREENS, x=NUMBERS, y=NUMBERS)
def test_any_screen_is_judged(agent: str, screen: str, x: int, y: int) -> None:
    look(agent, screen, cursor_x=x, cursor_y=y)


WORDS = st.text(
    st.characters(categories=["L", "N", "P", "S"], exclude_characters=CURSOR), min_size=1
)


@given(
    agent=st.sampled_from(AGENTS),
    words=st.lists(WORDS, min_size=1, max_size=4),
    above=st.lists(st.sampled_from(QUOTES), max_size=12),
    where=st.integers(0, 3),
)
def test_text_in_a_composer_is_never_rest(
    agent: str, words: list[str], above: list[str], where: int
) -> None:
    typed = list(words)
    at = where % len(typed)
    typed[at] += CURSOR
    seen = look(agent, *above, "", *composer(agent, *typed))
    assert seen.state not in {ScreenState.REST, ScreenState.WORKING}, seen.cue
