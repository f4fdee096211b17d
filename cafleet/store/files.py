"""Find SQL files and pages: inside an installed package, or beside it in a checkout."""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from cafleet.errors import DatabaseError


@cache
def sql_folder() -> Traversable:
    """The folder ``sql``; in a wheel (zipped or not) it lies in the package, else beside it.

    Raises:
        DatabaseError: the installation lacks it.
    """
    return _folder("sql")


def page(name: str) -> str:
    """The path of a page of ``docs`` that is shipped, such as ``recovery.md``, for a person to read.

    Raises:
        DatabaseError: the installation lacks it.
    """
    return os.path.normpath(str(_folder("docs").joinpath(name)))


def schema_path() -> str:
    """The path of ``sql/schema.sql``, for a person to read.

    Raises:
        DatabaseError: the installation lacks it.
    """
    return os.path.normpath(str(sql_folder().joinpath("schema.sql")))


def _folder(name: str) -> Traversable:
    package = files("cafleet")
    for folder in (package.joinpath(name), package.joinpath("..", name)):
        if folder.is_dir():
            return folder
    raise DatabaseError(f"this installation lacks its folder {name}; install cafleet again")


@cache
def query_file(namespace: str) -> str:
    """The text of ``sql/queries/<namespace>.sql``, UTF-8 whatever the locale."""
    return sql_folder().joinpath("queries", f"{namespace}.sql").read_text(encoding="utf-8")


def query_namespaces() -> list[str]:
    """The names of all query files, without their ending, sorted."""
    entries = sql_folder().joinpath("queries").iterdir()
    return sorted(entry.name[:-4] for entry in entries if entry.name.endswith(".sql"))
