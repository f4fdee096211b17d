"""Make records of rows. Rows belong to the store, and nothing above the broker sees one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from cafleet.store.rows import Row

Record = TypeVar("Record", bound=msgspec.Struct)


def record(row: Row, kind: type[Record]) -> Record:
    """The record of ``kind`` with the fields of ``row``."""
    return msgspec.convert(row, kind, from_attributes=True)


def records(rows: Sequence[Row], kind: type[Record]) -> list[Record]:
    """A record of ``kind`` for each row, in their order."""
    # One call for all of them takes half the time of one call each.
    made: list[Record] = msgspec.convert(rows, list.__class_getitem__(kind), from_attributes=True)
    return made
