"""The screens of claude, codex and opencode, drawn as those programs draw them.

Glyphs, colours, spacing and the words that tell a working agent from a resting one follow
recordings of Claude Code 2.1, Codex 0.171 and opencode 1.18.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from demo.cells import clip, visible, width, wrap
from demo.terminal import Frame

AGENTS = ("claude", "codex", "opencode")

_RESET = "\x1b[0m"
_GREY = "\x1b[38;5;246m"
_DIM = "\x1b[2m"
_BOLD = "\x1b[1m"
_REVERSE = "\x1b[7m"
_SGR = re.compile(r"\x1b\[[0-9;]*m")
_CLAUDE_PROMPT = "❯\u00a0"
_CLAUDE_TURN = "\x1b[38;5;239m\x1b[48;5;237m❯ \x1b[38;5;231m"
_CLAUDE_TURN_GOES_ON = "\x1b[38;5;231m\x1b[48;5;237m  "


class Voice(Enum):
    """Whose an entry of the transcript is."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    OUTPUT = "output"


@dataclass(frozen=True, kw_only=True)
class View:
    """All that decides what is on the screen. ``working`` counts seconds, None at rest."""

    columns: int
    rows: int
    title: str
    folder: str
    transcript: list[tuple[Voice, str]]
    composer: str
    working: float | None = None
    queued: tuple[str, ...] = ()
    question: bool = False
    menu: tuple[str, ...] = ()


Painter = Callable[[View], Frame]


def painter(agent: str) -> Painter:
    """The painter of the named agent's screen."""
    return {"claude": claude, "codex": codex, "opencode": opencode}[agent]


def _screen(view: View, above: list[str], below: list[str], *, at_the_bottom: bool) -> list[str]:
    """The screen's rows: ``below`` whole, the newest of ``above``, blank rows for the rest."""
    room = max(view.rows - len(below), 0)
    above = above[max(len(above) - room, 0) :]
    blank = [""] * (room - len(above))
    rows = [*above, *blank, *below] if at_the_bottom else [*above, *below, *blank]
    return rows[-view.rows :]


def _composer(view: View, columns: int) -> list[str]:
    """The composer's rows, the last of them where the cursor is; a tall draft is cut at the top."""
    rows = wrap(visible(view.composer), columns)
    if width(rows[-1]) >= columns:
        rows.append("")
    return rows[-max(view.rows // 2, 1) :]


def _hanging(text: str, first: str, columns: int) -> Iterable[str]:
    """Rows of ``text`` behind ``first``, the further ones indented as far."""
    indent = " " * width(first)
    for index, row in enumerate(wrap(visible(text), max(columns - width(first), 1))):
        yield (first if index == 0 else indent) + row


# Claude Code


def claude(view: View) -> Frame:
    """Claude Code: the transcript, the composer between two rules, a status line under it."""
    above = [f"\x1b[38;5;174m▝▜█████▛▘{_RESET}  {_GREY}{view.title}{_RESET}", ""]
    above += [row for voice, text in view.transcript for row in _claude_entry(view, voice, text)]
    if view.question:
        return _claude_question(view, above)
    rows = _composer(view, view.columns - 3)
    above += _claude_work(view)
    below = [_claude_rule(view)]
    below += [(_CLAUDE_PROMPT if i == 0 else "  ") + row for i, row in enumerate(rows)]
    below[-1] += f"{_REVERSE} {_RESET}"
    if view.queued and not view.composer:
        hint = f"{_REVERSE}\x1b[39mP{_RESET}{_DIM}ress up to edit queued messages"
        below[-1] = f"{_GREY}{_CLAUDE_PROMPT}{hint}"
    below.append("\x1b[38;5;37m" + "─" * view.columns)
    below += [f"  {_GREY}{item}" for item in view.menu]
    if not view.menu:
        hint = "? for shortcuts" if view.working is None else "esc to interrupt"
        below.append(f"  {_GREY}{hint} · ← for agents" if not view.composer else "")
    composer_at = len(rows)
    screen = _screen(view, above, below, at_the_bottom=False)
    first_rule = min(len(above), max(view.rows - len(below), 0))
    return Frame(screen, 2 + width(rows[-1]), max(first_rule + composer_at, 0), cursor=False)


def _claude_entry(view: View, voice: Voice, text: str) -> Iterable[str]:
    match voice:
        case Voice.USER:
            for index, row in enumerate(wrap(visible(text), view.columns - 2)):
                yield (_CLAUDE_TURN if index == 0 else _CLAUDE_TURN_GOES_ON) + row + _RESET
            yield ""
        case Voice.OUTPUT:
            yield from (f"{_GREY}{row}{_RESET}" for row in _hanging(text, "  ⎿  ", view.columns))
            yield ""
        case Voice.TOOL:
            yield from _hanging(f"Bash({text})", "● ", view.columns)
        case Voice.AGENT:
            yield from _hanging(text, "● ", view.columns)
            yield ""


def _claude_rule(view: View) -> str:
    badge = clip(f" {view.title} ", max(view.columns - 3, 0))
    line = "─" * max(view.columns - width(badge) - 2, 0)
    return f"\x1b[38;5;37m{line}\x1b[38;5;16m\x1b[48;5;37m{badge}\x1b[38;5;37m\x1b[49m──"


def _claude_work(view: View) -> Iterable[str]:
    if view.working is not None:
        glyph = "·✢✳✶✻✽"[int(view.working * 2) % 6]
        yield f"\x1b[38;5;174m{glyph} Actualizing…{_RESET}"
        yield ""
    elif view.transcript:
        yield f"{_GREY}✻ Worked for 1s{_RESET}"
        yield ""
    for text in view.queued:
        line = visible(text).replace("\n", " ")
        yield f"  {_CLAUDE_TURN}{clip(line, view.columns - 6)}{_RESET}"


def _claude_question(view: View, above: list[str]) -> Frame:
    below = [
        "\x1b[38;5;153m" + "─" * view.columns,
        f" {_BOLD}\x1b[38;5;153mBash command",
        "",
        "   rm -r build",
        "",
        " Do you want to proceed?",
        f" \x1b[38;5;153m❯{_RESET} {_GREY}1.{_RESET} \x1b[38;5;153mYes",
        f"   {_GREY}2.{_RESET} Yes, and don't ask again",
        f"   {_GREY}3.{_RESET} No",
        "",
        f" {_GREY}Esc to cancel · Tab to amend",
    ]
    screen = _screen(view, above, below, at_the_bottom=False)
    return Frame(screen, 1, min(len(above) + 6, view.rows - 1), cursor=False)


# Codex


def codex(view: View) -> Frame:
    """Codex: the composer near the bottom behind ``›``, two status lines under it."""
    above = ["", f"  {_BOLD}>_ OpenAI Codex{_RESET} (v0.171.0)", f"     {view.folder}", ""]
    above += [row for voice, text in view.transcript for row in _codex_entry(view, voice, text)]
    if view.question:
        return _codex_question(view, above)
    rows = _composer(view, view.columns - 3)
    below = [*_codex_work(view), ""]
    below += [f"{f'{_BOLD}›{_RESET} ' if i == 0 else '  '}{row}" for i, row in enumerate(rows)]
    if not view.composer:
        below[-1] = f"{_BOLD}›{_RESET} {_DIM}Ask Codex to do anything"
    line = len(below) - 1
    if view.menu:
        below += ["", *(f"  {item}" for item in view.menu)]
    else:
        below += ["", _codex_status(view), _codex_hints(view)]
    screen = _screen(view, above, below, at_the_bottom=True)
    return Frame(screen, 2 + width(rows[-1]), max(view.rows - len(below) + line, 0))


def _codex_entry(view: View, voice: Voice, text: str) -> Iterable[str]:
    match voice:
        case Voice.USER:
            ground = "\x1b[38;5;255m\x1b[48;5;238m"
            yield ground
            for index, row in enumerate(wrap(visible(text), view.columns - 3)):
                glyph = f"{_BOLD}{_DIM}› {_RESET}{ground}" if index == 0 else f"{ground}  "
                yield glyph + row
            yield ground
            yield ""
        case Voice.OUTPUT:
            yield from (f"{_DIM}{row}" for row in _hanging(text, "  └ ", view.columns))
            yield ""
        case Voice.TOOL:
            for index, row in enumerate(wrap(visible(text), max(view.columns - 8, 1))):
                yield f"• {_BOLD}Ran{_RESET} {row}" if index == 0 else f"  │ {row}"
        case Voice.AGENT:
            rows = wrap(visible(text), view.columns - 2)
            yield f"{_DIM}• {_RESET}{rows[0]}"
            yield from (f"  {row}" for row in rows[1:])
            yield ""


def _codex_work(view: View) -> Iterable[str]:
    if view.working is not None:
        interrupt = f"{_RESET}{_BOLD}esc{_RESET}{_DIM} to interrupt)"
        yield f"{_DIM}◦{_RESET} {_DIM}Working ({int(view.working)}s • {interrupt}"
        yield ""
    elif view.transcript:
        yield f"{_DIM}  Worked for 1s • 14:41"
        yield ""
    if view.queued:
        hint = "(press esc to interrupt and send immediately)"
        note = f"Messages to be submitted after next tool call {hint}"
        yield from _hanging(note, "• ", view.columns)
        yield from (row for text in view.queued for row in _hanging(text, "  ↳ ", view.columns))
        yield from ("", "")


def _codex_status(view: View) -> str:
    status = clip(f"gpt-5 default · {view.folder} · {view.title}", view.columns - 2)
    return f"  \x1b[38;5;223m{status}"


def _codex_hints(view: View) -> str:
    if view.composer:
        return f"  {_BOLD}tab{_RESET} to queue message" if view.working is not None else ""
    return f"  {_BOLD}←{_RESET} for agents · {_BOLD}?{_RESET} for shortcuts"


def _codex_question(view: View, above: list[str]) -> Frame:
    below = [
        f"  {_BOLD}Would you like to run the following command?",
        "",
        "  $ rm -r build",
        "",
        f"{_BOLD}{_REVERSE}› 1. Yes, proceed (y)",
        "  2. Yes, and don't ask again for this command (p)",
        "  3. No, and tell Codex what to do differently (esc)",
        "",
        f"  {_DIM}Press {_BOLD}enter{_RESET}{_DIM} to confirm or {_BOLD}esc{_DIM} to cancel",
    ]
    screen = _screen(view, above, below, at_the_bottom=True)
    return Frame(screen, view.columns - 1, view.rows - 1, cursor=False)


# opencode

_GROUND = "\x1b[48;5;232m"
_BAR = "\x1b[38;5;140m"
_WARNING = "\x1b[38;5;215m"


def opencode(view: View) -> Frame:
    """opencode: the composer in a box behind ``┃``, the agent's name in it, a status line below."""
    above = [row for voice, text in view.transcript for row in _opencode_entry(view, voice, text)]
    for text in view.queued:
        above += _box(
            view, [*wrap(visible(text), view.columns - 9), f"{_BOLD} QUEUED \x1b[22m"], 233
        )
    if view.question:
        return _opencode_question(view, above)
    if view.working is not None:
        above += _opencode_line(f"     {_BAR}▣ \x1b[38;5;15m {view.title}\x1b[38;5;8m · m1")
    rows = _composer(view, view.columns - 9)
    agent_line = f"{_BAR}{clip(view.title, view.columns - 16)}\x1b[38;5;15m \x1b[38;5;8m· m1 local"
    below = [f"{_GROUND}  {item}" for item in view.menu]
    below += _box(view, rows, 234)
    below.append(_boxed(view, agent_line, 234))
    below.append(f"{_GROUND}  {_BAR}╹\x1b[38;5;234m" + "▀" * max(view.columns - 5, 0))
    below += [_opencode_status(view), _GROUND]
    screen = _screen(view, above, below, at_the_bottom=True)
    screen = [row if row.startswith(_GROUND) else _GROUND + row for row in screen]
    line = view.rows - len(below) + len(view.menu) + len(rows)
    return Frame(screen, 5 + width(rows[-1]), max(line, 0))


def _filled(styled: str, columns: int) -> str:
    """``styled`` and blanks on the same ground up to ``columns`` cells."""
    return styled + " " * max(columns - width(_SGR.sub("", styled)), 0)


def _boxed(view: View, styled: str, shade: int, bar: str = _BAR) -> str:
    """One row of a box: its bar, then ``styled`` on the box's ground up to the right margin."""
    inner = _filled(f"\x1b[48;5;{shade}m  {styled}", view.columns - 5)
    return f"{_GROUND}  {bar}┃\x1b[38;5;15m{inner}\x1b[38;5;15m{_GROUND}  "


def _box(view: View, rows: Iterable[str], shade: int, bar: str = _BAR) -> list[str]:
    texts = ["", *(f"\x1b[38;5;255m{row}" for row in rows), ""]
    return [_boxed(view, text, shade, bar) for text in texts]


def _opencode_line(text: str) -> list[str]:
    return [f"{_GROUND}{text}", _GROUND]


def _opencode_entry(view: View, voice: Voice, text: str) -> Iterable[str]:
    rows = wrap(visible(text), view.columns - 9)
    match voice:
        case Voice.USER:
            yield from _box(view, rows, 233)
            yield _GROUND
        case Voice.TOOL:
            yield from (
                f"{_GROUND}     {_WARNING}{'$' if i == 0 else ' '} {row}"
                for i, row in enumerate(rows)
            )
        case Voice.AGENT | Voice.OUTPUT:
            yield from (f"{_GROUND}     \x1b[38;5;255m{row}" for row in rows)
            yield _GROUND


def _opencode_status(view: View) -> str:
    left = f"\x1b[38;5;8m{clip(view.folder, max(view.columns - 30, 0))}"
    if view.working is not None:
        left = "\x1b[38;5;237m⬝⬝⬝⬝⬝⬝⬝⬝\x1b[38;5;15m  \x1b[38;5;255mesc \x1b[38;5;8minterrupt"
    right = "\x1b[38;5;255mctrl+p \x1b[38;5;8mcommands"
    return f"{_GROUND}{_filled(f'   {left}', view.columns - 18)}{right}"


def _opencode_question(view: View, above: list[str]) -> Frame:
    shown = [
        f"{_WARNING}△ \x1b[38;5;255mPermission required",
        "  # Shell command",
        "",
        "$ rm -r build",
    ]
    below = _box(view, shown, 233, _WARNING)
    choices = (
        "\x1b[48;5;215m \x1b[38;5;232mAllow once \x1b[38;5;8m\x1b[48;5;234m Allow always  Reject"
    )
    hints = "ctrl+f fullscreen  ⇆ select  enter confirm"
    below += [_boxed(view, text, 234, _WARNING) for text in (choices, "", hints, "")]
    screen = _screen(view, above, below, at_the_bottom=True)
    return Frame([row or _GROUND for row in screen], view.columns - 1, view.rows - 1, cursor=False)
