"""The database: connections, migrations, and the queries of `sql/` as typed functions."""

from sqlite3 import Connection

__all__ = ["Connection"]
