"""The migrations as files: their names, their order, their statements."""

from __future__ import annotations

import re
import sqlite3
from hashlib import sha256

import msgspec

from cafleet.errors import DatabaseError
from cafleet.store.files import sql_folder

_NAME = re.compile(r"V([1-9][0-9]*)__[a-z0-9_]+\.sql", re.ASCII)


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """One numbered file. ``checksum`` is the SHA-256 of its bytes, in hexadecimal."""

    version: int
    file_name: str
    checksum: str
    statements: list[str]


def migrations() -> list[Migration]:
    """All shipped migrations, version 1 first.

    Raises:
        DatabaseError: a file's name is not of the form, or the numbers have a gap or a double.
    """
    found = []
    for entry in sql_folder().joinpath("migrations").iterdir():
        if not entry.name.startswith("V"):
            continue
        name = _NAME.fullmatch(entry.name)
        if name is None:
            raise DatabaseError(
                f"sql/migrations/{entry.name} is not named V<N>__<slug>.sql; rename it"
            )
        content = entry.read_bytes()
        found.append(
            Migration(
                version=int(name[1]),
                file_name=entry.name,
                checksum=sha256(content).hexdigest(),
                statements=statements(content.decode("utf-8")),
            )
        )
    found.sort(key=lambda migration: migration.version)
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        numbers = ", ".join(str(migration.version) for migration in found)
        raise DatabaseError(
            f"the migrations are numbered {numbers}; they must run from 1 without a gap"
        )
    return found


def ledger_statements() -> list[str]:
    """The statements that make the ledger of applied migrations."""
    return statements(sql_folder().joinpath("migrations", "ledger.sql").read_text(encoding="utf-8"))


def statements(text: str) -> list[str]:
    """Split SQL into statements, triggers kept whole.

    sqlite3's `executescript` would do, but it commits the open transaction first.

    Raises:
        DatabaseError: the last statement has no end.
    """
    found: list[str] = []
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending.strip())
            pending = ""
    if any(line.strip() and not line.lstrip().startswith("--") for line in pending.splitlines()):
        raise DatabaseError(
            f"an SQL statement has no end: {pending.strip()[:60]!r}; add its semicolon"
        )
    return found
