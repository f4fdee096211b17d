"""The database of one test, looked at from outside the program."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cafleet import __version__

HEARTBEAT = 'INSERT INTO "monitor_runtime"'


@dataclass(frozen=True)
class Database:
    """A database file, by the URL that the program is given."""

    path: Path

    @classmethod
    def at(cls, url: str) -> Database:
        """The database that a program is given by ``url``."""
        return cls(Path(url.removeprefix("sqlite:///")))

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    def connect(self) -> sqlite3.Connection:
        """A connection of one's own that commits every statement; the caller closes it."""
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("PRAGMA busy_timeout = 5000")
        return connection

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows; what it wrote is committed."""
        with closing(self.connect()) as connection:
            return connection.execute(sql, parameters).fetchall()

    def value(self, sql: str, *parameters: Any) -> Any:
        """The one value of a query for one row."""
        [(value,)] = self.rows(sql, *parameters)
        return value

    def identity(self, member_id: int) -> dict[str, str]:
        """The variables by which a program acts for a member, as its pane gives them."""
        fleet_id = self.value("SELECT fleet_id FROM members WHERE member_id = ?", member_id)
        return {
            "CAFLEET_DATABASE_ID": self.value("SELECT database_id FROM database_identity"),
            "CAFLEET_FLEET_ID": str(fleet_id),
            "CAFLEET_MEMBER_ID": str(member_id),
        }

    def record_assets(self, home: Path) -> None:
        """Have the program believe that claude's assets are installed below ``home``."""
        self.rows(
            "INSERT INTO asset_installs VALUES ('claude', ?, ?, '2026-05-05T05:42:11.123456+00:00')",
            str(home / ".claude"),
            __version__,
        )

    def dump(self) -> list[str]:
        """The content as SQL, to compare before and after a refusal.

        A fleet's loop notes its heartbeat meanwhile, whatever is refused, so its row is left out.
        """
        with closing(self.connect()) as connection:
            # What a test has damaged may be text that is not UTF-8.
            connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            return [line for line in connection.iterdump() if HEARTBEAT not in line]

    def check(self) -> None:
        """Fail unless the file, if it still is there, is sound and every reference holds."""
        if self.path.exists():
            assert self.rows("PRAGMA integrity_check") == [("ok",)]
            assert self.rows("PRAGMA foreign_key_check") == []
