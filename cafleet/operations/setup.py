"""The database half of `setup`."""

from __future__ import annotations

from cafleet import clock
from cafleet.store.migrate import MigrationReport, migrate


def migrate_database(path: str) -> MigrationReport:
    """Create the database at ``path`` or bring it to this program's schema.

    Raises:
        SchemaError, DatabaseError: it could not be done; the database is as it was.
    """
    return migrate(path, now=clock.utc_now())
