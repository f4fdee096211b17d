"""`doctor` where all is well, and what it finds wrong with variables, assets and the multiplexer."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from cafleet import __version__
from cafleet.store import queries
from tests.harness.database import Database
from tests.harness.program import Program, Result
from tests.harness.registry import THEN, Registry
from tests.harness.tmux import TmuxServer

HEAD = queries.SCHEMA_VERSION
KEYS = {
    "multiplexer": "ok backend session window_id pane_id presence_var presence_value error",
    "database": (
        "ok schema_version head_version error path journal_mode integrity size_bytes file_system "
        "couriers orphan_panes warnings"
    ),
    "coding_agents": "ok cli_version agents superseded",
}
AGENT_KEYS = "coding_agent path source recorded_version installed_at state error"


@pytest.fixture
def pane(tmux_server: TmuxServer) -> str:
    return tmux_server.session("main")


def report(result: Result, issues: int) -> Any:
    """The JSON of a run that found so many issues, its keys as they are promised."""
    assert (result.exit_code, result.stderr) == (min(issues, 1), ""), result
    assert result.stdout.count("\n") == 1
    found = json.loads(result.stdout)
    assert list(found) == [*KEYS, "issues"]
    for section, keys in KEYS.items():
        assert list(found[section]) == keys.split()
    for agent in found["coding_agents"]["agents"]:
        assert list(agent) == AGENT_KEYS.split()
    names = [agent["coding_agent"] for agent in found["coding_agents"]["agents"]]
    assert names == ["claude", "codex", "opencode"]
    assert found["issues"] == issues, found
    return found


def test_a_fresh_home_in_tmux_has_no_issues(
    cafleet: Program, environment: dict[str, str], pane: str, tmux_server: TmuxServer
) -> None:
    cafleet.run("setup").ok()
    path = f"{environment['HOME']}/.local/share/cafleet/cafleet.db"
    found = report(cafleet.run("doctor", "--json", pane=pane), 0)
    inside = tmux_server.inside(pane)
    assert found["multiplexer"] == {
        "ok": True,
        "backend": "tmux",
        "session": "main",
        "window_id": tmux_server.ask(pane, "#{window_id}"),
        "pane_id": pane,
        "presence_var": "TMUX",
        "presence_value": inside["TMUX"],
        "error": None,
    }
    database = found["database"]
    assert (database["schema_version"], database["head_version"]) == (HEAD, HEAD)
    assert (database["path"], database["size_bytes"] > 0) == (path, True)
    assert (database["journal_mode"], database["integrity"]) == ("wal", "ok")
    assert database["error"] is None
    for agent in found["coding_agents"]["agents"]:
        assert (agent["state"], agent["source"]) == ("ok", "default")
        assert agent["recorded_version"] == __version__ == found["coding_agents"]["cli_version"]
        assert agent["path"] == f"{environment['HOME']}/.{agent['coding_agent']}"

    text = cafleet.run("doctor", pane=pane).ok().stdout
    lines = text.splitlines()
    assert lines[0] == f"cafleet {__version__}"
    assert lines[-1] == "0 issues"
    assert [line for line in lines if line[:1] in "✓✗" and line] == [
        "✓ multiplexer: tmux",
        f"✓ database: schema {HEAD} (head)",
        "✓ coding agents",
    ]
    assert re.search(rf"│ codex +│ ~/\.codex +│ default │ ✓ {re.escape(__version__)} │", text)


def test_it_changes_nothing(cafleet: Program, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    report(cafleet.run("doctor", "--json"), 2)
    cafleet.run("doctor")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("env", "fragment"),
    [
        ({}, "this is no pane of a multiplexer (TMUX and HERDR_ENV are not set); start tmux first"),
        ({"CAFLEET_MULTIPLEXER": "screen"}, "CAFLEET_MULTIPLEXER is 'screen'; set it to tmux"),
        ({"TMUX": "/x,1,0", "HERDR_ENV": "1"}, "are both set; say which counts"),
        ({"CAFLEET_MULTIPLEXER": "herdr"}, "herdr is not supported yet"),
        ({"TMUX": "/nowhere,1,0", "TMUX_PANE": "%0"}, "no tmux server answers at /nowhere"),
        ({"TMUX": "junk", "TMUX_PANE": "%0"}, "TMUX and TMUX_PANE do not name a tmux pane"),
    ],
)
def test_without_a_usable_multiplexer(
    cafleet: Program, database: Database, env: dict[str, str], fragment: str
) -> None:
    section = report(cafleet.run("doctor", "--json", env=env), 1)["multiplexer"]
    assert fragment in section.pop("error")
    assert section.pop("ok") is False
    assert set(section.values()) == {None}
    text = cafleet.run("doctor", env=env).stdout
    assert "✗ multiplexer: " in text
    assert f"✓ database: schema {HEAD} (head)" in text
    assert text.endswith("\n1 issue\n")


def test_a_program_that_agents_cannot_find(
    cafleet: Program, database: Database, pane: str, tmux_server: TmuxServer
) -> None:
    """Panes that cafleet opens get the PATH of who opens them; those of a person the server's."""
    poor = {"PATH": "/usr/bin:/bin"}
    tmux_server.run("set-environment", "-g", "PATH", "/usr/bin:/bin")
    found = report(cafleet.run("doctor", "--json", pane=pane), 0)
    assert found["multiplexer"]["ok"] is True
    (warning,) = found["database"]["warnings"]
    assert "panes that you open yourself (/usr/bin:/bin)" in warning
    # What a hook of the user's prints is no part of it.
    tmux_server.run("set-hook", "-g", "after-show-environment", "display-message -p x")
    tmux_server.run("set-hook", "-g", "after-display-message", "list-sessions")
    # The session's own variable counts, and it can take one away.
    tmux_server.run("set-environment", "-t", pane, "PATH", cafleet.environment["PATH"])
    assert report(cafleet.run("doctor", "--json", pane=pane), 0)["database"]["warnings"] == []
    section = report(cafleet.run("doctor", "--json", pane=pane, env=poor), 1)["multiplexer"]
    assert section.pop("ok") is False
    fault = "cafleet is not on this PATH (/usr/bin:/bin), which the panes get that cafleet opens from here"
    assert section.pop("error").startswith(fault)
    assert set(section.values()) == {None}
    assert f"✗ multiplexer: {fault}" in cafleet.run("doctor", pane=pane, env=poor).stdout
    tmux_server.run("set-environment", "-t", pane, "-r", "PATH")
    assert len(report(cafleet.run("doctor", "--json", pane=pane), 0)["database"]["warnings"]) == 1


def test_bad_variables_are_findings(cafleet: Program, database: Database, pane: str) -> None:
    env = {"CODEX_HOME": "~/codex", "OPENCODE_CONFIG_DIR": ""}
    found = report(cafleet.run("doctor", "--json", pane=pane, env=env), 2)["coding_agents"]
    claude, codex, opencode = found["agents"]
    assert claude["state"] == "ok"
    assert (codex["path"], codex["source"], codex["state"]) == (None, "CODEX_HOME", "error")
    assert (codex["recorded_version"], codex["installed_at"]) == (None, None)
    assert codex["error"].startswith("CODEX_HOME is '~/codex', which is not an absolute path")
    assert opencode["error"].startswith("OPENCODE_CONFIG_DIR is ''")
    text = cafleet.run("doctor", pane=pane, env=env).stdout
    assert re.search(r"│ codex +│ - +│ \$CODEX_HOME +│ ✗ bad variable +│", text)
    assert text.endswith("\n2 issues\n")


def test_an_empty_home_is_to_blame_itself(
    cafleet: Program, database: Database, pane: str, tmp_path: Path
) -> None:
    env = {"HOME": "", "CODEX_HOME": str(tmp_path), "OPENCODE_CONFIG_DIR": "/x"}
    found = report(cafleet.run("doctor", "--json", pane=pane, env=env), 2)["coding_agents"]
    assert [agent["source"] for agent in found["agents"]] == ["HOME", "CODEX_HOME", "HOME"]
    text = cafleet.run("doctor", pane=pane, env=env).stdout
    assert re.search(r"│ claude +│ - +│ \$HOME +│ ✗ bad variable +│", text)


def test_stale_and_superseded_installations(
    cafleet: Program, database: Database, pane: str, tmp_path: Path
) -> None:
    database.rows("UPDATE asset_installs SET cafleet_version = '0.0.9' WHERE path LIKE '%.codex'")
    for agent, path in (("opencode", "/z"), ("claude", "/b"), ("claude", "/a\x1b")):
        database.rows("INSERT INTO asset_installs VALUES (?, ?, '0.0.1', ?)", agent, path, THEN)
    found = report(cafleet.run("doctor", "--json", pane=pane), 1)["coding_agents"]
    assert [agent["state"] for agent in found["agents"]] == ["ok", "stale", "ok"]
    assert found["agents"][1]["recorded_version"] == "0.0.9"
    assert found["superseded"][0] == {
        "coding_agent": "claude",
        "path": "/a\x1b",
        "recorded_version": "0.0.1",
        "installed_at": THEN,
    }
    assert [row["path"] for row in found["superseded"]] == ["/a\x1b", "/b", "/z"]
    text = cafleet.run("doctor", pane=pane).stdout
    assert "✗ 0.0.9 → cafleet setup --coding-agent codex" in text
    database.rows("UPDATE asset_installs SET cafleet_version = '' WHERE path LIKE '%.codex'")
    text = cafleet.run("doctor", pane=pane).stdout
    assert "✗ no version → cafleet setup --coding-agent codex" in text
    assert f"installed by cafleet of no version, and this is {__version__}; run" in text
    assert "superseded: claude /a\\x1b (0.0.1)" in text
    cafleet.run("setup", "--coding-agent", "codex").ok()
    report(cafleet.run("doctor", "--json", pane=pane), 0)


def test_not_installed_is_no_issue(
    cafleet: Program, registry: Registry, pane: str, environment: dict[str, str]
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    registry.rows("DELETE FROM asset_installs")
    found = report(cafleet.run("doctor", "--json", pane=pane), 0)["coding_agents"]
    assert {agent["state"] for agent in found["agents"]} == {"not_installed"}
    assert {agent["recorded_version"] for agent in found["agents"]} == {None}
    text = cafleet.run("doctor", pane=pane).stdout
    assert "– cafleet setup --coding-agent opencode" in text
    assert "! no agent has its skill, so other commands refuse; run `cafleet setup`" in text


@pytest.mark.parametrize("damage", ["missing", "page", "preset", "record", "link"])
def test_files_that_are_not_as_installed(
    cafleet: Program, database: Database, pane: str, environment: dict[str, str], damage: str
) -> None:
    base = Path(environment["HOME"]) / ".codex"
    where = base / "skills/cafleet/SKILL.md"
    if damage == "missing":
        shutil.rmtree(base)
    elif damage == "page":
        where = base / "skills/cafleet/member.md"
        where.write_text("half")
    elif damage == "preset":
        where = base / "rules/cafleet.rules"
        where.unlink()
    elif damage == "record":
        where = base / "rules/cafleet.rules"
        where.write_text("half")
        where.with_name("cafleet.rules.installed").unlink()
        where.with_name("cafleet.rules.installed").mkdir()
    else:
        (base / "skills/cafleet").rename(base / "there")
        (base / "skills/cafleet").symlink_to(base / "there")
        where = base / "skills/cafleet"
    codex = report(cafleet.run("doctor", "--json", pane=pane), 1)["coding_agents"]["agents"][1]
    assert codex["state"] == "error"
    assert str(where) in codex["error"]
    assert "run `cafleet setup --coding-agent codex`" in codex["error"]
    assert f"✗ {__version__}, damaged → " in cafleet.run("doctor", pane=pane).stdout
    cafleet.run("setup", "--coding-agent", "codex").ok()
    report(cafleet.run("doctor", "--json", pane=pane), 0)


@pytest.mark.parametrize(
    ("agent", "place"),
    [
        ("claude", ".claude/skills/cafleet"),
        ("claude", ".claude/skills"),
        ("codex", ".codex/skills/cafleet"),
        ("codex", ".codex/rules"),
        ("codex", ".codex"),
        ("opencode", ".config/opencode/skills/cafleet"),
        ("opencode", ".opencode/agents"),
    ],
)
def test_assets_that_may_not_be_read(
    cafleet: Program, database: Database, environment: dict[str, str], agent: str, place: str
) -> None:
    folder = Path(environment["HOME"]) / place
    folder.chmod(0)
    try:
        found = report(cafleet.run_unprivileged("doctor", "--json"), 2)
        text = cafleet.run_unprivileged("doctor").stdout
        setup = cafleet.run_unprivileged("setup", "--coding-agent", agent)
    finally:
        folder.chmod(0o755)
    error = an_unreadable(agent, found)
    assert error.startswith(str(folder))
    assert "cannot be read (Permission denied); see what it and the folders above it" in error
    assert f"✗ {agent}: {error}" in text
    assert re.search(rf"│ {agent} .*│ ✗ {re.escape(__version__)}, damaged +│", text)
    assert (setup.exit_code, f"{folder}" in setup.stderr) == (1, True)
    assert "(Permission denied)" in setup.stderr
    report(cafleet.run("doctor", "--json"), 1)


def an_unreadable(agent: str, found: Any) -> str:
    """The error of this agent, the only one that is not in order."""
    agents = {each["coding_agent"]: each for each in found["coding_agents"]["agents"]}
    assert {name for name, each in agents.items() if each["state"] != "ok"} == {agent}
    assert agents[agent]["state"] == "error"
    error: str = agents[agent]["error"]
    return error


def test_assets_behind_a_circle_of_links(
    cafleet: Program, database: Database, environment: dict[str, str]
) -> None:
    base = Path(environment["HOME"]) / ".codex"
    shutil.rmtree(base)
    base.symlink_to(base)
    error = an_unreadable("codex", report(cafleet.run("doctor", "--json"), 2))
    assert error.startswith(f"{base}/skills/cafleet cannot be read (Too many levels of symbolic")
