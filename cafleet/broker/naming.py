"""The names that a member or a fleet may get. A name is visible as a whole and does not look like another."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from cafleet.broker import members
from cafleet.errors import RefusedError, UsageError
from cafleet.invisible import HIDDEN, hides
from cafleet.records import MemberKind
from cafleet.store import Connection
from cafleet.widths import NAME_COLUMNS, cut_name, display_width

# More marks on one letter than any script has; they would be drawn over other lines.
_MOST_MARKS = 4
# Lines below and through a letter, and the dot of a small i on a capital one: easily overlooked.
_FAINT = re.compile("[\u0331-\u0338]|(?<=[iI])\u0307")
_OFFICES = {MemberKind.DIRECTOR: "Director", MemberKind.MONITOR: "monitor"}


def fault(name: str) -> str | None:
    """What is wrong with a name by itself, or ``None``."""
    hidden = hides(name)
    if hidden is not None:
        return f"a name may not hold {hidden}, which nobody sees"
    columns = display_width(name)
    if columns > NAME_COLUMNS:
        return f"a name may be {NAME_COLUMNS} columns wide, and this one is {columns}"
    marks = 0
    for at, character in enumerate(unicodedata.normalize("NFC", name)):
        marks = marks + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        if marks > _MOST_MARKS or (marks and at == 0):
            return f"a name may not hold the mark U+{ord(character):04X} there, no letter needs it"
    return None


def check(conn: Connection, *, fleet_id: int, name: str, monitor: bool, allow_same: bool) -> None:
    """Refuse a name that looks like the name of an active member, or like an office of another member.

    ``allow_same`` allows exactly the name of another ordinary member.

    Raises:
        UsageError: the name cannot be seen whole.
        RefusedError: says whose name it reads like.
        IntegrityError: a member of the fleet cannot be read.
    """
    wrong = fault(name)
    if wrong is not None:
        raise UsageError(f"{wrong}; choose another name")
    own = _readings(name)
    kind = MemberKind.MONITOR if monitor else MemberKind.MEMBER
    for office, title in _OFFICES.items():
        if office is not kind and own & _readings(title):
            raise RefusedError(f"the name {_quoted(name)} reads like {title}; choose another name")
    for member in members.list_active(conn, fleet_id=fleet_id):
        if member.name == name and member.kind is MemberKind.MEMBER:
            if not allow_same:
                raise RefusedError(
                    f"member {member.member_id} has the name {_quoted(name)}, as `cafleet member list "
                    f"{fleet_id}` shows; start that one again with `cafleet member restart "
                    f"{member.member_id}`, choose another name, or pass --allow-same-name"
                )
        elif own & _readings(member.name):
            raise RefusedError(
                f"the name {_quoted(name)} reads like {_quoted(member.name)}, the name of member "
                f"{member.member_id}; choose another name"
            )


def _quoted(name: str) -> str:
    return f'"{cut_name(name)}"'


def _readings(name: str) -> frozenset[str]:
    """The readings of a name. Two names that share a reading look alike.

    Case is folded before look-alikes are replaced and after it, for a capital ``I`` is a small ``i``
    to one reader and an ``l`` to another. Two names may also look alike in capitals only, as
    ``D1RECTOR`` and ``DIRECTOR`` do.
    """
    seen = re.sub(f"[{HIDDEN}]", "", name)
    decomposed = unicodedata.normalize("NFKD", " ".join(seen.split()))
    plain = " ".join(unicodedata.normalize("NFKC", _FAINT.sub("", decomposed)).split())
    readings = (plain.casefold(), _skeleton(plain).casefold(), plain.upper())
    return frozenset(_skeleton(_FAINT.sub("", reading)) for reading in readings)


def _skeleton(text: str) -> str:
    """The skeleton of Unicode Technical Standard 39, section 4."""
    prototypes = _prototypes()
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFD", "".join(prototypes.get(each, each) for each in decomposed))


@cache
def _prototypes() -> dict[str, str]:
    """The look of each letter that looks like another."""
    return {letter: prototype for prototype, letters in _look_alikes() for letter in letters}


def _look_alikes() -> Iterator[tuple[str, str]]:
    text = files("cafleet.broker").joinpath("confusables.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            prototype, letters = line.split(" < ")
            yield _characters(prototype), _characters(letters)


def _characters(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())
