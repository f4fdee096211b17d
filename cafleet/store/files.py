"""Where the SQL files are: inside an installed package, or beside it in a checkout."""

from __future__ import annotations

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
    package = files("cafleet")
    for folder in (package.joinpath("sql"), package.joinpath("..", "sql")):
        if folder.is_dir():
            return folder
    raise DatabaseError("this installation lacks its SQL files; install cafleet again")


@cache
def query_file(namespace: str) -> str:
    """The text of ``sql/queries/<namespace>.sql``, UTF-8 whatever the locale."""
    return sql_folder().joinpath("queries", f"{namespace}.sql").read_text(encoding="utf-8")


def query_namespaces() -> list[str]:
    """The names of all query files, without their ending, sorted."""
    entries = sql_folder().joinpath("queries").iterdir()
    return sorted(entry.name[:-4] for entry in entries if entry.name.endswith(".sql"))
