"""Every check of the queries, shown failing once: on a damaged copy of the checkout.

``make verify`` must name the file and the line of what is wrong, a line for each fault.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sql.checkouts import ROOT, Checkout, Verdict

MEMBERS = "sql/queries/members.sql"
MESSAGES = "sql/queries/messages.sql"
FLEETS = "sql/queries/fleets.sql"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    copied = Checkout(tmp_path_factory.mktemp("checkout"))
    yield copied
    copied.close()


@pytest.fixture
def checkout(copied: Checkout) -> Iterator[Checkout]:
    yield copied
    copied.repair()


def assert_named(checkout: Checkout, place: str, *fragments: str) -> None:
    """``make verify`` fails, with one line for ``place`` that holds the fragments, and no traceback."""
    done = checkout.generate("--check")
    assert done.exit_code == 1, done
    lines = done.stderr.splitlines()
    assert all(re.match(r"Error: [\w./]+:\d+: ", line) for line in lines), done.stderr
    assert any(
        line.startswith(f"Error: {place}: ") and all(each in line for each in fragments)
        for line in lines
    ), done.stderr


def test_the_copy_passes_before_it_is_damaged(checkout: Checkout) -> None:
    assert checkout.generate("--check") == Verdict(0, "", "")


def test_make_check_runs_what_is_shown_here() -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "check"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for command in ("cafleet.store.codegen --check", "sqlfluff lint sql", "-m pytest"):
        assert command in planned


def test_query_changed_without_make_generate(checkout: Checkout) -> None:
    checkout.replace(
        FLEETS, "-- One fleet, deleted or not.\n", "-- One fleet, whatever befell it.\n"
    )
    assert_named(checkout, "cafleet/store/queries.py:1", "is stale", "make generate")
    assert checkout.generate() == Verdict(0, "wrote cafleet/store/queries.py\n", "")
    assert checkout.generate("--check") == Verdict(0, "", "")


def test_generated_file_edited(checkout: Checkout) -> None:
    checkout.append("cafleet/store/queries.py", "# by hand\n")
    assert_named(checkout, "cafleet/store/queries.py:1", "is stale")


def test_migration_added_without_make_generate(checkout: Checkout) -> None:
    number = len(list((ROOT / "sql/migrations").glob("V*.sql"))) + 1
    added = checkout.folder / f"sql/migrations/V{number}__more.sql"
    added.write_text("CREATE TABLE more (more_id INTEGER PRIMARY KEY);\n")
    assert_named(checkout, "sql/schema.sql:1", "is stale")


FAULTS = {
    "a full scan": (
        MESSAGES,
        "get_message",
        "WHERE messages.message_id = :message_id;\n\n-- name: list_pending",
        "WHERE +messages.message_id = :message_id;\n\n-- name: list_pending",
        ["scans messages, and may scan nothing"],
    ),
    "a full scan on the right of a left join": (
        MESSAGES,
        "list_owed",
        "ON messages.from_member_id = senders.member_id",
        "ON messages.from_member_id = +senders.member_id",
        ["scans senders"],
    ),
    "another index than the promised one": (
        MESSAGES,
        "list_inbox",
        "WHERE messages.owner_member_id = :member_id AND +messages.type",
        "WHERE +messages.owner_member_id = :member_id AND +messages.type",
        ["promises idx_messages_owner_member_status_ts"],
    ),
    "an index promised in vain": (
        FLEETS,
        "get_fleet",
        "-- returns: FleetRow\n-- plan: primary key\n",
        "-- returns: FleetRow\n-- plan: primary key, idx_members_fleet_status\n",
        ["searches by primary key, and promises idx_members_fleet_status, primary key"],
    ),
    "a scan accepted in vain": (
        FLEETS,
        "get_fleet",
        "-- returns: FleetRow\n-- plan: primary key\n",
        "-- returns: FleetRow\n-- plan: primary key\n-- scan: fleets (few)\n",
        ["scans nothing, and may scan fleets"],
    ),
    "a sort outside an index": (
        MEMBERS,
        "list_member_names",
        "-- sort: at most 500 ids\n",
        "",
        ["sorts outside an index"],
    ),
    "a column too many": (
        MEMBERS,
        "list_member_names",
        "    members.member_id,\n    members.name\nFROM json_each",
        "    members.member_id,\n    members.name,\n    members.description\nFROM json_each",
        ["does not return the fields of MemberNameRow", "description"],
    ),
    "a column too few": (
        FLEETS,
        "get_fleet",
        (
            "    fleets.deleted_at,\n    fleets.director_member_id,\n"
            "    fleets.paused_at\nFROM fleets\nWHERE fleets.fleet_id"
        ),
        "    fleets.director_member_id,\n    fleets.paused_at\nFROM fleets\nWHERE fleets.fleet_id",
        ["does not return the fields of FleetRow", "deleted_at"],
    ),
    "a column twice": (
        MEMBERS,
        "list_member_names",
        "    members.member_id,\n    members.name\nFROM json_each",
        "    members.member_id,\n    members.name,\n    members.name\nFROM json_each",
        ["a column twice"],
    ),
    "two columns in another order": (
        FLEETS,
        "get_fleet",
        (
            "    fleets.created_at,\n    fleets.deleted_at,\n    fleets.director_member_id,\n"
            "    fleets.paused_at\nFROM fleets\nWHERE"
        ),
        (
            "    fleets.deleted_at,\n    fleets.created_at,\n    fleets.director_member_id,\n"
            "    fleets.paused_at\nFROM fleets\nWHERE"
        ),
        ["does not return the fields of FleetRow", "their order"],
    ),
    "two values where one is promised": (
        "sql/queries/database_identity.sql",
        "get_database_id",
        "SELECT database_identity.database_id\n",
        "SELECT\n    database_identity.database_id,\n    database_identity.singleton\n",
        ["returns 2 columns"],
    ),
    "every column": (
        MEMBERS,
        "list_member_names",
        "    members.member_id,\n    members.name\nFROM json_each",
        "    members.*\nFROM json_each",
        ["takes every column"],
    ),
    "no order": (
        "sql/queries/schema_migrations.sql",
        "list_applied_migrations",
        "\nORDER BY schema_migrations.version;",
        ";",
        ["no full order", "version"],
    ),
    "an order with ties": (
        FLEETS,
        "list_fleets",
        "ORDER BY fleets.created_at DESC, fleets.fleet_id DESC;",
        "ORDER BY fleets.created_at DESC;",
        ["no full order", "fleet_id"],
    ),
    "RETURNING where rows are counted": (
        FLEETS,
        "mark_fleet_deleted",
        "WHERE fleet_id = :fleet_id AND deleted_at IS NULL;",
        "WHERE fleet_id = :fleet_id AND deleted_at IS NULL\nRETURNING fleet_id;",
        ["drop RETURNING"],
    ),
    "text for an integer": (
        FLEETS,
        "get_fleet",
        "-- One fleet, deleted or not.\n-- params: fleet_id int\n",
        "-- One fleet, deleted or not.\n-- params: fleet_id str\n",
        ["takes :fleet_id as str, where fleets.fleet_id is INTEGER"],
    ),
    "an integer for text": (
        FLEETS,
        "insert_fleet",
        "-- params: name str, now str",
        "-- params: name int, now str",
        ["takes :name as int, where fleets.name is TEXT"],
    ),
    "a time that is no text": (
        FLEETS,
        "insert_fleet",
        "-- params: name str, now str",
        "-- params: name str, now int",
        ["must take :now as str"],
    ),
    "text for an enum": (
        MESSAGES,
        "mark_deliveries_waiting",
        "owed, as held or unreachable.\n-- params: message_ids list[int], delivery_state DeliveryState",
        "owed, as held or unreachable.\n-- params: message_ids list[int], delivery_state str",
        ["takes :delivery_state as str", "DeliveryState"],
    ),
    "another enum": (
        MESSAGES,
        "mark_deliveries_waiting",
        "owed, as held or unreachable.\n-- params: message_ids list[int], delivery_state DeliveryState",
        "owed, as held or unreachable.\n-- params: message_ids list[int], delivery_state ScreenState",
        ["takes :delivery_state as ScreenState", "DeliveryState"],
    ),
    "a null for a column without": (
        MEMBERS,
        "insert_member",
        "-- params: fleet_id int, name str, description",
        "-- params: fleet_id int, name str | None, description",
        ["takes a null :name, where members.name is never null"],
    ),
    "a list that is declared a number": (
        MEMBERS,
        "list_member_names",
        "-- params: member_ids list[int]\n",
        "-- params: member_ids int\n",
        ["must read :member_ids by json_each exactly if it is a list[int]"],
    ),
    "a list that is declared text": (
        MEMBERS,
        "list_member_names",
        "-- params: member_ids list[int]\n",
        "-- params: member_ids str\n",
        ["must read :member_ids by json_each exactly if it is a list[int]"],
    ),
    "a parameter for another column": (
        MESSAGES,
        "list_inbox",
        "index in another order.\n-- params: member_id int = messages.owner_member_id",
        "index in another order.\n-- params: member_id int = members.member_id",
        ["takes :member_id, which is no column that it reads or writes"],
    ),
    "a column that does not exist": (
        FLEETS,
        "set_fleet_director",
        "AND director_member_id IS NULL;",
        "AND director_id IS NULL;",
        ["does not compile", "director_id"],
    ),
    "an unknown struct": (
        FLEETS,
        "get_fleet",
        "-- returns: FleetRow\n",
        "-- returns: FloatRow\n",
        ["FloatRow", "no such struct"],
    ),
    "a scalar that is none": (
        FLEETS,
        "insert_fleet",
        "-- returns: int\n",
        "-- returns: FleetRow\n",
        ["FleetRow", "no scalar"],
    ),
    "an unknown type of a parameter": (
        FLEETS,
        "insert_fleet",
        "-- params: name str, now str",
        "-- params: name str, now datetime",
        ["datetime is no type for :now"],
    ),
    "parameters in another order": (
        FLEETS,
        "insert_fleet",
        "-- params: name str, now str",
        "-- params: now str, name str",
        ["must name name, now, in that order"],
    ),
    "a parameter that is not used": (
        FLEETS,
        "insert_fleet",
        "insert_fleet(name, now)$",
        "insert_fleet(name, now, then)$",
        ["unused declared parameter", "then"],
    ),
    "a parameter that is not declared": (
        FLEETS,
        "insert_fleet",
        "insert_fleet(name, now)$",
        "insert_fleet(name)$",
        ["undeclared parameter", "now"],
    ),
    "an unknown verb": (
        FLEETS,
        "fetch_fleet",
        "-- name: get_fleet(",
        "-- name: fetch_fleet(",
        ["fetch_fleet begins with no known verb"],
    ),
    "an insert by its rowid": (
        FLEETS,
        "insert_fleet",
        "insert_fleet(name, now)$",
        "insert_fleet(name, now)<!",
        ["shape other than many"],
    ),
    "a write of many": (
        FLEETS,
        "set_fleet_director",
        "set_fleet_director(fleet_id, director_member_id)!",
        "set_fleet_director(fleet_id, director_member_id)*!",
        ["shape other than many"],
    ),
    "a shape that aiosql does not know": (
        FLEETS,
        "set_fleet_director",
        "set_fleet_director(fleet_id, director_member_id)!",
        "set_fleet_director(fleet_id, director_member_id)?",
        ["invalid query name and operation"],
    ),
    "a write that says what it returns": (
        FLEETS,
        "mark_fleet_deleted",
        "-- Soft-delete a fleet; 0 rows when it was deleted before.\n",
        "-- Soft-delete a fleet; 0 rows when it was deleted before.\n-- returns: int\n",
        ["must say what it returns, unless it only writes"],
    ),
    "no word on what it is for": (
        FLEETS,
        "get_fleet",
        "-- One fleet, deleted or not.\n",
        "",
        ["does not say what it is for"],
    ),
    "a scan without a reason": (
        FLEETS,
        "list_fleets",
        "-- scan: fleets (fleets are few, and all living ones are asked for)",
        "-- scan: fleets",
        ["give the reason"],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_broken_promise(checkout: Checkout, fault: str) -> None:
    file, query, old, new, fragments = FAULTS[fault]
    checkout.replace_in(file, query, old, new)
    assert_named(checkout, f"{file}:{checkout.line_of(file, query)}", query, *fragments)


@pytest.mark.parametrize(
    "header",
    [
        "-- name: delete_all#",
        "-- name: count_all$",
        "--name: count_all()$",
        "-- name: count_all ()$",
        "-- name: count-all()$",
    ],
)
def test_header_that_is_written_otherwise(checkout: Checkout, header: str) -> None:
    line = checkout.append(FLEETS, f"{header}\n-- All.\n-- returns: int\nSELECT 1;\n")
    assert_named(checkout, f"{FLEETS}:{line}", "a header is not")


@pytest.mark.parametrize("file", [MEMBERS, MESSAGES])
def test_name_that_stands_twice(checkout: Checkout, file: str) -> None:
    first = checkout.line_of(MEMBERS, "get_active_monitor_id")
    line = checkout.append(
        file,
        "-- name: get_active_monitor_id()$\n-- Another.\n-- returns: int\nSELECT 1;\n",
    )
    assert_named(checkout, f"{file}:{line}", f"is already at {MEMBERS}:{first}", "rename it")


def test_query_that_nobody_calls(checkout: Checkout) -> None:
    line = checkout.append(
        FLEETS,
        "-- name: get_last_fleet_id()$\n-- The newest id.\n-- returns: int | None\n"
        "-- scan: fleets (one row)\nSELECT fleets.fleet_id\nFROM fleets\n"
        "ORDER BY fleets.fleet_id DESC\nLIMIT 1;\n",
    )
    # Writing it comes before calling it.
    assert checkout.generate().exit_code == 0
    assert_named(checkout, f"{FLEETS}:{line}", "get_last_fleet_id is called nowhere")


MISREAD = {
    "a comment at the end of a line": (
        "SELECT count(*) -- all :of them\nFROM fleets;\n",
        3,
        "end of a line",
    ),
    "a line of a string like a comment": (
        "SELECT 'one\n  -- two' AS text;\n",
        3,
        "a string holds a line that begins like a comment",
    ),
    "a name in a string": ("SELECT '-- name: x()' AS text;\n", 3, "a string"),
    "two statements": ("SELECT 1;\nSELECT 2;\n", 4, "more than one statement"),
    "no semicolon": (
        "SELECT 1\n\n-- name: count_them()$\n-- All.\n-- returns: int\nSELECT 2;\n",
        5,
        "has no semicolon",
    ),
    "a banner": ("SELECT 1;\n\n-- ---- more ----\n", 5, "between two queries"),
    "a comment between slashes": ("SELECT /* :x */ 1;\n", 3, "/* */"),
    "a name in a comment": ("-- see -- name: other()\nSELECT 1;\n", 3, "would begin a query"),
}


@pytest.mark.parametrize("fault", MISREAD)
def test_text_that_aiosql_misreads(checkout: Checkout, fault: str) -> None:
    text, offset, fragment = MISREAD[fault]
    line = checkout.append(FLEETS, f"-- name: count_all()$\n-- All of them.\n{text}")
    assert_named(checkout, f"{FLEETS}:{line + offset - 1}", fragment)


def test_statement_without_a_name(checkout: Checkout) -> None:
    (checkout.folder / "sql/queries/nameless.sql").write_text("SELECT 1;\n")
    assert_named(checkout, "sql/queries/nameless.sql:1", "has no name")


@pytest.mark.parametrize(
    ("name", "fragment"),
    [("V99__gap.sql", "from 1 without a gap"), ("V11_slug.sql", "is not named V<N>__<slug>.sql")],
)
def test_migration_that_is_misnamed(checkout: Checkout, name: str, fragment: str) -> None:
    (checkout.folder / "sql/migrations" / name).write_text("SELECT 1;\n")
    done = checkout.generate("--check")
    assert (done.exit_code, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: ")
    assert fragment in line


def test_sqlfluff_violation(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    slip = tmp_path / "sql/queries/fleets.sql"
    slip.parent.mkdir(parents=True)
    slip.write_text(
        "-- name: get_fleet(fleet_id)^\n-- One.\nSELECT fleets.name\nFROM fleets\n"
        "where fleets.fleet_id = :fleet_id;\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "sqlfluff", "lint", "sql"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done
    assert "sql/queries/fleets.sql" in done.stdout
    assert re.search(r"^L: +5 .*CP01", done.stdout, re.MULTILINE), done.stdout
