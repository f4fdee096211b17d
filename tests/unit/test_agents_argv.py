"""The command that starts each agent: its words, the checks, prompts that look like options."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.agents import agent
from cafleet.agents.base import SpawnRequest
from cafleet.errors import AgentError, SettingError, UsageError
from cafleet.records import CodingAgent

PLAIN = SpawnRequest(
    display_name="alice",
    prompt="hello",
    model=None,
    effort=None,
    monitor=False,
    permission_mode=None,
    extra_args=(),
    writable_dir="/home/u/db",
    readable_file=None,
)
HOSTILE = [
    "- [ ] do it",
    "--version",
    "--",
    "-p",
    "---\ntitle: x\n---\n# body",
    'it\'s "quoted" $HOME `id` $(id); #{pane_id} 100% \\ line\nbreak 界🎉',
    "",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Programs of the three names on PATH, and the preset that opencode needs."""
    home = tmp_path_factory.mktemp("home")
    programs = home / "bin"
    programs.mkdir()
    for name in CodingAgent:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    preset = home / ".opencode/agents/cafleet.md"
    preset.parent.mkdir(parents=True)
    preset.write_text("preset\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(programs))
        patch.setenv("HOME", str(home))
        patch.setenv("CLAUDE_CONFIG_DIR", "/home/u/claude")
        patch.delenv("OPENCODE_CONFIG_DIR", raising=False)
        yield programs


def words(name: str, **changes: object) -> list[str]:
    """The argv of one request, without the program."""
    return agent(CodingAgent(name)).argv(msgspec.structs.replace(PLAIN, **changes))[1:]


CLAUDE_START = [
    "--permission-mode",
    "dontAsk",
    "--allowedTools",
    "Bash(cafleet message *)",
    "Bash(cafleet whoami *)",
]
SKILL = "Read(//home/u/claude/skills/cafleet/**)"
CODEX_START = [
    *("--ask-for-approval", "never", "--sandbox", "workspace-write"),
    *("--config", 'sandbox_workspace_write.writable_roots=["/home/u/db"]'),
]


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("claude", {}, [*CLAUDE_START, SKILL, "--name", "alice", "--", "hello"]),
        (
            "claude",
            {"model": "opus", "effort": "max", "extra_args": ("--add-dir", "/x")},
            [
                *(*CLAUDE_START, SKILL, "--name", "alice", "--model", "opus", "--effort", "max"),
                *("--add-dir", "/x", "--", "hello"),
            ],
        ),
        (
            "claude",
            {"permission_mode": "acceptEdits"},
            [
                "--permission-mode",
                "acceptEdits",
                *CLAUDE_START[2:],
                SKILL,
                "--name",
                "alice",
                "--",
                "hello",
            ],
        ),
        (
            "claude",
            {"monitor": True},
            [
                *CLAUDE_START,
                *("Bash(cafleet monitor scan *)", "Bash(cafleet member ping *)"),
                *(
                    "Bash(cafleet member list *)",
                    "Bash(cafleet member question *)",
                    "Bash(cafleet member transcript *)",
                    "Bash(cafleet attention *)",
                    SKILL,
                    "--name",
                    "alice",
                    "--",
                    "hello",
                ),
            ],
        ),
        (
            "claude",
            {"readable_file": "/home/u/db/prompt.md"},
            [*CLAUDE_START, SKILL, "Read(//home/u/db/prompt.md)", "--name", "alice", "--", "hello"],
        ),
        (
            "claude",
            {"readable_file": "/a (b), [c]/é*.txt"},
            [*CLAUDE_START, SKILL, "Read(//a??b????c?/é?.txt)", "--name", "alice", "--", "hello"],
        ),
        ("codex", {}, [*CODEX_START, "--", "hello"]),
        (
            "codex",
            {"model": "gpt-5", "effort": "minimal", "extra_args": ("--search",), "monitor": True},
            [
                *(*CODEX_START, "--model", "gpt-5", "--config=model_reasoning_effort=minimal"),
                *("--search", "--", "hello"),
            ],
        ),
        ("opencode", {}, ["--agent", "cafleet", "--prompt=hello"]),
        (
            "opencode",
            {"model": "a/b/c", "extra_args": ("--print-logs",), "monitor": True},
            ["--agent", "cafleet", "--model", "a/b/c", "--print-logs", "--prompt=hello"],
        ),
    ],
)
def test_argv_table(
    folder: Path, name: str, changes: dict[str, object], expected: list[str]
) -> None:
    assert words(name, **changes) == expected


@pytest.mark.parametrize("name", list(CodingAgent))
def test_program_is_absolute(folder: Path, name: CodingAgent) -> None:
    assert agent(name).argv(PLAIN)[0] == agent(name).program() == str(folder / name)
    assert agent(name).name is name


@pytest.mark.parametrize("prompt", HOSTILE)
@pytest.mark.parametrize("name", ["claude", "codex"])
def test_any_prompt_stands_alone_behind_the_end_of_options(
    folder: Path, name: str, prompt: str
) -> None:
    assert words(name, prompt=prompt)[-2:] == ["--", prompt]


@pytest.mark.parametrize("prompt", HOSTILE)
def test_any_prompt_is_the_value_of_one_option(folder: Path, prompt: str) -> None:
    assert words("opencode", prompt=prompt)[-1] == f"--prompt={prompt}"


@given(path=st.text(st.characters(exclude_categories=["Cs"])))
def test_writable_folder_is_one_toml_string(folder: Path, path: str) -> None:
    _, text = words("codex", writable_dir=f"/{path}")[5].split("=", 1)
    assert "\n" not in text
    assert tomllib.loads(f"roots = {text}") == {"roots": [f"/{path}"]}


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("claude", ["low", "medium", "high", "xhigh", "max"], ["minimal", "High", "", "low "]),
        ("codex", ["minimal", "low", "medium", "high", "xhigh"], ["max", "none", ""]),
        ("opencode", [], ["low", "high", ""]),
    ],
)
def test_efforts(name: str, good: list[str], bad: list[str]) -> None:
    one = agent(CodingAgent(name))
    for effort in good:
        one.check_effort(effort)
    for effort in bad:
        with pytest.raises(UsageError) as caught:
            one.check_effort(effort)
        assert repr(effort) in str(caught.value)
        assert all(known in str(caught.value) for known in good)


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_any_model_but_what_reads_as_an_option(name: str) -> None:
    agent(CodingAgent(name)).check_model("anything at all")
    for bad in ["", "  ", "-m", "--help"]:
        with pytest.raises(UsageError):
            agent(CodingAgent(name)).check_model(bad)


def test_opencode_models() -> None:
    for good in ["a/b", "a/b/c", "a//"]:
        agent(CodingAgent.OPENCODE).check_model(good)
    for bad in ["", "a", "/", "/b", "a/", " /b", "a/ ", "-a/b"]:
        with pytest.raises(UsageError):
            agent(CodingAgent.OPENCODE).check_model(bad)


@pytest.mark.parametrize("name", list(CodingAgent))
def test_missing_program(
    name: CodingAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentError, match=f"program {name} is not on PATH; install it"):
        agent(name).program()


def test_program_of_a_relative_path_entry(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("PATH", "bin")
    assert agent(CodingAgent.CODEX).program() == str(folder / "codex")


def test_opencode_without_its_preset(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCODE_CONFIG_DIR", str(tmp_path))
    with pytest.raises(AgentError) as caught:
        agent(CodingAgent.OPENCODE).program()
    assert str(tmp_path / "agents/cafleet.md") in str(caught.value)
    assert "cafleet setup --coding-agent opencode" in str(caught.value)


def test_only_opencode_reads_its_variable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_CONFIG_DIR", "relative")
    agent(CodingAgent.CLAUDE).argv(PLAIN)
    with pytest.raises(SettingError, match="OPENCODE_CONFIG_DIR is 'relative'"):
        agent(CodingAgent.OPENCODE).argv(PLAIN)
