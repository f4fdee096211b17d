"""The page for a person who mends a database by hand: the values that it lists are all there are."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, get_args, get_type_hints

from cafleet import clock
from cafleet.store import rows
from cafleet.store.contracts import ROWS
from cafleet.store.files import page
from cafleet.store.rows import Row


def listed() -> dict[str, list[str]]:
    """The values of each column that the page has in its table."""
    with open(page("recovery.md"), encoding="utf-8") as file:
        found = re.findall(r"^\| `(\w+\.\w+)` \| (.*) \|$", file.read(), re.MULTILINE)
    return {column: re.findall(r"`([^`]*)`", values) for column, values in found}


def enums(hint: Any) -> list[type[StrEnum]]:
    return [
        each
        for each in (hint, *get_args(hint))
        if isinstance(each, type) and issubclass(each, StrEnum)
    ]


def test_every_column_with_closed_values_is_listed_with_all_of_them() -> None:
    wanted = {}
    for name in ROWS:
        row: type[Row] = getattr(rows, name)
        for field, hint in get_type_hints(row).items():
            source = row.joined.get(field)
            column = f"{row.table}.{field}" if source is None else f"{source.table}.{source.column}"
            for enum in enums(hint):
                wanted[column] = [each.value for each in enum]
    assert listed() == wanted


def test_the_time_that_it_shows_is_one() -> None:
    with open(page("recovery.md"), encoding="utf-8") as file:
        example = re.search(r"^\| every time \| UTC, as in `(.*)` \|$", file.read(), re.MULTILINE)
    assert example is not None
    assert clock.is_stamp(example[1])
