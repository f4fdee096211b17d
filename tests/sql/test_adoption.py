"""Databases of the published predecessor: adopted at every version, refused, or reported."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from cafleet.errors import CafleetError, DatabaseError, SchemaError
from cafleet.store.guard import open_database
from tests.sql.databases import (
    HEAD,
    MONITOR_CARD,
    PUBLISHED,
    contents,
    insert,
    insert_member,
    migrate_to,
    opened,
    populate,
    publish,
    rows,
    setup,
)

RECOVERY = Path(__file__).parents[2] / "docs/recovery.md"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fleet.db"


def assert_untouched(path: Path, before: object) -> None:
    assert contents(path) == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("version", range(1, PUBLISHED + 1))
def test_adopted_with_every_row(path: Path, version: int) -> None:
    publish(path, version)
    populate(path, version)
    before = contents(path)
    report = setup(path)
    assert (report.from_version, report.to_version) == (version, HEAD)
    assert report.backup is not None
    assert contents(Path(report.backup)) == before
    assert Path(report.backup).stat().st_mode & 0o077 == 0
    applied = rows(path, "SELECT version FROM schema_migrations ORDER BY version")
    assert applied == [(number,) for number in range(1, HEAD + 1)]
    for table, count in {"fleets": 2, "members": 8, "messages": 6, "member_placements": 4}.items():
        assert rows(path, f"SELECT count(*) FROM {table}") == [(count,)]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "PRAGMA foreign_key_check") == []
    with closing(open_database(str(path))) as conn:
        assert conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    again = setup(path)
    assert (again.from_version, again.backup) == (HEAD, None)


def test_adopted_equals_one_that_was_always_ours(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.db", tmp_path / "theirs.db"
    migrate_to(ours, 4)
    populate(ours, 4)
    publish(theirs, 4)
    populate(theirs, 4)
    setup(ours)
    setup(theirs)
    with opened(theirs) as conn:
        # Still there: an operator may want to know what was adopted.
        assert conn.execute("SELECT count(*) FROM refinery_schema_history").fetchone() == (4,)
        conn.execute("DROP TABLE refinery_schema_history")
    for path in (ours, theirs):
        with opened(path) as conn:
            conn.execute("UPDATE database_identity SET database_id = ''")
    assert contents(ours) == contents(theirs)


def test_what_is_only_in_the_wal_is_copied_too(path: Path) -> None:
    publish(path, 8)
    with opened(path) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM fleets").fetchall()
        populate(path, 8)
        report = setup(path)
        assert report.backup is not None
        assert rows(Path(report.backup), "SELECT count(*) FROM messages") == [(6,)]


def test_missing_indexes_are_made_again(path: Path) -> None:
    publish(path, 8)
    populate(path, 8)
    with opened(path) as conn:
        conn.execute("DROP INDEX idx_members_fleet_status")
        conn.execute("DROP INDEX idx_members_one_active_monitor_per_fleet")
    setup(path)
    indexes = rows(path, "SELECT name FROM sqlite_master WHERE type = 'index'")
    assert {("idx_members_fleet_status",), ("idx_members_one_active_monitor_per_fleet",)} <= set(
        indexes
    )


@pytest.mark.parametrize(
    ("versions", "fragment"),
    [
        ([1, 2, 4], "is not one of the published cafleet"),
        ([2, 3], "is not one of the published cafleet"),
        ([0, 1], "is not one of the published cafleet"),
        ([], "is not one of the published cafleet"),
        (
            [*range(1, 10)],
            "is at version 9 of the published cafleet, which this program knows up to 8",
        ),
        (
            [1, 2, 3, 4],
            "is not as version 4 of the published cafleet made it (table monitor_runtime is declared",
        ),
    ],
)
def test_odd_history_is_refused(path: Path, versions: list[int], fragment: str) -> None:
    publish(path, 3)
    populate(path, 3)
    with opened(path) as conn:
        conn.execute("DELETE FROM refinery_schema_history")
        for version in versions:
            insert(conn, "refinery_schema_history", version=version, name="x")
    before = contents(path)
    with pytest.raises(SchemaError, match=re.escape(fragment)):
        setup(path)
    assert_untouched(path, before)


@pytest.mark.parametrize(
    "damage",
    [
        "ALTER TABLE messages DROP COLUMN text",
        "ALTER TABLE messages ADD COLUMN more",
        "ALTER TABLE fleets RENAME COLUMN name TO title",
        "DROP TABLE monitor_config",
    ],
)
def test_other_tables_are_refused(path: Path, damage: str) -> None:
    publish(path, 3)
    with opened(path) as conn:
        conn.execute(damage)
    before = contents(path)
    with pytest.raises(
        SchemaError, match=r"is not as version 3 of the published cafleet made it \(table"
    ):
        setup(path)
    assert_untouched(path, before)


@pytest.mark.parametrize("value", ["two", None, b"1", 1.5])
def test_history_that_holds_no_numbers_is_refused(path: Path, value: object) -> None:
    publish(path, 3)
    with opened(path) as conn:
        insert(conn, "refinery_schema_history", version=value, name="x")
    before = contents(path)
    with pytest.raises(DatabaseError, match=r"refinery_schema_history\.version holds"):
        setup(path)
    assert_untouched(path, before)


def test_history_of_another_form_is_refused(path: Path) -> None:
    with opened(path) as conn:
        conn.execute("CREATE TABLE refinery_schema_history (number INTEGER)")
    before = contents(path)
    with pytest.raises(SchemaError, match="is not one of the published cafleet"):
        setup(path)
    assert_untouched(path, before)


def test_copy_that_cannot_be_written_stops_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(path, 8)
    populate(path, 8)
    before = contents(path)
    taken = f"{path}.published-v8-20260304T050607890123.bak"
    Path(taken).mkdir()
    with pytest.raises(CafleetError, match=r"no copy .* can be made .*; nothing was changed"):
        setup(path)
    assert contents(path) == before
    assert Path(taken).is_dir()


# --- what stands in the way of one monitor per fleet


def add_duplicates(path: Path) -> None:
    """Fleet 1 gets monitors 30 and 10, fleet 3 has 12 and 11; fleet 2 and others are sound."""
    with opened(path) as conn:
        insert(conn, "fleets", fleet_id=3, created_at="t")
        for member_id, fleet_id in ((30, 1), (10, 1), (12, 3), (11, 3), (13, 2)):
            insert_member(conn, member_id, fleet_id, member_card_json=MONITOR_CARD)
        gone = {"status": "deregistered", "member_card_json": MONITOR_CARD}
        insert_member(conn, 14, 3, **gone)
        insert(
            conn,
            "member_placements",
            member_id=30,
            mux_session="$0",
            mux_window_id="@0",
            mux_pane_id="%30",
            coding_agent="codex",
            created_at="t",
        )


@pytest.mark.parametrize("version", range(1, PUBLISHED))
def test_duplicate_monitors_are_reported(path: Path, version: int) -> None:
    publish(path, version)
    populate(path, version)
    add_duplicates(path)
    before = contents(path)
    with pytest.raises(SchemaError) as refused:
        setup(path)
    assert "(fleet 1: members 2, 10, 30; fleet 3: members 11, 12)" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert_untouched(path, before)


def test_duplicate_monitors_in_a_database_of_ours(path: Path) -> None:
    migrate_to(path, 7)
    populate(path, 7)
    add_duplicates(path)
    before = contents(path)
    with pytest.raises(SchemaError, match=r"fleet 1: members 2, 10, 30; fleet 3: members 11, 12\)"):
        setup(path)
    assert_untouched(path, before)


def test_duplicate_monitors_where_the_index_was_lost(path: Path) -> None:
    publish(path, 8)
    populate(path, 8)
    with opened(path) as conn:
        conn.execute("DROP INDEX idx_members_one_active_monitor_per_fleet")
    add_duplicates(path)
    before = contents(path)
    with pytest.raises(SchemaError, match=r"fleet 1: members 2, 10, 30;"):
        setup(path)
    assert_untouched(path, before)


BAD_CARDS = ["{bad", "", b"\xff", b"{}", "[" * 100_000, '{"skills":[NaN]}', "{} {}"]


def test_unreadable_cards_are_named(path: Path) -> None:
    publish(path, 5)
    populate(path, 5)
    with opened(path) as conn:
        for member_id, card in enumerate(BAD_CARDS, 20):
            insert_member(conn, member_id, 1, member_card_json=card)
        for member_id, card in enumerate(["null", "[1]", '"x"', '{"cafleet":"x"}'], 40):
            insert_member(conn, member_id, 1, member_card_json=card)
    before = contents(path)
    with pytest.raises(SchemaError, match=r"is not JSON \(members 20, 21, 22, 23, 24, 25, 26\)"):
        setup(path)
    assert_untouched(path, before)


def test_duplicate_monitors_and_unreadable_cards_are_named_together(path: Path) -> None:
    publish(path, 5)
    populate(path, 5)
    add_duplicates(path)
    with opened(path) as conn:
        insert_member(conn, 40, 1, member_card_json="{bad")
    before = contents(path)
    with pytest.raises(SchemaError) as refused:
        setup(path)
    said = str(refused.value)
    assert "(fleet 1: members 2, 10, 30; fleet 3: members 11, 12), and the member_card" in said
    assert "is not JSON (members 40); the schema was not changed, close the panes" in said
    assert ", and set each such card to '{}'" in said
    assert f"({RECOVERY} has the SQL)" in said
    assert said.count("run `cafleet setup` again") == 1
    assert_untouched(path, before)


def recovery_sql(heading: str, **values: str) -> str:
    """The last SQL block under a heading of docs/recovery.md, with its <placeholders> filled in."""
    section = (
        RECOVERY.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    )
    block = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)[-1]
    for name, value in values.items():
        assert f"<{name}>" in block
        block = block.replace(f"<{name}>", value)
    assert "<" not in block
    return block


def look_sql(heading: str) -> str:
    section = (
        RECOVERY.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    )
    return re.findall(r"```sql\n(.*?)```", section, re.DOTALL)[0]


def test_documented_recovery_from_duplicates(path: Path) -> None:
    publish(path, 7)
    populate(path, 7)
    add_duplicates(path)
    found = rows(path, look_sql("More than one active monitor in a fleet"))
    assert [(row[0], row[1]) for row in found] == [(1, 2), (1, 10), (1, 30), (3, 11), (3, 12)]
    with opened(path) as conn:
        conn.executescript(
            recovery_sql("More than one active monitor in a fleet", losers="2, 10, 12")
        )
    assert setup(path).from_version == 7
    left = rows(
        path,
        "SELECT fleet_id, member_id FROM members WHERE status = 'active' "
        "AND json_extract(member_card_json, '$.cafleet.kind') = 'monitor' ORDER BY 1",
    )
    assert left == [(1, 30), (2, 13), (3, 11)]
    gone = rows(
        path,
        "SELECT count(*) FROM members WHERE member_id IN (2, 10, 12) AND "
        "status = 'deregistered' AND deregistered_at LIKE '____-__-__T__:__:__.______+00:00'",
    )
    assert gone == [(3,)]
    assert rows(path, "SELECT count(*) FROM member_placements WHERE member_id IN (2, 10, 12)") == [
        (0,)
    ]
    assert rows(path, "PRAGMA foreign_key_check") == []


def test_documented_recovery_from_unreadable_cards(path: Path) -> None:
    publish(path, 5)
    populate(path, 5)
    with opened(path) as conn:
        for member_id, card in enumerate(BAD_CARDS, 20):
            insert_member(conn, member_id, 1, member_card_json=card)
    found = rows(path, look_sql("Cards that are not JSON"))
    assert [row[1] for row in found] == [20, 21, 22, 23, 24, 25, 26]
    with opened(path) as conn:
        conn.executescript(
            recovery_sql("Cards that are not JSON", members="20, 21, 22, 23, 24, 25, 26")
        )
    assert setup(path).from_version == 5


def test_documented_recovery_from_an_empty_ledger(path: Path, tmp_path: Path) -> None:
    setup(path)
    populate(path, PUBLISHED)
    before = contents(path)
    with opened(path) as conn:
        conn.execute("DELETE FROM schema_migrations")
    with pytest.raises(SchemaError, match="is empty, so its schema is unknown"):
        setup(path)
    new = tmp_path / "new.db"
    setup(new)
    with opened(path) as conn:
        conn.executescript(recovery_sql("An empty ledger", new=str(new)))
    assert setup(path).from_version == HEAD
    assert contents(path) == before


def test_documented_restore_of_the_copy(path: Path) -> None:
    publish(path, 6)
    populate(path, 6)
    before = contents(path)
    report = setup(path)
    assert report.backup is not None
    # As the document says: move the database and its companions away, the copy into its place.
    for entry in list(path.parent.glob("fleet.db*")):
        if str(entry) != report.backup:
            entry.unlink()
    Path(report.backup).rename(path)
    assert contents(path) == before
    assert setup(path).from_version == 6
