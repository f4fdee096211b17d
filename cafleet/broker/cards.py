"""Member cards, the only JSON in the database: write and read them."""

from __future__ import annotations

from typing import Any

import msgspec

from cafleet.records import MemberKind

_MONITOR = {"kind": "monitor"}


def write_card(name: str, description: str, *, monitor: bool) -> str:
    """The card of a new member. Only the monitor's card has a marker."""
    card: dict[str, Any] = {"name": name, "description": description, "skills": []}
    if monitor:
        card["cafleet"] = _MONITOR
    return msgspec.json.encode(card).decode()


def read_skills(card: object) -> list[Any]:
    """The stored skills. An empty list if the card is damaged or has no list of skills."""
    skills = _read(card).get("skills")
    return skills if isinstance(skills, list) else []


def kind_of(card: object, member_id: int, director_member_id: int | None) -> MemberKind:
    """The kind of a member. The fleet's Director comes first, then the marker on the card."""
    if member_id == director_member_id:
        return MemberKind.DIRECTOR
    marker = _read(card).get("cafleet")
    if isinstance(marker, dict) and marker.get("kind") == "monitor":
        return MemberKind.MONITOR
    return MemberKind.MEMBER


def card_fault(card: object) -> str | None:
    """What is wrong with a stored card, as the end of a sentence. Such a card is still read."""
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
