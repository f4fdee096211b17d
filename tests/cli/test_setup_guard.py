"""The assets guard: which commands it stands in front of, and what it lets through."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from cafleet import __version__
from cafleet.operations.database_tools import check
from cafleet.store import queries
from tests.harness.program import Program, assert_refused
from tests.harness.registry import THEN, Registry

NOBODY = "no coding agent has its skill installed yet; run `cafleet setup`"
GUARDED = [
    ("fleet", "list"),
    ("fleet", "create", "--name", "x", "--coding-agent", "claude"),
    ("member", "show", "1"),
    ("member", "create", "--fleet-id=9", "--name=x", "--description=d", "--effort=none", " "),
    ("message", "poll", "1"),
    ("message", "send", "--from-member-id=1", "--to-member-id=2", " "),
    ("monitor", "status", "1"),
    ("monitor", "run", "1"),
]


@pytest.fixture
def bare(cafleet: Program, registry: Registry) -> Registry:
    """A database at head without an installation, known to the program."""
    registry.rows("DELETE FROM asset_installs")
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    return registry


def put(registry: Registry, agent: str, path: object, version: str) -> None:
    registry.rows("INSERT INTO asset_installs VALUES (?, ?, ?, ?)", agent, str(path), version, THEN)


@pytest.mark.parametrize("arguments", GUARDED)
def test_no_installation(cafleet: Program, bare: Registry, arguments: tuple[str, ...]) -> None:
    assert_refused(cafleet.run(*arguments), 1, NOBODY)


def test_a_missing_table_counts_as_no_rows(cafleet: Program, bare: Registry) -> None:
    bare.rows("DROP TABLE asset_installs")
    assert_refused(cafleet.run("fleet", "list"), 1, NOBODY)


def test_a_lost_table_is_mended_by_the_command_that_is_named(
    cafleet: Program, bare: Registry, environment: dict[str, str]
) -> None:
    bare.rows("DROP TABLE asset_installs")
    assert "; run `cafleet setup`" in cafleet.run("doctor").stdout
    assert_refused(cafleet.run("fleet", "list"), 1, "; run `cafleet setup`")
    said = cafleet.run("setup").ok().stdout.splitlines()
    assert said[0].endswith(f": already at {queries.SCHEMA_VERSION}")
    assert said[1] == "its table asset_installs was lost and is made again"
    cafleet.run("fleet", "list").ok()
    assert bare.rows("SELECT coding_agent FROM asset_installs ORDER BY 1") == [
        ("claude",),
        ("codex",),
        ("opencode",),
    ]
    assert "was lost" not in cafleet.run("setup").ok().stdout
    bare.rows("INSERT INTO asset_installs VALUES ('codex', '/elsewhere', '1', ?)", THEN)
    with pytest.raises(sqlite3.IntegrityError):  # the key is there as well
        bare.rows("INSERT INTO asset_installs VALUES ('codex', '/elsewhere', '1', ?)", THEN)


def test_one_installation_of_this_version_is_enough(
    cafleet: Program, bare: Registry, environment: dict[str, str]
) -> None:
    put(bare, "opencode", f"{environment['HOME']}/.opencode", __version__)
    cafleet.run("fleet", "list").ok()


@pytest.mark.parametrize("version", ["0.0.1", "99.0", f"{__version__}.0", f" {__version__}", ""])
def test_another_version_blocks_beside_one_of_this(
    cafleet: Program, bare: Registry, environment: dict[str, str], version: str
) -> None:
    home = environment["HOME"]
    put(bare, "claude", f"{home}/.claude", __version__)
    put(bare, "codex", f"{home}/.codex", version)
    fragment = f"the skill of codex in {home}/.codex is from cafleet {version or 'of no version'}, and this"
    assert_refused(cafleet.run("fleet", "list"), 1, fragment)
    cafleet.run("setup").ok()
    cafleet.run("fleet", "list").ok()


def test_superseded_rows_neither_block_nor_count(
    cafleet: Program, bare: Registry, environment: dict[str, str], tmp_path: Path
) -> None:
    put(bare, "claude", "/elsewhere", "0.0.1")
    assert_refused(cafleet.run("fleet", "list"), 1, NOBODY)
    put(bare, "claude", f"{environment['HOME']}/.claude", __version__)
    cafleet.run("fleet", "list").ok()
    moved = {"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}
    assert_refused(cafleet.run("fleet", "list", env=moved), 1, NOBODY)


def test_a_path_is_an_agents_own(cafleet: Program, bare: Registry, tmp_path: Path) -> None:
    put(bare, "codex", tmp_path, __version__)
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    assert_refused(cafleet.run("fleet", "list", env=env), 1, NOBODY)


@pytest.mark.parametrize("variable", ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG_DIR"])
@pytest.mark.parametrize("value", ["", "relative", "~/x"])
def test_a_bad_variable_blocks(
    cafleet: Program, registry: Registry, variable: str, value: str
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    result = cafleet.run("fleet", "list", env={variable: value})
    assert_refused(result, 1, f"{variable} is '{value}', which is not an absolute path")


def test_what_comes_before_it(cafleet: Program, bare: Registry) -> None:
    cafleet.run("message", "--help").ok()
    cafleet.run("message", "poll", "--help").ok()
    cafleet.run("--version").ok()
    assert_refused(cafleet.run("message", "poll", "x"), 2, "'x' is not an integer id")
    bare.rows("DELETE FROM schema_migrations WHERE version = ?", queries.SCHEMA_VERSION)
    result = cafleet.run("message", "poll", "1", env={"CODEX_HOME": "bad"})
    assert_refused(result, 1, "older than this program's")


def test_damaged_rows_of_no_present_path_block_nothing_and_setup_deletes_them(
    cafleet: Program, bare: Registry, environment: dict[str, str]
) -> None:
    put(bare, "claude", f"{environment['HOME']}/.claude", __version__)
    bare.rows(
        "INSERT INTO asset_installs VALUES ('gemini', '/g', '1', ?1), (x'00', '/b', '1', ?1),"
        " ('claude', x'ff', '1', ?1), ('claude', CAST(x'ff' AS TEXT), '1', ?1),"
        " ('claude', '/v', x'00', ?1), ('claude', '/t', '1', x'00'), ('claude', '/s', '1', 'then'),"
        " ('claude', '/old', '0.1', ?1), ('codex', '/v', x'00', ?1)",
        THEN,
    )
    cafleet.run("fleet", "list").ok()
    assert len(check(str(bare.path))) == 8
    cafleet.run("setup", "--coding-agent", "claude").ok()
    kept = {("claude", f"{environment['HOME']}/.claude"), ("claude", "/old"), ("codex", "/v")}
    assert {*bare.rows("SELECT coding_agent, path FROM asset_installs")} == kept
    [left] = check(str(bare.path))
    assert left.startswith("asset_installs.cafleet_version holds b'\\x00' where path is '/v'")
    assert left.endswith("; run `cafleet setup`, or delete that row")
    cafleet.run("setup").ok()
    assert check(str(bare.path)) == []


@pytest.mark.parametrize("column", ["cafleet_version", "installed_at"])
def test_a_damaged_value_is_mended_by_the_command_that_is_named(
    cafleet: Program, bare: Registry, environment: dict[str, str], column: str
) -> None:
    put(bare, "codex", f"{environment['HOME']}/.codex", __version__)
    bare.rows(f"UPDATE asset_installs SET {column} = x'ff'")
    told = f"asset_installs.{column} holds"
    result = cafleet.run("fleet", "list")
    assert_refused(result, 1, told)
    assert "; run `cafleet setup`" in result.stderr
    text = cafleet.run("doctor").stdout
    assert f"✗ codex: {told}" in text
    assert "│ ✗ no version, damaged → cafleet setup --coding-agent codex │" in text
    cafleet.run("setup").ok()
    cafleet.run("fleet", "list").ok()
