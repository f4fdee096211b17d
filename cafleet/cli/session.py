"""The registry as a command meets it: guarded, open for as long as the command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from cafleet import settings

if TYPE_CHECKING:
    from cafleet.store import Connection


@contextmanager
def open_registry() -> Iterator[Connection]:
    """The user's database behind the schema guard alone.

    Raises:
        SettingError: the variable that names the database is unusable.
        SchemaError: the database is missing, older, newer, or not ours.
        DatabaseError: it cannot be opened.
    """
    path = settings.database_path()
    from cafleet.store.guard import open_database

    with closing(open_database(path)) as conn:
        yield conn


@contextmanager
def open_session() -> Iterator[Connection]:
    """The user's database behind both guards.

    Raises:
        SettingError, SchemaError, DatabaseError: as by :func:`open_registry`.
        AgentError: no coding agent has its skill installed, or one has that of another version.
    """
    with open_registry() as conn:
        from cafleet.operations.asset_guard import check_assets

        check_assets(conn)
        yield conn
