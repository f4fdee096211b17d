"""The registry as a command meets it: guarded, open for as long as the command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from cafleet import settings

if TYPE_CHECKING:
    from cafleet.store import Connection


@contextmanager
def open_session() -> Iterator[Connection]:
    """The user's database behind its guards.

    Raises:
        SettingError: the variable that names the database is unusable.
        SchemaError: the database is missing, older, newer, or not ours.
        DatabaseError: it cannot be opened.
        AgentError: no coding agent has its skill installed, or one has that of another version.
    """
    path = settings.database_path()
    from cafleet.operations.asset_guard import check_assets
    from cafleet.store.guard import open_database

    with closing(open_database(path)) as conn:
        check_assets(conn)
        yield conn
