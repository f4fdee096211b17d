"""Every query of `sql/queries/`, held to its contract without being told about it.

A query must promise what it does in its header, keep that on the schema at head, run on a database
that is in use and decode what it finds there, and be called by the program.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cafleet import records
from cafleet.errors import DatabaseError
from cafleet.store import codegen, queries, rows
from cafleet.store.access import many
from cafleet.store.connection import connect
from cafleet.store.contract_checks import findings, uncalled
from cafleet.store.contracts import ENUMS, ROWS, Contract, Parameter, read_contracts
from cafleet.store.files import query_file, query_namespaces
from cafleet.store.query_text import misread
from cafleet.store.reference import database_for_queries
from cafleet.store.rows import Row, Source
from tests.sql.databases import (
    HEAD,
    HISTORY,
    MONITOR_CARD,
    insert,
    insert_member,
    migrate_to,
    opened,
    populate,
    setup,
)

CONTRACTS = read_contracts()
PACKAGE = Path(queries.__file__).parents[1]

each_query = pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.name)
each_file = pytest.mark.parametrize("namespace", query_namespaces())


@pytest.fixture(scope="module")
def schema() -> Iterator[sqlite3.Connection]:
    with closing(database_for_queries()) as conn:
        yield conn


@each_query
def test_keeps_its_promises(schema: sqlite3.Connection, contract: Contract) -> None:
    assert findings(schema, contract) == []


def test_every_query_is_called() -> None:
    assert uncalled(CONTRACTS, PACKAGE) == []


def test_every_function_has_its_query() -> None:
    generated = {
        name
        for name, value in vars(queries).items()
        if callable(value) and value.__module__ == queries.__name__
    }
    assert generated == {contract.name for contract in CONTRACTS}
    assert len(CONTRACTS) == len({contract.name for contract in CONTRACTS}) > 60


# Numbers that SQLite counts or gives itself, and sentences of our own: no stored value is behind them.
COMPUTED = {
    "member_count",
    "owed",
    "unacked",
    "unsure",
    "message_count",
    "pending_count",
    "untried",
    "typed",
    "pressing",
    "unreachable",
    "fault",
    "install_id",
    "entries",
    "oldest",
    "newest",
}


# The histories of the published programs are in no database of our own.
@pytest.mark.parametrize("name", sorted(ROWS - {"PublishedVersionRow", "AlembicRevisionRow"}))
def test_each_field_of_a_row_is_traced_to_its_column(schema: sqlite3.Connection, name: str) -> None:
    row: type[Row] = getattr(rows, name)
    for field in set(row.__struct_fields__) - COMPUTED:
        source = row.joined.get(field) or Source(row.table, field, row.key, row.key)
        columns = {column[1] for column in schema.execute(f"PRAGMA table_info({source.table})")}
        assert {source.column, source.key} <= columns, field
        assert source.held_by in row.__struct_fields__, field
    assert row.joined.keys() & COMPUTED == set()


@each_file
def test_file_is_read_as_it_is_written(namespace: str) -> None:
    text = query_file(namespace)
    assert misread(text) is None
    assert text.count("-- name: ") == sum(each.namespace == namespace for each in CONTRACTS)
    assert text.isascii()
    assert "\r" not in text
    assert "\t" not in text


@each_file
def test_file_is_named_for_the_table_of_its_queries(namespace: str) -> None:
    with closing(database_for_queries()) as conn:
        tables = {name for _, name, *_ in conn.execute("PRAGMA table_list")}
    assert namespace in tables | {"sqlite_master"}


def test_each_file_writes_its_own_table_alone() -> None:
    with closing(database_for_queries()) as conn:
        written = {
            (contract.namespace, table)
            for contract in CONTRACTS
            if contract.shape == "change" or contract.sql.startswith("INSERT")
            for table in tables_written(conn, contract)
        }
    assert {(namespace, table) for namespace, table in written if namespace != table} == set()


def tables_written(conn: sqlite3.Connection, contract: Contract) -> set[str]:
    """The tables that SQLite's compiler says the query writes."""
    written: set[str] = set()
    writing = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)

    def note(action: int, table: str | None, *_: str | None) -> int:
        # A table-valued function, when first met, is reported as a write to the catalogue.
        if action in writing and table is not None and table != "sqlite_master":
            written.add(table)
        return sqlite3.SQLITE_OK

    conn.set_authorizer(note)
    values = {parameter.name: None for parameter in contract.parameters}
    conn.execute(f"EXPLAIN {contract.sql}", values).close()
    conn.set_authorizer(None)
    return written


def test_every_index_is_promised_by_a_query_or_keeps_rows_apart(schema: sqlite3.Connection) -> None:
    promised = {index for contract in CONTRACTS for index in contract.plan}
    kept = {
        name
        for (name,) in schema.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql NOT LIKE 'CREATE UNIQUE%'"
        )
    }
    assert promised - {"primary key"} == kept


def test_generated_files_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert codegen.main(["--check"]) == 0
    assert capsys.readouterr() == ("", "")


# --- run on a database in use


@pytest.fixture(scope="module")
def in_use(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """Rows in every table, and what only setup meets: a history, two monitors, a bad card."""
    path = tmp_path_factory.mktemp("in-use") / "fleet.db"
    migrate_to(path, 8)
    populate(path, 8)
    setup(path)
    with opened(path) as conn:
        conn.execute(HISTORY)
        insert(conn, "refinery_schema_history", version=1, name="baseline")
        conn.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
        insert(conn, "alembic_version", version_num="0006")
        conn.execute("UPDATE monitor_runtime SET pid = 1, started_at = 'u', last_tick_at = NULL")
        conn.execute("UPDATE member_placements SET screen = 'gone'")
        conn.execute("DROP INDEX idx_members_one_active_monitor_per_fleet")
        insert(conn, "fleets", fleet_id=3, created_at="t", paused_at="t")
        insert_member(conn, 9, 3, member_card_json=MONITOR_CARD)
        insert_member(conn, 10, 3, member_card_json=MONITOR_CARD)
        insert_member(conn, 11, 3, member_card_json="{bad")
        for member_id in range(12, 18):
            insert_member(conn, member_id, 3)
        # Messages 10 to 17 are in the eight states that a delivery can be in, 18 is told in a pane.
        for message_id, state in enumerate([*records.DeliveryState, "unsure"], 10):
            insert(
                conn,
                "messages",
                message_id=message_id,
                owner_member_id=4,
                from_member_id=1,
                to_member_id=4,
                type="unicast",
                created_at="t",
                status_state="input_required",
                status_timestamp="t",
                text="x",
                delivery_state=state,
            )
            insert(conn, "delivery_events", message_id=message_id, at="t", state=state)
        insert(
            conn,
            "waits",
            wait_id=1,
            waiter_member_id=1,
            awaited_member_id=4,
            message_id=10,
            started_at="t",
            until_at="t",
            lock_file="/tmp/lock",
        )
        conn.execute("UPDATE messages SET forwarded_from = 3 WHERE message_id = 11")
        conn.execute("UPDATE members SET successor_member_id = 4 WHERE member_id = 3")
        insert(
            conn,
            "left_processes",
            member_id=4,
            pid=1,
            started="1",
            boot="b",
            name="n",
            noted_at="t",
        )
        insert(
            conn,
            "member_launches",
            member_id=4,
            coding_agent="claude",
            working_directory="/",
            agent_base="/c",
            worktree="/w",
            launch_number=4,
            launched_at="t",
        )
        insert(
            conn,
            "member_launch_arguments",
            member_id=4,
            position=0,
            kind="allow",
            argument="ls",
        )
        # A fleet of nobody, as it is for a moment while ids are reserved.
        insert(conn, "fleets", fleet_id=29, created_at="t")
        for number in range(1, 30):
            insert(
                conn,
                "reserved_members",
                member_id=number,
                fleet_id=number,
                is_director=1,
                reserved_at="t",
            )
        insert(
            conn,
            "typings",
            member_id=4,
            kind="notice",
            text="x",
            mux_pane_id="%4",
            program="claude",
            token="u",
            typed_at="t",
            state="unsure",
        )
        insert(conn, "typing_messages", message_id=18, member_id=4)
    with closing(connect(str(path))) as conn:
        yield conn


def value_for(parameter: Parameter, seed: int) -> Any:
    """A value of the parameter's type: an id is ``seed``, a list all that are members and messages,
    and what lies before an id lies before one that no row has reached."""
    type_ = parameter.type.removesuffix(" | None")
    if type_ in ENUMS:
        values = list(getattr(records, type_))
        return values[seed % len(values)]
    if type_ == "list[int]":
        return [1, 2, 3, 4, 5, *range(9, 18)]
    if parameter.name in ("before", "last_id"):
        return 100
    if parameter.name == "fleet_id":
        return seed if seed == 29 else seed % 4
    if parameter.name == "name":
        return "members"  # a name like any other, and that of a table
    if type_ == "int":
        # How far a page goes; the other numbers are ids, and where it begins.
        return 99 if parameter.name in ("until_id", "limit") else seed
    return f"%{seed}" if parameter.name == "mux_pane_id" else "u"


@each_query
def test_runs_on_a_database_in_use(in_use: sqlite3.Connection, contract: Contract) -> None:
    """With some ids it finds or changes something, and what it finds is decoded."""
    for seed in range(30):
        values = {each.name: value_for(each, seed) for each in contract.parameters}
        in_use.execute("BEGIN IMMEDIATE")
        try:
            result = getattr(queries, contract.name)(in_use, **values)
        except DatabaseError as failure:
            if not re.search("SQLITE_CONSTRAINT|second row", str(failure)):
                raise
            # A row that exists already, or refers to none: with another id it may go in.
            continue
        finally:
            in_use.execute("ROLLBACK")
        found = result if isinstance(result, list) else [result]
        assert all(isinstance(each, Row | int | str | None) for each in found)
        if result:
            return
    pytest.fail(f"{contract.source} finds and changes nothing, whatever it is given")


@pytest.mark.parametrize("row", [rows.MemberIdRow, rows.StoredMemberRow])
def test_a_result_of_another_length_is_no_damage(
    in_use: sqlite3.Connection, row: type[Row]
) -> None:
    """It is a fault of the program, which is never told as one of the data."""
    with pytest.raises(msgspec.ValidationError, match=r"at (most|least) length"):
        many(in_use, "members", "list_member_names", row, {"member_ids": "[1, 2]"})


def test_database_in_use_is_at_head(in_use: sqlite3.Connection) -> None:
    extent = queries.get_ledger_extent(in_use)
    assert extent == rows.LedgerExtentRow(entries=HEAD, oldest=1, newest=HEAD)
    assert HEAD == queries.SCHEMA_VERSION
