"""What stands around a composer: the end of the transcript above it, the status lines below it.

All of it has to be known before an agent counts as resting. The transcript has to end with a line
that its agent writes when a turn is over, and nothing but lines that are known at rest may follow.
A status line of an agent at work is told by its form, a spinner with a running clock or with the
mark of what is unfinished, whatever it says.
"""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from cafleet.agents.cells import Row
from cafleet.agents.composer import Composer
from cafleet.agents.cues import Cues
from cafleet.agents.patterns import begins, fits, folded, found, generalised

# The items of a status line stand apart by a dot, or by two blanks or more.
_APART = re.compile(r"\s{2,}|\s+·(?:\s+|$)|(?<=[A-Z] --)\s")
# For how long something has been going on: `(12s`, `· 2m 03s`, `[retrying in 5s`.
_CLOCK = re.compile(r"[\s(\[](?:\d+d\s?)?(?:\d+h\s?)?(?:\d+m\s?)?\d+s\b")
# The same behind any sign at the head of a line.
_RUNNING = re.compile(r"[^\w\s]\s.*[(\[](?:\d+d\s?)?(?:\d+h\s?)?(?:\d+m\s?)?\d+s\b")
# The same with the mark of what is unfinished, which makes it a status line whatever its sign is.
_UNFINISHED_RUNNING = re.compile(r"\S\s\w[^(\[]*…\s[(\[](?:\d+d\s?)?(?:\d+h\s?)?(?:\d+m\s?)?\d+s\b")
# A word behind a blank.
_WORD = re.compile(r"(?<=\s)\S+")
# The blanks that may stand beside a full row.
_GAP = 2
# A picture that is drawn with characters.
_ART = re.compile(r"[\u2800-\u28ff\s]{4,}")
_CUT = "…"
# The head of a dialog that is drawn over a screen with a box: its title, and the key that closes it.
_DIALOG = re.compile(r"\S\s{3,}esc(?:\s{2,}|$)")
# A box that begins further right stands in the middle of the screen, alone.
_MARGIN = 2
# So many lines of a transcript's end are told where they are not known.
_QUOTED = 3
# The columns that Codex leaves free at the right of its status.
_RIGHT_MARGIN = 2


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """``working`` and ``elsewhere`` say in a few words why the agent works, and why keys may not go
    into the composer; they are empty where nothing says so. ``unknown`` are lines that are not known
    at rest, and ``entries`` the patterns that would make them known. ``missing`` says what there is
    too little of to tell. ``starting`` says that the status is that of an agent not ready yet."""

    working: str
    elsewhere: str
    unknown: tuple[str, ...]
    entries: tuple[str, ...]
    missing: str
    starting: bool


def read(rows: list[Row], composer: Composer, columns: int, cues: Cues) -> Surroundings:
    """Read what stands around the composer in a pane that is so many ``columns`` wide."""
    edge = columns if composer.right is None else composer.right
    below = _below(rows, composer)
    telling = _unwrapped(without_settings(below, edge, cues), edge, cues)
    if cues.frame == "box":
        telling = _with_whole_path(telling, cues)
    unknown = {text: _unknown_items(text, edge, cues) for text in telling}
    end = _end(rows, composer, edge, cues)
    is_over = _is_over(rows, composer, end, telling, cues)
    if not is_over:
        # From the composer upwards a line is known only if all below it are.
        unknown = {text: [text] for text in end[-_QUOTED:]} | unknown
    return Surroundings(
        working=_working_below(telling, cues) or _working_above(rows, composer, cues),
        elsewhere=_elsewhere(rows, telling, cues),
        unknown=tuple(folded(text) for text, items in unknown.items() if items),
        entries=tuple(generalised(item) for items in unknown.values() for item in items),
        missing=_missing(below, is_over, end),
        starting=bool(below) and all(fits(text, cues.starting) for text in below),
    )


def without_settings(lines: list[str], edge: int, cues: Cues) -> list[str]:
    """The lines below a composer without that of the agent's own settings.

    That line may hold any words, such as the title of the session. A long title wraps onto the next
    row: the first word there had no room left before the ``edge``.
    """
    telling: list[str] = []
    before = ""
    for line in lines:
        wraps = before and len(f"{before} {line.split()[0]}") > edge - _RIGHT_MARGIN
        if fits(line, cues.status) or (wraps and _may_be_title(line, edge, cues)):
            before = line
        else:
            before = ""
            telling.append(line)
    return telling


def _may_be_title(line: str, edge: int, cues: Cues) -> bool:
    """Whether a line may be the rest of a title: it says nothing that the agent itself says."""
    own = (*cues.working, *cues.elsewhere, *cues.hints)
    return bool(_unknown_items(line, edge, cues)) and not found(own, line)


def _unwrapped(lines: list[str], edge: int, cues: Cues) -> list[str]:
    """The lines, one that was wrapped at the pane's edge as one if it is known as that."""
    whole: list[str] = []
    for line in lines:
        if whole and len(whole[-1]) >= edge - 1:
            # A blank at the edge is not seen.
            for joined in (whole[-1] + line, f"{whole[-1]} {line}"):
                if not _unknown_items(joined, len(joined) + 2, cues):
                    whole[-1] = joined
                    break
            else:
                whole.append(line)
        else:
            whole.append(line)
    return whole


def _with_whole_path(lines: list[str], cues: Cues) -> list[str]:
    """The lines of opencode's status with its folder on one line.

    A long path goes on in the rows below it, and what stands at its right is wrapped as well, into rows
    that begin in the same column.
    """
    if len(lines) < 2:
        return lines
    first, *others = lines
    for start in _WORD.finditer(first):
        at = start.start()
        if not fits(first[:at].strip(), cues.idle):
            continue
        if not all(line[at - 1 : at].strip() == "" for line in others):
            continue
        rest = [line[:at].strip() for line in others]
        items = _known_items(" ".join(line[at:] for line in lines).split(), cues)
        path = [first[:at].rstrip(), *(line[:at].rstrip() for line in others)]
        if (
            items is not None
            and all(_may_be_path(each, cues) for each in rest)
            and _goes_on(path, at)
        ):
            return ["  ".join([f"{first[:at].strip()}{''.join(rest)}", *items])]
    return lines


def _goes_on(rows: list[str], end: int) -> bool:
    """Whether the rows may be one text that was wrapped before the column ``end``.

    What would have had room in the row above is no rest of it.
    """
    for above, below in pairwise(rows):
        room = end - 1 - len(above)
        chunk = below.strip().partition("/")[0]
        if chunk and room > max(_GAP, len(chunk)):
            return False
    return True


def _known_items(words: list[str], cues: Cues) -> list[str] | None:
    """The words as items that are known at rest, or ``None`` where they are not all of such items.

    Of items that are wrapped side by side nothing tells where one ends.
    """
    if not words:
        return []
    for count in range(len(words), 0, -1):
        item = " ".join(words[:count])
        if fits(item, cues.resting) and not fits(item, cues.idle):
            others = _known_items(words[count:], cues)
            if others is not None:
                return [item, *others]
    return None


def _may_be_path(text: str, cues: Cues) -> bool:
    """Whether a row may be the rest of a path: it has no blank, and says nothing that the agent says."""
    said = found((*cues.working, *cues.elsewhere, *cues.hints), text)
    return " " not in text and not said and text[:1] not in cues.spinners


def _missing(below: list[str], is_over: bool, end: list[str]) -> str:
    if not below:
        return "no status line is below the composer"
    return "" if is_over or end else "nothing above the composer tells that a turn is over"


def is_spinner(character: str) -> bool:
    """Whether it is one of the braille patterns that many programs turn as a spinner."""
    return "\N{BRAILLE PATTERN BLANK}" < character <= "\N{BRAILLE PATTERN DOTS-12345678}"


def _below(rows: list[Row], composer: Composer) -> list[str]:
    """The lines below the composer that are not blank, without what stands beside it."""
    right = composer.right if composer.left <= _MARGIN else None
    texts = (row.columns(0, right) for row in rows[composer.status :])
    return [text for text in texts if text]


def _unknown_items(line: str, edge: int, cues: Cues) -> list[str]:
    """The items of a line that are not known at rest; none where the line as a whole is known.

    The last item of a line that reaches the pane's ``edge`` may be cut, and any that ends in an
    ellipsis is.
    """
    items = _items(line)
    # What stands beside a folder is not a part of it.
    beside_folder = len(items) > 1 and fits(line, cues.idle)
    if fits(line, cues.resting) and not beside_folder:
        return []
    return [
        item
        for at, item in enumerate(items, 1)
        if not fits(item, cues.resting)
        and not (
            (item.endswith(_CUT) or (at == len(items) and len(line) >= edge - 1))
            and _is_beginning(item, cues)
        )
    ]


def _items(line: str) -> list[str]:
    return [item for item in _APART.split(line) if item and not item.isspace()]


def _is_beginning(item: str, cues: Cues) -> bool:
    """Whether a cut item begins like one that is known at rest, and like nothing else."""
    beginning = item.strip().removesuffix(_CUT)
    return begins(beginning, cues.resting) and not begins(
        beginning.casefold(), (*cues.working, *cues.elsewhere)
    )


def _working_below(lines: list[str], cues: Cues) -> str:
    # The path of a folder may hold any words, and is shown only while no turn is going on.
    words = [item for line in lines for item in _items(line) if not fits(item, cues.idle)]
    if phrase := found(cues.working, " ".join(words)):
        return phrase
    spinning = any(is_spinner(text.strip()[:1]) for text in lines)
    if cues.frame == "box":
        spinning = spinning or any(text.strip()[:1] in cues.spinners for text in lines)
    return "a status line with a spinner" if spinning else ""


def _working_above(rows: list[Row], composer: Composer, cues: Cues) -> str:
    """What the status line between the last finished turn and the composer says, if one is there."""
    if cues.frame == "box":
        return ""
    for at in range(composer.outer - 1, -1, -1):
        text = rows[at].text
        if _is_finished(rows, at, cues):
            return ""
        # An answer of Claude Code begins with a sign, too, and may hold a time.
        if _RUNNING.match(text) and not (cues.frame == "rules" and fits(text, cues.turns)):
            return "a status line with a running clock"
        if _UNFINISHED_RUNNING.match(text):
            return "a status line with a running clock"
        spins = text[:1] in cues.spinners or is_spinner(text[:1])
        if spins and (said := _status_line(rows, at, composer, cues)):
            return said
        if cues.frame == "rules" and _begins_block(text):
            return ""
    return ""


def _status_line(rows: list[Row], at: int, composer: Composer, cues: Cues) -> str:
    line = rows[at].text
    if is_spinner(line[:1]) and not _ART.match(line):
        return "a status line with a spinner"
    if mark := found(cues.unfinished, line):
        return f"a status line with {mark}"
    end = next(
        (below for below in range(at, composer.outer) if not rows[below].text), composer.outer
    )
    block = " ".join(row.text for row in rows[at:end])
    if phrase := found(cues.working, block):
        return phrase
    return "a status line with a running clock" if _CLOCK.search(block) else ""


def _end(rows: list[Row], composer: Composer, edge: int, cues: Cues) -> list[str]:
    """The block of lines that ends the transcript; lines that are known at rest may follow it."""
    at = _above_overlay(rows, composer, cues)
    while at >= 0 and _is_passed_over(_beside(rows, at, composer), edge, cues):
        at -= 1
    top = at
    while top > 0 and not _is_head(rows, top, cues):
        top -= 1
    lines = (_beside(rows, each, composer) for each in range(max(top, 0), at + 1))
    block = [text for text in lines if text]
    if len(block) > 1 and fits(block[0], cues.finished):
        del block[0]
    return block


def _above_overlay(rows: list[Row], composer: Composer, cues: Cues) -> int:
    """The last row above the composer, or above the help that a key has put between."""
    if cues.overlays:
        for at in range(composer.outer - 1, -1, -1):
            if fits(rows[at].text, cues.overlays):
                return at - 1
            if _begins_block(rows[at].text):
                break
    return composer.outer - 1


def _beside(rows: list[Row], at: int, composer: Composer) -> str:
    """A row above the composer without what stands beside the transcript."""
    return rows[at].columns(0, composer.right)


def _is_passed_over(text: str, edge: int, cues: Cues) -> bool:
    if not text or _ART.fullmatch(text) or fits(text, cues.resting):
        return True
    return text[0].isspace() and not _unknown_items(text, edge, cues)


def _is_head(rows: list[Row], at: int, cues: Cues) -> bool:
    """Whether a block of lines begins here, as the agent sets them apart."""
    match cues.frame:
        case "rules":
            return _begins_block(rows[at].text)
        case "plain":
            return not rows[at - 1].text
        case "box":
            return True


def _begins_block(text: str) -> bool:
    """Whether a line begins in the first column; what belongs to it goes on indented."""
    return bool(text) and not text[0].isspace()


def _is_over(
    rows: list[Row], composer: Composer, end: list[str], below: list[str], cues: Cues
) -> bool:
    """Whether the transcript's end tells that no turn is going on.

    Where no line on the screen tells that of any turn, a status that is shown only while none is
    going on stands for it.
    """
    is_idle = any(fits(item, cues.idle) for text in below for item in _items(text))
    is_turn = _is_turn(end, cues) and (is_idle or cues.frame != "box")
    if end and (is_turn or _ends_turn(rows, composer, end, cues)):
        return not found(cues.tips, " ".join(end[-2:]))
    if cues.frame == "box" and end and _indent(end[-1]) > composer.start[0]:
        # It stands where no transcript does: a dialog, or what is left of one.
        return False
    if cues.frame == "rules" and end:
        # A status line stands there, or a text that has no answer yet.
        return False
    return is_idle and not any(fits(row.text, cues.finished) for row in rows[: composer.outer])


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _is_turn(block: list[str], cues: Cues) -> bool:
    return (
        bool(block)
        and fits(" ".join(block), cues.turns)
        and (cues.frame != "plain" or _stands_as_drawn(block[0], cues))
    )


def _ends_turn(rows: list[Row], composer: Composer, end: list[str], cues: Cues) -> bool:
    """Whether the last line of the transcript's end is one that ends a turn."""
    at = composer.outer - 1
    while at >= 0 and _beside(rows, at, composer) != end[-1]:
        at -= 1
    return at >= 0 and _is_finished(rows, at, cues)


def _is_finished(rows: list[Row], at: int, cues: Cues) -> bool:
    """Whether the line is one that ends a turn, and not a status line that is much like it."""
    line = rows[at].text
    spins = line[:1] in cues.spinners and found(cues.unfinished, line) is not None
    if spins or not fits(line, cues.finished) or not _stands_as_drawn(line, cues):
        return False
    # Codex draws it dim, as it draws no answer. Some terminals show no styles at all.
    return cues.frame != "plain" or _begins_dim(rows[at]) or not any(map(_is_dim, rows))


def _begins_dim(row: Row) -> bool:
    return next((style.dim for text, style in row.runs if not text.isspace()), False)


def _is_dim(row: Row) -> bool:
    """Whether anything in the row is dim."""
    return any(style.dim for _, style in row.runs)


def _stands_as_drawn(line: str, cues: Cues) -> bool:
    """Whether the line begins in the column in which the agent draws such a line.

    What a queued message quotes stands further right.
    """
    match cues.frame:
        case "rules":
            return _begins_block(line)
        case "plain":
            head = line.lstrip()[:1]
            return _indent(line) == (_MARGIN if head.isalnum() or head == ">" else 0)
        case "box":
            return True


def _elsewhere(rows: list[Row], below: list[str], cues: Cues) -> str:
    if phrase := found(cues.elsewhere, " ".join(below)):
        return phrase
    if cues.frame == "box" and any(_DIALOG.search(row.text) for row in rows):
        return "a dialog is open"
    return ""
