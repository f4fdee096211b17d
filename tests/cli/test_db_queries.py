"""`db queries`: what every query promises, and how one runs on the database at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cafleet.store.contracts import read_contracts
from tests.harness.database import Database
from tests.harness.program import Program
from tests.harness.refusals import Refusals
from tests.harness.registry import Registry

KEYS = ["name", "file", "line", "params", "record", "plan"]
ROOT = Path(__file__).parents[2]


def steps(explained: str) -> Sequence[str]:
    return explained.partition("\nplan on this database:\n")[2].splitlines()


def test_all_of_them(refusals: Refusals, cafleet: Program) -> None:
    listed = cafleet.run("db", "queries", "--json").json()
    assert [query["name"] for query in listed] == [each.name for each in read_contracts()]
    for query in listed:
        assert list(query) == KEYS
        line = (ROOT / query["file"]).read_text().splitlines()[query["line"] - 1]
        assert line.startswith(f"-- name: {query['name']}(")
    by_name = {query["name"]: query for query in listed}
    assert by_name["list_timeline"]["params"] == [
        {"name": "fleet_id", "type": "int"},
        {"name": "limit", "type": "int"},
    ]
    assert by_name["list_timeline"]["record"] == "TrackedMessageRow"
    assert by_name["list_fleets"]["plan"] == ["idx_members_fleet_status", "scan fleets"]
    assert by_name["ack_message"]["record"] is None
    header, *rows = cafleet.run("db", "queries").ok().stdout.splitlines()
    assert header.split() == ["NAME", "FILE", "PARAMS", "RECORD", "PLAN"]
    assert [row.split()[:2] for row in rows] == [
        [query["name"], f"{query['file']}:{query['line']}"] for query in listed
    ]


def test_one_of_them(refusals: Refusals, cafleet: Program, registry: Registry) -> None:
    shown = cafleet.run("db", "queries", "list_pending").ok().stdout
    assert shown.startswith("sql/queries/messages.sql:")
    assert "-- name: list_pending(member_id, limit)\n-- The deliveries that" in shown
    assert (
        "ORDER BY messages.status_timestamp DESC, messages.message_id DESC\nLIMIT :limit;\n"
        in shown
    )
    assert steps(shown) == [
        "  SEARCH messages USING INDEX idx_messages_pending (owner_member_id=?)"
    ]
    [query] = cafleet.run("db", "queries", "list_pending", "--json").json()
    assert list(query) == KEYS
    registry.rows("DROP INDEX idx_messages_pending")
    (step,) = steps(cafleet.run("db", "queries", "list_pending").ok().stdout)
    assert "idx_messages_owner_member_status_ts" in step


def test_inner_steps_are_indented(refusals: Refusals, cafleet: Program) -> None:
    shown = steps(cafleet.run("db", "queries", "list_activity").ok().stdout)
    assert "  CORRELATED SCALAR SUBQUERY 1" in shown
    assert any(line.startswith("    SEARCH messages USING COVERING INDEX") for line in shown)


def test_the_predecessors_table_may_be_absent(refusals: Refusals, cafleet: Program) -> None:
    shown = cafleet.run("db", "queries", "list_published_versions").ok().stdout
    assert steps(shown) == ["  nothing to search, or no such table"]


@pytest.mark.parametrize("name", ["nothing", "list_pending(member_id)", "x\x1b[31m", "%", "'"])
def test_a_query_that_there_is_not(refusals: Refusals, name: str) -> None:
    refusals.expect(1, "there is no query", "db", "queries", name)


def test_only_the_schema_guard_is_in_front(refusals: Refusals, registry: Registry) -> None:
    registry.rows("DELETE FROM asset_installs")
    refusals.expect(1, "run `cafleet setup`", "fleet", "list")
    refusals.cafleet.run("db", "queries", "get_fleet").ok()
    refusals.cafleet.run("db", "backup", str(registry.path.with_name("copy.db"))).ok()
    registry.rows("DELETE FROM schema_migrations WHERE version > 8")
    for command in (("db", "queries"), ("db", "backup", "other.db")):
        refusals.expect(1, "is at schema 8, older than this program's", *command)


def test_without_a_database(cafleet: Program, tmp_path: Path) -> None:
    missing = Database(tmp_path / "none" / "fleet.db")
    cafleet.environment["CAFLEET_DATABASE_URL"] = missing.url
    for command in (("queries",), ("check",), ("check", "--json"), ("backup", "copy.db")):
        refused = cafleet.run("db", *command)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert refused.stderr.startswith(f"Error: there is no database at {missing.path}; run")
        assert refused.stderr.count("\n") == 1
    assert not missing.path.parent.exists()
