"""What each query promises in its header, read with aiosql's own loader.

The grammar of a header, one promise per line, after ``-- name: <name>(<parameters>)<shape>``::

    -- <what the query is for, in any number of lines>
    -- params: <name> <type>[ = <table>.<column>], …   for every parameter
    -- returns: <Row struct, or scalar type>           unless the query only writes
    -- plan: <index>, …                                every index it searches; `primary key` for rowids
    -- scan: <table or alias> (<why that is right>)    each scan that is accepted
    -- sort: <why that is right>                       if it sorts outside an index
"""

from __future__ import annotations

import re
from enum import StrEnum
from keyword import iskeyword
from typing import Any

import msgspec
from aiosql.query_loader import QueryLoader
from aiosql.types import QueryDatum, SQLOperationType
from aiosql.utils import SQLLoadException, SQLParseException

from cafleet import records
from cafleet.errors import CafleetError
from cafleet.store import rows
from cafleet.store.files import query_file, query_namespaces
from cafleet.store.query_text import chunks, misread
from cafleet.store.repository import RowAdapter

VERBS = frozenset(
    [
        "get",
        "list",
        "find",
        "insert",
        "upsert",
        "set",
        "mark",
        "ack",
        "settle",
        "delete",
        "count",
    ]
)
_SHAPES = {
    SQLOperationType.SELECT: "many",
    SQLOperationType.SELECT_ONE: "one",
    SQLOperationType.SELECT_VALUE: "scalar",
    SQLOperationType.INSERT_UPDATE_DELETE: "change",
}
ENUMS = frozenset(
    name
    for name, value in vars(records).items()
    if isinstance(value, type) and issubclass(value, StrEnum) and value is not StrEnum
)
ROWS = frozenset(name for name in vars(rows) if name.endswith("Row") and name != "Row")
_SCALARS = frozenset(["int", "str", "int | None", "str | None"])
_PROMISE = re.compile(r"(params|returns|plan|scan|sort): (.+)")
_PARAMETER = re.compile(r"(\w+) ([\w\[\]]+(?: \| None)?)(?: = (\w+\.\w+))?")
_SCAN = re.compile(r"(\w+) \((.+)\)")


class ContractError(CafleetError):
    """A query breaks the rules for queries; the message begins with its file and line."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """``column`` is the ``table.column`` that gives the type, where the name alone does not."""

    name: str
    type: str
    column: str | None


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """One query with its promises. ``shape`` is ``many``, ``one``, ``scalar`` or ``change``."""

    namespace: str
    name: str
    shape: str
    sql: str
    line: int
    purpose: str
    parameters: tuple[Parameter, ...]
    returns: str | None
    plan: frozenset[str]
    scans: frozenset[str]
    sorts: bool

    @property
    def file(self) -> str:
        return f"sql/queries/{self.namespace}.sql"

    @property
    def source(self) -> str:
        return f"{self.file}:{self.line}"


def read_contracts() -> list[Contract]:
    """The contracts of all query files, by file and place.

    Raises:
        ContractError: a header breaks the grammar, or a name stands twice.
    """
    found: dict[str, Contract] = {}
    for namespace in query_namespaces():
        for contract in parse_contracts(namespace, query_file(namespace)):
            if contract.name in found:
                first = found[contract.name].source
                raise ContractError(
                    f"{contract.source}: {contract.name} is already at {first}; rename it"
                )
            found[contract.name] = contract
    return list(found.values())


def parse_contracts(namespace: str, text: str) -> list[Contract]:
    """The contracts of the query file ``namespace``; raises as :func:`read_contracts`."""
    wrong = misread(text)
    if wrong is not None:
        raise ContractError(f"sql/queries/{namespace}.sql:{wrong[0]}: {wrong[1]}")
    return [
        _contract(namespace, line, _load(namespace, line, query)) for line, query in chunks(text)
    ]


def query_source(contract: Contract) -> str:
    """The query as its file has it, header and all."""
    return dict(chunks(query_file(contract.namespace)))[contract.line].rstrip()


def _load(namespace: str, line: int, query: str) -> QueryDatum:
    """What aiosql makes of one query. By itself, so that every complaint has the query's line."""
    # aiosql declares no types for the adapter's constructor.
    adapter: Any = RowAdapter
    source = f"sql/queries/{namespace}.sql"
    try:
        [datum] = QueryLoader(adapter(), None).load_query_data_from_sql(query, [], source)
    except (SQLParseException, SQLLoadException) as refused:
        raise ContractError(
            f"{source}:{line}: {str(refused).replace(f' at {source}:1', '')}; correct the header"
        ) from refused
    return datum


def _contract(namespace: str, line: int, datum: QueryDatum) -> Contract:
    where = f"sql/queries/{namespace}.sql:{line}: {datum.query_name}"
    promises: dict[str, list[str]] = {}
    purpose = []
    for comment in datum.doc_comments.splitlines():
        promise = _PROMISE.fullmatch(comment.strip())
        if promise:
            promises.setdefault(promise[1], []).append(promise[2])
        else:
            purpose.append(comment.strip())
    for key in ("params", "returns", "plan", "sort"):
        if len(promises.get(key, [])) > 1:
            raise ContractError(f"{where} has two lines `{key}:`; join them")
    if not purpose:
        raise ContractError(f"{where} does not say what it is for; add a comment under its name")
    shape, returns = _shape(where, datum), promises.get("returns", [None])[0]
    _check_result(where, shape, returns)
    return Contract(
        namespace=namespace,
        name=datum.query_name,
        shape=shape,
        sql=datum.sql,
        line=line,
        purpose=" ".join(purpose),
        parameters=_parameters(where, promises.get("params", [""])[0], datum.parameters or []),
        returns=returns,
        plan=frozenset(", ".join(promises.get("plan", [])).split(", ")) - {""},
        scans=frozenset(_scan(where, text) for text in promises.get("scan", [])),
        sorts="sort" in promises,
    )


def _shape(where: str, datum: QueryDatum) -> str:
    shape = _SHAPES.get(datum.operation_type)
    if shape is None:
        raise ContractError(f"{where} has a shape other than many, ^, $ and !; choose one of these")
    if datum.query_name.partition("_")[0] not in VERBS:
        raise ContractError(
            f"{where} begins with no known verb; use one of {', '.join(sorted(VERBS))}"
        )
    return shape


def _check_result(where: str, shape: str, returns: str | None) -> None:
    if (shape == "change") == (returns is not None):
        raise ContractError(f"{where} must say what it returns, unless it only writes (!)")
    if shape == "scalar" and returns not in _SCALARS:
        raise ContractError(f"{where} returns {returns}, which is no scalar; use int or str")
    if shape in ("many", "one") and returns not in ROWS:
        raise ContractError(
            f"{where} returns {returns}, and there is no such struct in store/rows.py; add it"
        )


def _parameters(where: str, text: str, names: list[str]) -> tuple[Parameter, ...]:
    parameters = []
    for part in text.split(", ") if text else []:
        match = _PARAMETER.fullmatch(part)
        if match is None:
            raise ContractError(f"{where}: `params: {part}` is not `<name> <type>`; correct it")
        _check_parameter(where, match[1], match[2])
        parameters.append(Parameter(name=match[1], type=match[2], column=match[3]))
    if [parameter.name for parameter in parameters] != names:
        raise ContractError(
            f"{where}: `params:` must name {', '.join(names) or 'nothing'}, in that order"
        )
    return tuple(parameters)


def _check_parameter(where: str, name: str, type_: str) -> None:
    if iskeyword(name) or name == "conn":
        raise ContractError(f"{where}: :{name} cannot name a Python parameter; rename it")
    if type_ != "list[int]" and type_.removesuffix(" | None") not in ENUMS | {"int", "str"}:
        raise ContractError(f"{where}: {type_} is no type for :{name}; correct it")


def _scan(where: str, text: str) -> str:
    match = _SCAN.fullmatch(text)
    if match is None:
        raise ContractError(f"{where}: `scan: {text}` is not `<table> (<reason>)`; give the reason")
    return match[1]
