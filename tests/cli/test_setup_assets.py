"""The assets half of `setup`: what it says, records and leaves alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cafleet as package
from cafleet import __version__
from cafleet.store import queries
from cafleet.store.migration_files import migrations
from tests.harness.database import Database
from tests.harness.program import Program, assert_refused
from tests.harness.registry import THEN, Registry
from tests.harness.traces import trace
from tests.sql.databases import migrate_to

HEAD = queries.SCHEMA_VERSION
INSTALLS = "SELECT coding_agent, path, cafleet_version FROM asset_installs ORDER BY coding_agent"


@pytest.fixture
def home(environment: dict[str, str]) -> Path:
    return Path(environment["HOME"])


@pytest.fixture
def fresh(cafleet: Program, tmp_path: Path) -> Database:
    """A database that is not there yet, known to the program."""
    database = Database(tmp_path / "data" / "fleet.db")
    cafleet.environment["CAFLEET_DATABASE_URL"] = database.url
    return database


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_all_three_in_order(cafleet: Program, fresh: Database, home: Path) -> None:
    done = cafleet.run("setup").ok()
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"database {fresh.path}: created and migrated to {HEAD}",
        f"claude {home}/.claude: installed the assets of {__version__}",
        f"codex {home}/.codex: installed the assets of {__version__}",
        f"opencode {home}/.opencode: installed the assets of {__version__}",
    ]
    assert fresh.rows(INSTALLS) == [
        ("claude", f"{home}/.claude", __version__),
        ("codex", f"{home}/.codex", __version__),
        ("opencode", f"{home}/.opencode", __version__),
    ]


def test_twice_changes_nothing_but_times(cafleet: Program, fresh: Database, home: Path) -> None:
    cafleet.run("setup").ok()
    before, rows = files(home), fresh.rows(INSTALLS)
    times = fresh.rows("SELECT installed_at FROM asset_installs")
    done = cafleet.run("setup").ok()
    assert f"claude {home}/.claude: already has the assets of {__version__}" in done.stdout
    assert (files(home), fresh.rows(INSTALLS)) == (before, rows)
    assert fresh.rows("SELECT installed_at FROM asset_installs") != times


@pytest.mark.parametrize(
    ("arguments", "agents"),
    [
        (("--coding-agent", "codex"), ["codex"]),
        (("--coding-agent=opencode",), ["opencode"]),
        (("--coding-agent", "codex", "claude"), ["claude", "codex"]),
        (("--coding-agent", "opencode", "--coding-agent", "codex"), ["codex", "opencode"]),
        (("--coding-agent", "claude", "claude", "--coding-agent=claude"), ["claude"]),
        (("--coding-agent=codex", "claude"), ["claude", "codex"]),
    ],
)
def test_only_the_agents_that_are_named(
    cafleet: Program, fresh: Database, arguments: tuple[str, ...], agents: list[str]
) -> None:
    done = cafleet.run("setup", *arguments).ok()
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["database", *agents]
    assert [agent for agent, _, _ in fresh.rows(INSTALLS)] == agents


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (("--coding-agent",), "'--coding-agent' requires an argument"),
        (("--coding-agent=",), "'' is not one of claude, codex, opencode"),
        (("--coding-agent", "claude", "gemini"), "'gemini' is not one of claude, codex, opencode"),
        (("claude",), "unexpected extra argument"),
        (("--coding-agent", "claude", "--", "codex"), "unexpected extra argument"),
        (("--coding-agent", "claude", "--json"), "No such option: --json"),
    ],
)
def test_a_wrong_command_line_changes_nothing(
    cafleet: Program,
    fresh: Database,
    home: Path,
    arguments: tuple[str, ...],
    fragment: str,
) -> None:
    assert_refused(cafleet.run("setup", *arguments), 2, fragment)
    assert not fresh.path.exists()
    assert files(home) == {}


def newer(registry: Registry) -> str:
    registry.rows(f"INSERT INTO schema_migrations VALUES ({HEAD + 1}, 'V.sql', 'x', 'then')")
    return f"is at schema {HEAD + 1}, newer than this program's {HEAD}; upgrade cafleet"


def another_edition(registry: Registry) -> str:
    registry.rows("UPDATE schema_migrations SET checksum = 'other' WHERE version = 3")
    return "V3__retire_monitoring_member.sql was another file when it was applied"


def emptied_ledger(registry: Registry) -> str:
    registry.rows("DELETE FROM schema_migrations")
    return "is empty, so its schema is unknown; restore it from a backup"


@pytest.mark.parametrize("spoil", [newer, another_edition, emptied_ledger])
def test_a_database_that_is_refused_gets_no_record_and_nothing_is_installed(
    cafleet: Program, registry: Registry, home: Path, spoil: Callable[[Registry], str]
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    fragment = spoil(registry)
    before = trace(registry.path.parent)
    result = cafleet.run("setup")
    assert_refused(result, 1, fragment)
    assert result.stderr.endswith("; and in its assets half: it needs the database\n")
    assert trace(registry.path.parent) == before
    assert files(home) == {}


def test_the_second_half_runs_where_the_database_is_ours_and_cannot_be_upgraded_now(
    cafleet: Program, registry: Registry, home: Path
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.rows("DROP TABLE waits")
    registry.rows("DELETE FROM asset_installs")
    newer_path = f"{home}/.codex"
    registry.rows("INSERT INTO asset_installs VALUES ('codex', ?, '999.0', ?)", newer_path, THEN)
    done = cafleet.run("setup")
    assert done.exit_code == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: setup failed in its database half: ")
    assert "lacks table waits" in line
    assert f"the assets in {newer_path} are those of cafleet 999.0, newer than this" in line
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["claude", "opencode"]
    assert not (home / ".codex").exists()
    assert len(registry.rows(INSTALLS)) == 3
    assert (home / ".claude/skills/cafleet/SKILL.md").is_file()


def test_without_the_table_the_second_half_does_not_run(
    cafleet: Program, registry: Registry, home: Path
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    newer(registry)
    registry.rows("DROP TABLE asset_installs")
    assert_refused(cafleet.run("setup"), 1, "; and in its assets half: it needs the database")
    assert files(home) == {}


def test_a_table_of_before_schema_6_counts_as_none(
    cafleet: Program, fresh: Database, home: Path
) -> None:
    fresh.path.parent.mkdir()
    migrate_to(fresh.path, 5)
    fresh.rows("UPDATE schema_migrations SET checksum = 'other' WHERE version = 3")
    assert_refused(cafleet.run("setup"), 1, "; and in its assets half: it needs the database")
    assert files(home) == {}


def test_one_agent_that_fails_keeps_no_other_from_its_turn(
    cafleet: Program, fresh: Database, home: Path
) -> None:
    done = cafleet.run("setup", env={"CODEX_HOME": "~/codex"})
    assert done.exit_code == 1
    assert done.stderr == (
        "Error: setup failed in its assets half: codex: CODEX_HOME is '~/codex', which is not an "
        "absolute path; correct or unset it\n"
    )
    assert [agent for agent, _, _ in fresh.rows(INSTALLS)] == ["claude", "opencode"]
    cafleet.run("setup", "--coding-agent", "claude", env={"CODEX_HOME": "~/codex"}).ok()


def test_an_unwritable_place_is_named_and_not_recorded(
    cafleet: Program, fresh: Database, home: Path
) -> None:
    (home / ".codex").write_text("mine")
    done = cafleet.run("setup")
    assert done.exit_code == 1
    assert f"codex: {home}/.codex/skills cannot be written (Not a directory)" in done.stderr
    assert [agent for agent, _, _ in fresh.rows(INSTALLS)] == ["claude", "opencode"]
    (home / ".codex").unlink()
    cafleet.run("setup").ok()


@pytest.mark.parametrize("value", ["", "relative/home"])
def test_without_a_home(cafleet: Program, fresh: Database, value: str, tmp_path: Path) -> None:
    done = cafleet.run("setup", env={"HOME": value})
    assert done.exit_code == 1
    told = f"the home folder is {value!r}, which is not an absolute path; set HOME to one"
    assert f"claude: {told}" in done.stderr
    assert fresh.rows(INSTALLS) == []
    places = {
        name: str(tmp_path / name)
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG_DIR")
    }
    again = cafleet.run("setup", env={"HOME": value, **places})
    # opencode looks for skills in the home folder whatever its variable says.
    assert again.stderr.count(told) == 1
    assert [agent for agent, _, _ in fresh.rows(INSTALLS)] == ["claude", "codex"]


def test_a_home_that_is_not_there_is_made(cafleet: Program, fresh: Database, home: Path) -> None:
    home.rmdir()
    cafleet.run("setup").ok()
    assert (home / ".claude/skills/cafleet/SKILL.md").is_file()


def test_paths_are_recorded_without_dots_and_with_their_links(
    cafleet: Program, fresh: Database, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    given = f"{tmp_path}/link/../link/é"
    cafleet.run("setup", "--coding-agent", "claude", env={"CLAUDE_CONFIG_DIR": given}).ok()
    assert fresh.rows(INSTALLS) == [("claude", f"{tmp_path}/link/é", __version__)]
    assert (tmp_path / "there/é/skills/cafleet/SKILL.md").is_file()


def test_what_was_the_users_is_kept_and_told(cafleet: Program, fresh: Database, home: Path) -> None:
    rules = home / ".codex/rules/cafleet.rules"
    rules.parent.mkdir(parents=True)
    rules.write_text("# mine\n")
    done = cafleet.run("setup", "--coding-agent", "codex").ok()
    assert f"kept as {rules}.kept-1" in done.stdout
    assert Path(f"{rules}.kept-1").read_text() == "# mine\n"


def test_many_at_once(cafleet: Program, fresh: Database, home: Path) -> None:
    running = [cafleet.start("setup") for _ in range(4)]
    for process in running:
        done = cafleet.finish(process).ok()
        assert done.stderr == ""
    assert len(fresh.rows(INSTALLS)) == 3
    fresh.check()
    assert not [path for path in home.rglob("*") if ".kept-" in path.name or ".new" in path.name]
    cafleet.run("fleet", "list").ok()


def test_a_full_disk_is_called_so_and_leaves_nothing_half(
    cafleet: Program, fresh: Database, home: Path
) -> None:
    disk = home / ".claude"
    disk.mkdir()
    script = (
        f"mount -t tmpfs -o size=8k tmpfs '{disk}' && \"$@\"; code=$?; find '{disk}'; exit $code"
    )
    probe = ["unshare", "-m", "sh", "-c", script, "sh", "true"]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount anything")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", cafleet.path, "setup"],
        env=cafleet.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"claude: {disk} cannot be written, there is no space left (" in done.stderr
    assert ".new" not in done.stdout
    assert [agent for agent, _, _ in fresh.rows(INSTALLS)] == ["codex", "opencode"]


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        (
            "cafleet/agents/assets/skill/SKILL.md",
            "claude: this installation lacks its file skill/SKILL.md; install cafleet again",
        ),
        (
            f"sql/migrations/{migrations()[-1].file_name}",
            f"the migrations of this installation end at {HEAD - 1}, and it needs {HEAD}; install",
        ),
    ],
)
def test_an_installation_that_lacks_a_file_is_refused(
    cafleet: Program, fresh: Database, tmp_path: Path, lost: str, told: str
) -> None:
    root = Path(package.__file__).parents[1]
    for folder in ("cafleet", "sql"):
        shutil.copytree(root / folder, tmp_path / "copy" / folder)
    (tmp_path / "copy" / lost).unlink()
    done = subprocess.run(
        [sys.executable, "-m", "cafleet", "setup"],
        env={**cafleet.environment, "PYTHONPATH": str(tmp_path / "copy")},
        cwd=tmp_path / "copy",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, told in done.stderr) == (1, True), done
    assert "Traceback" not in done.stderr
