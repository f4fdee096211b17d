"""Check the text of a query file against the rules that keep aiosql from misreading it.

aiosql 15 takes a comment line for documentation wherever it stands, looks for parameters in a
comment at the end of a line, drops the line of a string that begins like a comment, and begins a
query at `-- name:` even inside a string. None of these is an error to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<string>'(?:''|[^'])*'|"(?:""|[^"])*")
    | (?P<comment>--[^\n]*)
    | (?P<block>/\*)
    | (?P<end>;)
    | (?P<code>[^\s;'"/-]+|\S)""",
    re.VERBOSE,
)
_NAME = re.compile(r"--\s*name\s*:")
# The program finds a query by its first words, so they are written in one way.
_HEADER = re.compile(r"-- name: [a-z0-9_]+\(")
_COMMENT_LINE = re.compile(r"\n\s*--")


def misread(text: str) -> tuple[int, str] | None:
    """The line number, from 1, and a sentence about the first place that aiosql would misread."""
    state = "before"
    for token in _TOKEN.finditer(text):
        kind, found = token.lastgroup, token[0]
        named = kind == "comment" and _NAME.match(found) is not None
        for sentence in (
            *_lexical(kind, found, _line_start(text, token.start())),
            *_placed(kind, state, named=named),
        ):
            return text.count("\n", 0, token.start()) + 1, sentence
        if named:
            state = "header"
        elif kind == "end":
            state = "after"
        elif kind != "comment":
            state = "statement"
    return None


def chunks(text: str) -> list[tuple[int, str]]:
    """Each query of a well-formed text, with the number of its first line, from 1."""
    starts = [found.start() for found in _NAME.finditer(text)]
    return [
        (text.count("\n", 0, start) + 1, text[start:end])
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
    ]


def _line_start(text: str, position: int) -> str:
    """What stands before ``position`` on its line."""
    return text[text.rfind("\n", 0, position) + 1 : position].strip()


def _lexical(kind: str | None, found: str, before: str) -> Iterator[str]:
    if kind == "comment" and before:
        yield "a comment stands at the end of a line; give it a line of its own"
    if kind == "comment" and _NAME.match(found) and not _HEADER.match(found):
        yield "a header is not `-- name: <name>(<parameters>)<shape>`; write it so"
    if kind == "comment" and _NAME.search(found, 2):
        yield "a comment holds `-- name:`, which would begin a query; reword it"
    if kind == "block":
        yield "a comment is written /* */; write it as lines with --"
    if kind == "string" and (_COMMENT_LINE.search(found) or _NAME.search(found)):
        yield "a string holds a line that begins like a comment, which would be lost; split the string"


def _placed(kind: str | None, state: str, *, named: bool) -> Iterator[str]:
    if named and state == "statement":
        yield "the statement before this name has no semicolon; add it"
    if kind == "comment" and state == "after" and not named:
        yield "a comment between two queries would document the first; put it under a name"
    if kind not in ("comment", None) and state == "before":
        yield "a statement has no name; put `-- name:` above it"
    if kind not in ("comment", None) and state == "after":
        yield "a query is more than one statement; split it"
