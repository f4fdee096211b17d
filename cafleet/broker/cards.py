"""Member cards: the one place where JSON is stored, and where it is written and read."""

from __future__ import annotations

from typing import Any

import msgspec

from cafleet.records import MemberKind

_MONITOR = {"kind": "monitor"}


def write_card(name: str, description: str, *, monitor: bool) -> str:
    """The card of a new member; the monitor's alone carries a marker."""
    card: dict[str, Any] = {"name": name, "description": description, "skills": []}
    if monitor:
        card["cafleet"] = _MONITOR
    return msgspec.json.encode(card).decode()


def read_skills(card: object) -> list[Any]:
    """The skills as stored; an empty list where the card is no card or has no list of them."""
    skills = _read(card).get("skills")
    return skills if isinstance(skills, list) else []


def kind_of(card: object, member_id: int, director_member_id: int | None) -> MemberKind:
    """The kind of a member: what its fleet says comes first, then the marker on its card."""
    if member_id == director_member_id:
        return MemberKind.DIRECTOR
    marker = _read(card).get("cafleet")
    if isinstance(marker, dict) and marker.get("kind") == "monitor":
        return MemberKind.MONITOR
    return MemberKind.MEMBER


def card_fault(card: object) -> str | None:
    """What is wrong with a stored card, as the end of a sentence; it is read all the same."""
    read = _object(card)
    if read is None:
        return "is no JSON object"
    if not isinstance(read.get("skills", []), list):
        return "has skills that are no list"
    if read.get("cafleet", _MONITOR) != _MONITOR:
        return "has a marker that is not the monitor's"
    return None


def _read(card: object) -> dict[str, Any]:
    return _object(card) or {}


def _object(card: object) -> dict[str, Any] | None:
    if not isinstance(card, str):
        return None
    try:
        read = msgspec.json.decode(card)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return read if isinstance(read, dict) else None
