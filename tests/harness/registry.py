"""A registry whose rows are put in by hand, for states that are slow or impossible to command."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cafleet.broker.placements import PendingPlacement
from cafleet.clock import stamp
from cafleet.records import Backend, CodingAgent
from cafleet.store.connection import connect
from cafleet.store.migrate import migrate
from tests.harness.database import Database

NOW = datetime(2026, 5, 5, 5, 42, 11, 123456, tzinfo=UTC)
THEN = stamp(NOW)
HOME = PendingPlacement(
    backend=Backend.TMUX,
    socket="/tmp/s",
    server_pid=4711,
    session="main",
    window="@0",
    coding_agent=CodingAgent.CLAUDE,
)


@dataclass(frozen=True)
class Registry(Database):
    """A database at head. What is put in is at :data:`NOW` unless something else is said."""

    def fleet(self, *, name: str | None = "f", deleted_at: str | None = None) -> int:
        """A fleet that has no Director yet; its id."""
        return self._insert("fleets", name=name, created_at=THEN, deleted_at=deleted_at)

    def member(
        self,
        fleet_id: int,
        name: str = "m",
        *,
        status: str = "active",
        kind: str = "member",
        card: Any = None,
    ) -> int:
        """A member without a placement; its id. ``card`` is stored as it is given."""
        if card is None:
            own: dict[str, Any] = {"name": name, "description": "d", "skills": []}
            card = json.dumps(own | ({"cafleet": {"kind": kind}} if kind == "monitor" else {}))
        member_id = self._insert(
            "members",
            fleet_id=fleet_id,
            name=name,
            description="d",
            status=status,
            registered_at=THEN,
            member_card_json=card,
        )
        if kind == "director":
            self.rows(
                "UPDATE fleets SET director_member_id = ? WHERE fleet_id = ?", member_id, fleet_id
            )
        return member_id

    def crew(self, *names: str) -> tuple[int, ...]:
        """A fleet's Director, monitor and ordinary members by these names; all their ids."""
        fleet_id = self.fleet()
        first = (
            self.member(fleet_id, "Director", kind="director"),
            self.member(fleet_id, "monitor", kind="monitor"),
        )
        return (*first, *(self.member(fleet_id, name) for name in names))

    def place(self, member_id: int, pane: str | None, **columns: Any) -> None:
        """Give a member a placement, pending where ``pane`` is None."""
        values: dict[str, Any] = {
            "mux_session": "main",
            "mux_window_id": "@0",
            "backend": "tmux",
            "coding_agent": "claude",
            "created_at": THEN,
        }
        self._insert(
            "member_placements", member_id=member_id, mux_pane_id=pane, **(values | columns)
        )

    def message(self, sender_id: int, recipient_id: int, text: str = "hi", **columns: Any) -> int:
        """A delivery that waits for its ACK; its id."""
        values: dict[str, Any] = {
            "to_member_id": recipient_id,
            "type": "unicast",
            "created_at": THEN,
            "status_state": "input_required",
            "status_timestamp": THEN,
            "text": text,
            "delivery_state": "none",
        }
        return self._insert(
            "messages",
            owner_member_id=recipient_id,
            from_member_id=sender_id,
            **(values | columns),
        )

    def _insert(self, table: str, **values: Any) -> int:
        marks = ", ".join("?" * len(values))
        with closing(self.connect()) as conn:
            row_id = conn.execute(
                f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", [*values.values()]
            ).lastrowid
        assert row_id is not None
        return row_id


@pytest.fixture(scope="session")
def database_at_head(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database at head, to be copied."""
    path = tmp_path_factory.mktemp("head") / "fleet.db"
    migrate(str(path), now=NOW)
    return path


@pytest.fixture
def registry(database_at_head: Path, tmp_path: Path) -> Iterator[Registry]:
    """A registry of the test's own, without a row; its file is sound after the test."""
    path = tmp_path / "registry" / "fleet.db"
    path.parent.mkdir()
    path.write_bytes(database_at_head.read_bytes())
    registry = Registry(path)
    # Where the environment of a test has its home.
    registry.record_assets(tmp_path / "home")
    yield registry
    assert registry.rows("PRAGMA integrity_check") == [("ok",)]


@pytest.fixture
def conn(registry: Registry) -> Iterator[sqlite3.Connection]:
    """The registry as the program opens it."""
    with closing(connect(str(registry.path))) as conn:
        yield conn
