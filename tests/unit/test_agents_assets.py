"""The shipped monitor prompt and the opencode preset."""

from __future__ import annotations

import json
import string
from fnmatch import fnmatchcase

import pytest

from cafleet.agents import assets, default_monitor_prompt

VALUES = {"fleet_id": "1", "member_id": "2", "director_member_id": "3", "coding_agent": "codex"}


def test_monitor_prompt_uses_the_four_placeholders_and_no_others() -> None:
    fields = {field for _, field, _, _ in string.Formatter().parse(default_monitor_prompt())}
    assert fields - {None} == set(VALUES)


def test_monitor_prompt_names_its_commands_with_its_ids() -> None:
    prompt = default_monitor_prompt().format(**VALUES)
    for command in [
        "cafleet member list 1",
        "cafleet message poll 2",
        "cafleet message send --from-member-id 2 --to-member-id 3 --",
    ]:
        assert command in prompt
    assert len(prompt) < 2500


def preset() -> dict[str, dict[str, dict[str, str]]]:
    """The front matter of the opencode preset."""
    _, front, body = assets.read("opencode/cafleet.md").split("---\n", 2)
    assert body.strip()
    matter: dict[str, dict[str, dict[str, str]]] = json.loads(front)
    return matter


def decision(kind: str, text: str) -> str:
    """What opencode decides: `*` matches anything, and the last rule that matches holds."""
    rules = preset()["permission"][kind]
    return [verdict for pattern, verdict in rules.items() if fnmatchcase(text, pattern)][-1]


def test_preset_is_a_primary_agent() -> None:
    assert preset()["mode"] == "primary"


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("cafleet message poll 3", "allow"),
        ('cafleet message send --from-member-id 3 --to-member-id 1 -- "a > b"', "allow"),
        ("cafleet message poll 3 > .env", "deny"),
        ("cafleet message poll 3 >.env.local", "deny"),
        ("git status", "allow"),
        ("git diff HEAD~1 -- x.py", "allow"),
        ("ls -la", "allow"),
        ("cat README.md", "allow"),
        ("cat .env", "deny"),
        ("cafleet member delete 4", "deny"),
        ("cafleet member create --fleet-id 1", "deny"),
        ("cafleet fleet resume 1", "deny"),
        ("cafleet server", "deny"),
        ("cafleet  setup", "deny"),
        ("cafleet member  restart 3", "deny"),
        ("cafleet db check", "deny"),
        ("cafleet member transcript 3", "allow"),
        ("cafleet fleet show 1", "allow"),
        ("cafleet message send --to-member-id 2 'cafleet member delete 3'", "allow"),
        ("grep -r KEY sub/.env.local", "deny"),
        ("cat a > b", "deny"),
        ("git diff --output=x", "deny"),
        ("git push", "deny"),
        ("git commit -m x", "deny"),
        ("rm -rf x", "deny"),
        ("python -c 1", "deny"),
        ("cafleetish", "deny"),
    ],
)
def test_preset_shell_rules(command: str, verdict: str) -> None:
    assert decision("bash", command) == verdict


@pytest.mark.parametrize("kind", ["read", "edit"])
@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        ("src/main.py", "allow"),
        (".env", "deny"),
        ("/home/u/project/.env", "deny"),
        ("sub/.env.production", "deny"),
        ("docs/environment.md", "allow"),
    ],
)
def test_preset_denies_environment_files(kind: str, path: str, verdict: str) -> None:
    assert decision(kind, path) == verdict
