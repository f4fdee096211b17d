"""Which further commands a member may be allowed: patterns that name a program, never any command."""

from __future__ import annotations

import re

from cafleet.errors import UsageError

# Neither what ends a rule of an agent, nor what puts several commands into one.
_WORD = re.compile(r"[\w./:@%+,~^=*?-]+")
_PROGRAM = re.compile(r"[./~]*\w[^=]*")
# Programs that run the command which follows them, whatever it is.
_RUNNERS = frozenset(
    re.findall(
        r"\S+",
        "builtin busybox chroot command doas env eval exec find flock ionice nice nohup parallel setsid"
        " ssh stdbuf su sudo time timeout watch xargs",
    )
)
# Programs that run the file, the module or the text which they are given.
_INTERPRETERS = frozenset(
    re.findall(
        r"\S+",
        ". ash awk bash bun csh dash deno fish gawk ksh lua node nodejs perl php pypy pypy3 python python3"
        " ruby sh source tclsh tcsh zsh",
    )
)


def check_allowed(pattern: str) -> None:
    """Raise UsageError unless ``pattern`` names a program: ``*`` and ``?`` stand for any text in what
    follows it, as in ``make test*``."""
    words = pattern.split(" ")
    if not all(_WORD.fullmatch(word) for word in words):
        raise _refusal(
            pattern, "it may have letters, digits, single blanks, * and ?, and ./:@%+,~^=- in it"
        )
    if not _names_a_program(words):
        raise _refusal(
            pattern, "it would allow any command; begin with the program, as in 'make test*'"
        )


def _names_a_program(words: list[str]) -> bool:
    first, *rest = words
    fixed, is_open = _fixed(first)
    name = fixed.rstrip(":").rpartition("/")[2]
    if not _PROGRAM.fullmatch(fixed) or not name:
        return False
    special = _RUNNERS | _INTERPRETERS
    if is_open:
        return not any(each.startswith(name) or name.startswith(f"{each}.") for each in special)
    if name in _RUNNERS:
        return bool(rest) and not any(_fixed(word)[1] for word in rest)
    if name in _INTERPRETERS or re.fullmatch(r"(?:python|pypy)[\d.]+", name):
        # What it runs has to be named: a file, or a module of Python's.
        named = rest[1:] if rest[:1] == ["-m"] else rest
        return bool(named) and re.match(r"[^*?-]", named[0]) is not None
    return True


def _fixed(word: str) -> tuple[str, bool]:
    """What stands before the first wildcard of a word, and whether there is one."""
    fixed = re.split(r"[*?]", word, maxsplit=1)[0]
    return fixed, fixed != word


def _refusal(pattern: str, reason: str) -> UsageError:
    return UsageError(f"--allow {pattern!r} is refused: {reason}")
