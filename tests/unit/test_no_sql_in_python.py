"""SQL stands in ``sql/`` alone; ``store`` may also set pragmas and open and close transactions.

SQLite itself is asked whether a string constant is a statement: what its parser gets through is
one, whatever tables it names. Pieces that would be glued into a statement are known by their
clause. Docstrings are prose, and a pattern for :mod:`re` is not text that SQLite will see.
"""

from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_VERB = re.compile(
    r"\s*(?:--.*\n\s*)*(?:WITH|SELECT|VALUES|INSERT|REPLACE|UPDATE|DELETE|CREATE|ALTER|DROP|EXPLAIN)\s",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\s*(?:SELECT|FROM|WHERE|JOIN|SET|VALUES|RETURNING|LIMIT|ORDER BY|GROUP BY|ON CONFLICT"
    r"|INSERT(?: OR [A-Z]+)? INTO|DELETE FROM|UPDATE)\s+\S"
)
_CONTROL = re.compile(
    r"\s*(?:PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|ATTACH|DETACH|VACUUM|REINDEX|ANALYZE)\b"
)
_STORE_MAY = re.compile(r"(?:PRAGMA|BEGIN|COMMIT|ROLLBACK)\b")
_NOT_SQL = ("syntax error", "incomplete input", "unrecognized token")


def sql_in(source: str, *, in_store: bool) -> list[tuple[int, str]]:
    """The (line, text) of every string constant in ``source`` that is SQL out of its place."""
    tree = ast.parse(source)
    harmless = {id(node) for node in _prose_and_patterns(tree)}
    found = []
    for node in _outermost_strings(tree):
        text = _text(node)
        allowed = in_store and _STORE_MAY.match(text)
        if id(node) not in harmless and not allowed and _is_sql(text):
            found.append((node.lineno, text))
    return found


def _prose_and_patterns(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=value):
                yield value
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=[pattern, *_]):
                yield pattern


def _outermost_strings(tree: ast.AST) -> list[ast.Constant | ast.JoinedStr]:
    found: list[ast.Constant | ast.JoinedStr] = []
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.JoinedStr) or (
            isinstance(child, ast.Constant) and isinstance(child.value, str)
        ):
            found.append(child)
        else:
            found += _outermost_strings(child)
    return found


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    """The text of a string; what an f-string fills in becomes a bare word, as a table would be."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "filled" for part in parts
    )


def _is_sql(text: str) -> bool:
    if _CLAUSE.match(text) or _CONTROL.match(text):
        return True
    if not _VERB.match(text):
        return False
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"EXPLAIN {text.removeprefix('EXPLAIN ')}")
    except sqlite3.Error as error:
        return not any(reason in str(error) for reason in _NOT_SQL)
    finally:
        connection.close()
    return True


@pytest.mark.parametrize("folder", ["cafleet", "demo"])
def test_no_sql_outside_the_sql_files(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    out_of_place = [
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for path in paths
        for line, text in sql_in(
            path.read_text(encoding="utf-8"),
            in_store=path.is_relative_to(ROOT / "cafleet" / "store"),
        )
    ]
    assert out_of_place == []


@pytest.mark.parametrize(
    "planted",
    [
        'rows = conn.execute("SELECT name FROM members WHERE member_id = ?", (1,))',
        'rows = conn.execute("select name from members where member_id = :id")',
        'conn.execute(f"UPDATE {table} SET name = ? WHERE member_id = ?")',
        'conn.execute("insert into fleets (name) values (?)")',
        'conn.execute("""\n    -- a comment first\n    delete from fleets\n""")',
        'conn.execute("WITH wanted AS (SELECT 1) SELECT * FROM wanted")',
        'conn.execute("create index i on messages (text)")',
        'query = base + " WHERE fleet_id = ?"',
        'query = base + "ORDER BY member_id"',
        'conn.execute("SAVEPOINT one")',
        'conn.execute("VACUUM")',
    ],
)
def test_planted_sql_is_found_everywhere(planted: str) -> None:
    assert sql_in(planted, in_store=False)
    assert sql_in(planted, in_store=True)


@pytest.mark.parametrize("control", ["PRAGMA foreign_keys=ON", "BEGIN IMMEDIATE", "COMMIT"])
def test_only_store_controls_connections(control: str) -> None:
    source = f"conn.execute({control!r})"
    assert sql_in(source, in_store=False)
    assert not sql_in(source, in_store=True)


@pytest.mark.parametrize(
    "plain",
    [
        '"Create a fleet with a Director and a monitor."',
        '"Delete the fleet; its messages stay."',
        '"Update the placement of a member"',
        '"Select a member from the list."',
        '"With --wait, blocks until the message was seen."',
        'f"Drop {name} and go on"',
        '"begin"',
        '"FROM"',
        '"released"',
    ],
)
def test_plain_words_are_not_taken_for_sql(plain: str) -> None:
    assert not sql_in(f"help = {plain}", in_store=False)


def test_docstrings_may_speak_of_sql() -> None:
    assert not sql_in(
        'def f():\n    """SELECT name FROM members, as the DBA does."""', in_store=False
    )


def test_patterns_may_look_for_sql() -> None:
    assert not sql_in('import re\nre.search(r"ORDER BY (.+);$", sql)', in_store=True)
    assert sql_in('import re\nre.sub(r"x", "ORDER BY name", sql)', in_store=True)
