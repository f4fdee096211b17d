"""Where an agent's files live."""

from __future__ import annotations

from pathlib import Path

import pytest

from cafleet.agents.paths import locate
from cafleet.errors import SettingError
from cafleet.records import CodingAgent

VARIABLES = {
    CodingAgent.CLAUDE: "CLAUDE_CONFIG_DIR",
    CodingAgent.CODEX: "CODEX_HOME",
    CodingAgent.OPENCODE: "OPENCODE_CONFIG_DIR",
}


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    for variable in VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("name", "base", "skills", "preset"),
    [
        ("claude", "/home/u/.claude", "/home/u/.claude/skills", None),
        ("codex", "/home/u/.codex", "/home/u/.codex/skills", "/home/u/.codex/rules/cafleet.rules"),
        (
            "opencode",
            "/home/u/.opencode",
            "/home/u/.config/opencode/skills",
            "/home/u/.opencode/agents/cafleet.md",
        ),
    ],
)
def test_defaults(name: str, base: str, skills: str, preset: str | None) -> None:
    paths = locate(CodingAgent(name))
    assert (paths.base, paths.skills, paths.preset) == (base, skills, preset)
    assert paths.is_default


@pytest.mark.parametrize(
    ("name", "skills", "preset"),
    [
        ("claude", "/x/skills", None),
        ("codex", "/x/skills", "/x/rules/cafleet.rules"),
        ("opencode", "/home/u/.config/opencode/skills", "/x/agents/cafleet.md"),
    ],
)
def test_variables(
    name: str, skills: str, preset: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLES[CodingAgent(name)], "/x")
    paths = locate(CodingAgent(name))
    assert (paths.base, paths.skills, paths.preset) == ("/x", skills, preset)
    assert not paths.is_default
    assert paths.variable == VARIABLES[CodingAgent(name)]


@pytest.mark.parametrize("value", ["", "relative", "~/claude", "./x", "~"])
@pytest.mark.parametrize("name", list(CodingAgent))
def test_unusable_variable_is_named_with_its_value(
    name: CodingAgent, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLES[name], value)
    with pytest.raises(SettingError) as caught:
        locate(name)
    assert f"{VARIABLES[name]} is {value!r}" in str(caught.value)
    for other in set(CodingAgent) - {name}:
        locate(other)


def test_links_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "link"))
    assert locate(CodingAgent.CODEX).base == str(tmp_path / "link")


@pytest.mark.parametrize("value", ["/a/../a/", "//a", "/a/.", "/x/..//a///", "///a/b/../"])
@pytest.mark.parametrize("name", list(CodingAgent))
def test_one_folder_has_one_spelling(
    name: CodingAgent, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLES[name], value)
    assert locate(name).base == "/a"


def test_no_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "not/absolute")
    with pytest.raises(SettingError, match="set HOME"):
        locate(CodingAgent.CLAUDE)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/x")
    assert locate(CodingAgent.CLAUDE).base == "/x"
