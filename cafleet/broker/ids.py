"""The range of ids."""

from __future__ import annotations

from cafleet.settings import LARGEST_INTEGER


def is_id(value: int) -> bool:
    """Whether a row can have this id. SQLite's ids are 1…2⁶³-1, and larger integers cannot be bound."""
    return 1 <= value <= LARGEST_INTEGER
