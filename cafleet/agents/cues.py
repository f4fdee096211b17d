"""What the judge of screens looks for: shipped as data, and what the user's own file replaces."""

from __future__ import annotations

import functools
import os
import pkgutil
import stat
import tomllib
from typing import Annotated, Any, Literal

import msgspec

from cafleet.errors import SettingError
from cafleet.records import CodingAgent

USER_FILE = "~/.config/cafleet/cues.toml"
_LARGEST_FILE = 65_536
_RESTING = "resting"

Phrase = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$")]
PasteMark = Annotated[str, msgspec.Meta(min_length=2, max_length=100, pattern=r"^\S")]
Glyph = Annotated[str, msgspec.Meta(min_length=1, max_length=1, pattern=r"^\S$")]
Colour = Annotated[str, msgspec.Meta(pattern=r"^(5;\d{1,3}|2;\d{1,3};\d{1,3};\d{1,3})$")]
Version = Annotated[str, msgspec.Meta(pattern=r"^\d{1,9}(\.\d{1,9}){0,3}$")]
Size = Annotated[int, msgspec.Meta(ge=1, le=10_000)]


class Cues(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cues of one agent for a range of its versions; `cues.toml` says what each key means."""

    since: Version
    before: Version | None = None
    columns: Size
    rows: Size
    shells: frozenset[Phrase]
    choices: frozenset[Glyph]
    questions: tuple[Phrase, ...]
    hints: tuple[Phrase, ...]
    frame: Literal["rules", "plain", "box"]
    glyph: Glyph
    shell_glyph: Glyph
    shell_mode: tuple[Phrase, ...]
    rule: Glyph
    faint: frozenset[Colour]
    pastes: tuple[PasteMark, ...]
    scrolled: frozenset[Glyph]
    working: tuple[Phrase, ...]
    spinners: frozenset[Glyph]
    unfinished: tuple[Phrase, ...]
    tips: tuple[Phrase, ...]
    elsewhere: tuple[Phrase, ...]
    finished: tuple[Phrase, ...]
    turns: tuple[Phrase, ...]
    overlays: tuple[Phrase, ...]
    resting: tuple[Phrase, ...]
    idle: tuple[Phrase, ...]
    status: tuple[Phrase, ...]
    starting: tuple[Phrase, ...]
    placeholders: tuple[Phrase, ...]
    programs: tuple[Phrase, ...]


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    common: dict[str, Any] = {}
    claude: list[dict[str, Any]] = []
    codex: list[dict[str, Any]] = []
    opencode: list[dict[str, Any]] = []


def current_cues(agent: CodingAgent) -> Cues:
    """The cues of ``agent`` in its newest known version, as the user's file has them now.

    Raises:
        SettingError: as by :func:`cues_for`.
    """
    stamp = _stamp(os.path.expanduser(USER_FILE))
    if _stamps.get(agent) != stamp:
        cues_for.cache_clear()
        _stamps.update(dict.fromkeys(CodingAgent, stamp))
    return cues_for(agent)


# What the user's file was when the cues that are kept were read.
_stamps: dict[CodingAgent, tuple[str, int, int, int]] = {}


def _stamp(path: str) -> tuple[str, int, int, int]:
    """What changes when the file is written, replaced, or another one."""
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0, 0
    return path, found.st_ino, found.st_size, found.st_mtime_ns


@functools.cache
def cues_for(agent: CodingAgent, version: str | None = None) -> Cues:
    """The cues of ``agent`` in ``version``, or in its newest known version; read once.

    Raises:
        SettingError: the user's file cannot be read or says something unusable.
    """
    shipped = _shipped()
    known = shipped.common | _entry(shipped, agent, version)
    path = os.path.expanduser(USER_FILE)
    try:
        data = _read(path)
        if data is not None:
            own = _parse(data)
            for table in (own.common, _entry(own, agent, version)):
                known = known | _added(known, table)
        return msgspec.convert(known, Cues)
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SettingError(
            f"the file {path} holds no usable cues ({reason}); correct it or remove it"
        ) from error


@functools.cache
def _shipped() -> _File:
    """What is shipped, read once: an upgrade may replace it under a program that goes on."""
    return _parse(pkgutil.get_data(__package__, "cues.toml") or b"")


def _added(known: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The user's keys, what the user knows at rest added to what is known already."""
    lines = own.get(_RESTING)
    if not isinstance(lines, list):
        return own
    return own | {_RESTING: [*known[_RESTING], *lines]}


def _read(path: str) -> bytes | None:
    """The bytes of a regular file of a sane size, or None where there is none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ValueError("not a regular file")
        with open(path, "rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(data) > _LARGEST_FILE:
        raise ValueError(f"larger than {_LARGEST_FILE} bytes")
    return data


def _parse(data: bytes) -> _File:
    return msgspec.convert(tomllib.loads(data.decode()), _File)


def _entry(file: _File, agent: CodingAgent, version: str | None) -> dict[str, Any]:
    """The first entry whose range holds ``version``; the first of all when none does."""
    entries: list[dict[str, Any]] = getattr(file, agent)
    for entry in entries:
        if version is None or _holds(entry, version):
            return entry
    return entries[0] if entries else {}


def _holds(entry: dict[str, Any], version: str) -> bool:
    since, before = entry.get("since"), entry.get("before")
    return (not isinstance(since, str) or _order(since) <= _order(version)) and (
        not isinstance(before, str) or _order(version) < _order(before)
    )


def _order(version: str) -> list[int]:
    return [int(part) if part.isdecimal() else 0 for part in version.split(".")]
