"""`doctor` on databases that are missing, damaged, of another version, or not ours; and on fleets."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cafleet.operations.database_tools import check
from cafleet.store import queries
from cafleet.store.mounts import network_file_system
from tests.harness.database import Database
from tests.harness.fleet import Fleet
from tests.harness.program import Program, assert_refused
from tests.harness.registry import THEN, Registry
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.sql.databases import migrate_to, publish

HEAD = queries.SCHEMA_VERSION


def diagnosis(cafleet: Program, pane: str | None = None, **env: str) -> Any:
    """What `doctor --json` says; its text form says the same in one run without a traceback."""
    result = cafleet.run("doctor", "--json", pane=pane, env=env)
    found = json.loads(result.stdout)
    assert result.exit_code == min(found["issues"], 1)
    text = cafleet.run("doctor", pane=pane, env=env)
    assert (text.exit_code, text.stderr, result.stderr) == (result.exit_code, "", "")
    assert f"{'✓' if found['database']['ok'] else '✗'} database: " in text.stdout
    states = {agent["state"] for agent in found["coding_agents"]["agents"]}
    is_known_of_none = found["database"]["ok"] and states == {"not_installed"}
    assert ("so other commands refuse" in text.stdout) == is_known_of_none
    return found


def missing(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def older(path: Path) -> None:
    path.unlink()
    migrate_to(path, HEAD - 2)


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute(f"INSERT INTO schema_migrations VALUES ({HEAD + 1}, 'V.sql', 'x', 'then')")


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE bookmarks (url TEXT)")


def published(path: Path) -> None:
    path.unlink()
    publish(path, 8)


def other_edition(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("UPDATE schema_migrations SET checksum = 'other' WHERE version = 3")
        conn.execute("DELETE FROM asset_installs")


def prose(path: Path) -> None:
    path.write_text("This is no database at all. " * 200)


def torn(path: Path) -> None:
    """The first page stays, the rest is overwritten."""
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def without_ledger(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("DROP TABLE schema_migrations")


def emptied_ledger(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("DELETE FROM schema_migrations")


def odd_ledger(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("DROP TABLE schema_migrations")
        conn.execute("CREATE TABLE schema_migrations (x TEXT)")


@pytest.mark.parametrize(
    ("spoil", "version", "fragment"),
    [
        (missing, None, "there is no database at {path}; run `cafleet setup`"),
        (emptied, None, "the database at {path} is not set up yet; run `cafleet setup`"),
        (older, HEAD - 2, f"older than this program's {HEAD}; run `cafleet setup`"),
        (newer, HEAD + 1, f"newer than this program's {HEAD}; upgrade cafleet"),
        (foreign, None, "is not one of cafleet's; point CAFLEET_DATABASE_URL elsewhere"),
        (published, None, "older than this program; run `cafleet setup`, which upgrades it"),
        (other_edition, HEAD, "V3__retire_monitoring_member.sql was another file when it was"),
        (
            prose,
            None,
            "the file at {path} is not an SQLite database; check CAFLEET_DATABASE_URL, or restore it from",
        ),
        (torn, None, "the database at {path} is damaged; restore it from a backup"),
        (a_folder, None, "the database at {path} cannot be opened; check its path and permissions"),
        (without_ledger, None, "is not one of cafleet's"),
        (odd_ledger, None, "is not one of cafleet's"),
        (
            emptied_ledger,
            0,
            "the ledger of the database at {path} is empty, so its schema is unknown",
        ),
    ],
)
def test_the_fault_and_the_cure(
    cafleet: Program,
    registry: Registry,
    spoil: Callable[[Path], None],
    version: int | None,
    fragment: str,
) -> None:
    # Off the journal, so that the file alone is the database.
    path = registry.path.parent / "spoilt.db"
    path.write_bytes(registry.path.read_bytes())
    spoil(path)
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{path}"
    found = diagnosis(cafleet)
    database = found["database"]
    assert fragment.format(path=path) in database["error"]
    assert database["error"].count("restore it from a backup") <= 1
    assert (database["ok"], database["schema_version"]) == (False, version)
    assert found["issues"] == 2  # and no multiplexer
    states = {agent["state"] for agent in found["coding_agents"]["agents"]}
    assert states == {"not_installed"}
    assert found["coding_agents"]["superseded"] == []


def test_a_database_that_may_not_be_written(cafleet: Program, registry: Registry) -> None:
    registry.rows("PRAGMA journal_mode = DELETE")
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    where = registry.path.parent
    mount = f"mount --bind '{where}' '{where}' && mount -o remount,ro,bind '{where}' && exec \"$@\""
    if subprocess.run(["unshare", "-m", "sh", "-c", mount, "sh", "true"], check=False).returncode:
        pytest.skip("this user may not mount anything")

    def run(*command: str) -> subprocess.CompletedProcess[bytes]:
        words = ["unshare", "-m", "sh", "-c", mount, "sh", cafleet.path, *command]
        return subprocess.run(words, env=cafleet.environment, capture_output=True, check=False)

    error = json.loads(run("doctor", "--json").stdout)["database"]["error"]
    assert error.startswith(f"{registry.path} cannot be written; check its owner")
    assert diagnosis(cafleet)["database"]["error"] is None
    registry.rows("PRAGMA journal_mode = WAL")
    assert b"and that the file system is not mounted read-only" in run("fleet", "list").stderr


def test_a_device_is_no_database(cafleet: Program) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = "sqlite:////dev/null"
    told = "/dev/null is a device or a pipe, not a file; point CAFLEET_DATABASE_URL elsewhere"
    assert diagnosis(cafleet)["database"]["error"] == told
    assert_refused(cafleet.run("fleet", "list"), 1, told)
    assert_refused(cafleet.run("setup"), 1, f"database half: {told}; and in its assets half")


def test_bad_urls(cafleet: Program) -> None:
    database = diagnosis(cafleet, CAFLEET_DATABASE_URL="postgresql://x")["database"]
    assert database["error"].startswith("CAFLEET_DATABASE_URL is 'postgresql://x'")
    assert database["path"] is None
    told = "the home folder is '', which is not an absolute path; set HOME to one"
    assert diagnosis(cafleet, HOME="")["database"]["error"] == told


def test_a_damaged_index_is_found(cafleet: Program, registry: Registry) -> None:
    registry.member(registry.fleet(), "Director", kind="director")
    copy = Database(registry.path.parent / "spoilt.db")
    with closing(registry.connect()) as conn:
        conn.execute("VACUUM INTO ?", [str(copy.path)])
    with closing(copy.connect()) as conn:
        # A second index that takes the pages of another for its own.
        conn.execute("PRAGMA writable_schema = ON")
        conn.execute(
            "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = "
            "'idx_messages_owner_member_status_ts') WHERE name = 'idx_members_fleet_status'"
        )
    cafleet.environment["CAFLEET_DATABASE_URL"] = copy.url
    database = diagnosis(cafleet)["database"]
    assert (database["ok"], database["schema_version"]) == (False, HEAD)
    assert f"the database at {copy.path} is damaged" in database["error"]
    assert "idx_members_fleet_status" in str(database["integrity"])


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        ("TABLE messages", "lacks table messages; do what"),
        ("TABLE fleets", "lacks table fleets; do what"),
        ("TABLE waits", "lacks table waits; do what"),
        ("INDEX idx_messages_ack", "lacks index idx_messages_ack; do what"),
        (
            "INDEX idx_members_one_active_monitor_per_fleet",
            "lacks index idx_members_one_active_monitor_per_fleet; do what",
        ),
    ],
)
def test_what_is_lost_is_named_and_setup_does_not_pass_it(
    cafleet: Program, registry: Registry, loss: str, told: str
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    with closing(registry.connect()) as conn:
        conn.execute(f"DROP {loss}")
    database = diagnosis(cafleet)["database"]
    assert told in database["error"]
    assert "refused" not in database["error"]
    assert (database["ok"], database["integrity"]) == (False, "ok")
    refused = cafleet.run("setup")
    assert (refused.exit_code, told in refused.stderr) == (1, True)
    assert "assets half" not in refused.stderr
    done = cafleet.run("message", "send", "--from-member-id=1", "--to-member-id=2", "x")
    assert (done.exit_code, "`cafleet setup`" in done.stderr) == (1, False)


def test_a_lost_table_of_installations_is_an_issue_that_setup_mends(
    cafleet: Program, registry: Registry
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.rows("DROP TABLE asset_installs")
    found = diagnosis(cafleet)
    told = f"the database at {registry.path} lacks table asset_installs; run `cafleet setup`"
    assert found["database"]["error"] == told
    assert {agent["state"] for agent in found["coding_agents"]["agents"]} == {"not_installed"}
    assert found["issues"] == 2  # and no multiplexer
    cafleet.run("setup").ok()
    assert diagnosis(cafleet)["database"]["error"] is None


def test_a_value_that_no_column_can_hold(cafleet: Program, registry: Registry) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.rows("INSERT INTO asset_installs VALUES ('gemini', '/g', '1', ?)", THEN)
    found = diagnosis(cafleet)
    assert "asset_installs.coding_agent holds 'gemini'" in found["database"]["error"]
    # No multiplexer either, and claude's files are only said to be installed.
    assert found["issues"] == 3


@pytest.mark.parametrize(
    ("column", "value"),
    [("cafleet_version", "CAST(x'ff' AS TEXT)"), ("cafleet_version", "x'ff'")],
)
def test_a_damaged_installation_hides_no_other(
    cafleet: Program, registry: Registry, column: str, value: str
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    cafleet.run("setup").ok()
    registry.rows(f"UPDATE asset_installs SET {column} = {value} WHERE coding_agent = 'codex'")
    registry.rows("INSERT INTO asset_installs VALUES ('claude', '/old', '0.1', ?)", THEN)
    found = diagnosis(cafleet)
    assert f"asset_installs.{column} holds" in found["database"]["error"]
    agents = found["coding_agents"]
    assert [agent["state"] for agent in agents["agents"]] == ["ok", "error", "ok"]
    assert [old["path"] for old in agents["superseded"]] == ["/old"]
    assert len(check(str(registry.path))) == 1
    cafleet.run("setup").ok()
    assert diagnosis(cafleet)["issues"] == 1  # no multiplexer


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE members SET status = 'zombie' WHERE member_id = 1",
        "UPDATE member_placements SET backend = 'screen'",
        "UPDATE fleets SET name = x'ff'",
    ],
)
def test_damage_elsewhere_hides_no_installation(
    cafleet: Program, registry: Registry, damage: str
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    cafleet.run("setup").ok()
    director, _ = registry.crew()
    registry.place(director, "%0", mux_socket="/nowhere")
    registry.rows(damage)
    found = diagnosis(cafleet)
    assert {agent["state"] for agent in found["coding_agents"]["agents"]} == {"ok"}
    assert "so other commands refuse" not in cafleet.run("doctor").stdout


def test_a_rollback_journal_is_a_warning(cafleet: Program, registry: Registry) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.rows("PRAGMA journal_mode = DELETE")
    database = diagnosis(cafleet)["database"]
    assert (database["ok"], database["journal_mode"]) == (True, "delete")
    assert "the journal mode is delete" in database["warnings"][0]
    cafleet.run("setup").ok()
    assert diagnosis(cafleet)["database"]["warnings"] == []


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/u/x.db", "nfs4"),
        ("/home/u/local/x.db", None),
        ("/homework/x.db", None),
        ("/srv/a b/x.db", "fuse.sshfs"),
        ("/srv/x.db", None),
    ],
)
def test_network_file_systems(path: str, kind: str | None) -> None:
    mounts = (
        "22 1 0:21 / / rw,relatime - ext4 /dev/vda rw\n"
        "23 22 0:22 / /home rw shared:1 - nfs4 server:/home rw\n"
        "24 23 0:23 / /home/u/local rw - xfs /dev/vdb rw\n"
        "25 22 0:24 / /srv/a\\040b rw - fuse.sshfs me@there: rw\n"
        "broken line\n"
    )
    assert network_file_system(path, mounts) == kind
    assert network_file_system(path, "") is None


def test_couriers_and_orphans(
    cafleet: Program, fleet: Fleet, database: Database, tmux_server: TmuxServer
) -> None:
    pane = fleet.director.pane
    found = diagnosis(cafleet, pane)
    assert found["database"]["couriers"] == [{"fleet_id": 1, "state": "running"}]
    assert (found["database"]["orphan_panes"], found["issues"]) == ([], 0)

    (pid,) = database.rows("SELECT pid FROM monitor_runtime")[0]
    os.kill(pid, signal.SIGKILL)
    wait_for(
        lambda: diagnosis(cafleet, pane)["database"]["couriers"][0]["state"] == "missing",
        "doctor misses the courier",
    )
    found = diagnosis(cafleet, pane)
    assert "no courier runs for fleet 1; start it with `cafleet monitor run 1 --detach`" in str(
        found
    )
    assert (found["database"]["ok"], found["issues"]) == (False, 1)
    cafleet.run("monitor", "stop", "1").ok()
    assert diagnosis(cafleet, pane)["database"]["couriers"][0]["state"] == "stopped"

    gone = fleet.recipient
    database.rows("UPDATE members SET status = 'deregistered' WHERE member_id = ?", gone.member_id)
    found = diagnosis(cafleet)
    assert found["database"]["orphan_panes"] == [
        {
            "socket": tmux_server.socket,
            "pane_id": gone.pane,
            "fleet_id": 1,
            "member_id": gone.member_id,
        }
    ]
    assert f"`cafleet doctor --mend '{gone.pane}'`" in found["database"]["warnings"][0]
    assert found["database"]["ok"] is True


def test_the_panes_of_a_deleted_fleet_are_listed_with_what_closes_them(
    cafleet: Program, fleet: Fleet, tmux_server: TmuxServer
) -> None:
    cafleet.run("fleet", "delete", "1").ok()
    pane = fleet.director.pane
    left = [seat.pane for seat in fleet.seats if seat.pane != pane]
    text = cafleet.run("doctor", pane=pane).ok().stdout
    lines = re.findall(r"^  ! pane .*; close it with `cafleet (.*)` .*$", text, re.MULTILINE)
    for line in lines:
        said = cafleet.run(*shlex.split(line), pane=pane).ok().stdout
        assert said == f"pane {shlex.split(line)[-1]} closed\n"
    assert [shlex.split(line)[-1] for line in lines] == left
    assert tmux_server.panes() == [pane]
    assert "close it with" not in cafleet.run("doctor", pane=pane).ok().stdout


def test_only_an_orphan_is_closed_by_its_name(
    cafleet: Program, fleet: Fleet, database: Database, tmux_server: TmuxServer
) -> None:
    home = fleet.director.pane
    mine = tmux_server.split(home)
    for pane in (home, fleet.recipient.pane, mine, "%999", "main", "", "; kill-server"):
        before = tmux_server.panes()
        refused = cafleet.run("doctor", "--mend", pane, pane=home)
        assert refused.exit_code == (1 if pane else 2)
        assert tmux_server.panes() == before
    # Somebody whom this database does not know, as after an older backup was restored.
    tag = tmux_server.ask(fleet.recipient.pane, "#{@cafleet}").rpartition(":")[0]
    tmux_server.run("set-option", "-p", "-t", mine, "@cafleet", f"{tag}:9999")
    outcome = cafleet.run("doctor", "--mend", mine, "--json", pane=home).json()
    assert outcome == {"pane_id": mine, "outcome": "closed"}
    assert mine not in tmux_server.panes()
    # A person's own agent runs in a Director's pane, whatever became of the fleet.
    database.rows("UPDATE fleets SET deleted_at = registered_at FROM members")
    database.rows("UPDATE members SET status = 'deregistered'")
    outcome = cafleet.run("doctor", "--mend", home, "--json", pane=home).json()
    assert outcome == {"pane_id": home, "outcome": "untagged"}
    assert tmux_server.ask(home, "#{@cafleet}") == ""


def test_a_fleet_whose_server_is_gone(cafleet: Program, registry: Registry) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    director, _ = registry.crew()
    registry.place(director, "%0", mux_socket="/nowhere")
    database = diagnosis(cafleet)["database"]
    assert database["couriers"] == [{"fleet_id": 1, "state": "unreachable"}]
    assert "`cafleet fleet delete 1`" in database["warnings"][0]
    assert database["ok"] is True
