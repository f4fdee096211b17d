"""The `db` commands as text and, where a shape is theirs alone, for the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cafleet.present.cells import ABSENT
from cafleet.present.table import table
from cafleet.present.visible import visible
from cafleet.present.wire import CheckWire, ParameterWire, QueryWire

if TYPE_CHECKING:
    from cafleet.operations.database_tools import ExplainedQuery
    from cafleet.store.contracts import Contract

_COLUMNS = ("NAME", "FILE", "PARAMS", "RECORD", "PLAN")


def query_wire(contract: Contract) -> QueryWire:
    """What a query promises; its plan is what it searches by, and after that what it scans."""
    return QueryWire(
        name=contract.name,
        file=contract.file,
        line=contract.line,
        params=[ParameterWire(name=each.name, type=each.type) for each in contract.parameters],
        record=contract.returns,
        plan=[*sorted(contract.plan), *(f"scan {name}" for name in sorted(contract.scans))],
    )


def queries_listed(queries: Sequence[QueryWire]) -> str:
    return table(_COLUMNS, [[*_cells(query)] for query in queries])


def _cells(query: QueryWire) -> Iterator[str]:
    yield query.name
    yield f"{query.file}:{query.line}"
    yield ", ".join(f"{each.name} {each.type}" for each in query.params) or ABSENT
    yield query.record or ABSENT
    yield ", ".join(query.plan) or ABSENT


def query_explained(query: ExplainedQuery) -> str:
    """Where it is, what the file says, and what SQLite would do on the database at hand."""
    steps = query.steps or ["nothing to search, or no such table"]
    return "\n".join(
        [
            f"{query.contract.source}",
            "",
            query.source,
            "",
            "plan on this database:",
            *(f"  {visible(step)}" for step in steps),
        ]
    )


def checked(path: str, outcome: CheckWire) -> str:
    """One line for each finding, or one that there are none; then the remarks."""
    lines = outcome.findings or [f"Nothing is wrong with {path}."]
    return "\n".join(map(visible, [*lines, *(f"Remark: {each}." for each in outcome.remarks)]))


def backed_up(path: str, size: int) -> str:
    return f"Copied the database to {visible(path)} ({size:,} bytes), checked."
