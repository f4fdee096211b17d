"""The rules for Codex: Starlark that is also Python, one call of ``prefix_rule`` for each rule."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cafleet.agents import assets

RULES = assets.read("codex/cafleet.rules")
CASES = [
    ("cafleet message poll 3", "allow"),
    # Codex asks each time, and a Director of its kind has to work without that.
    ("cafleet fleet create --name x --coding-agent codex", "allow"),
    ("cafleet fleet resume 1", "allow"),
    ("cafleet fleet set 1 --director-answers yes", "prompt"),
    ("cafleet member answer 3 --choice 1", "prompt"),
    ("cafleet fleet list", "allow"),
    ("cafleet member delete 3", "allow"),
    ("cafleet member transcript 3", "allow"),
    ("cafleet db check", "prompt"),
    ("cafleet whoami", "allow"),
    ("cafleet member ping 3", "allow"),
    ("cafleet member prompt 3 hello", "prompt"),
    ("cafleetish message poll 3", None),
    ("sh -c cafleet", None),
]


def rules() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    # Our own text, and nothing in it but calls of this one function.
    exec(RULES, {"__builtins__": {}, "prefix_rule": lambda **fields: found.append(fields)})
    return found


def decision(command: str) -> str | None:
    """Codex's: of the rules whose pattern the command begins with, the strictest."""
    words = command.split()
    hits = [rule["decision"] for rule in rules() if begins(words, rule["pattern"])]
    return max(hits, key=["allow", "prompt", "forbidden"].index, default=None)


def begins(words: list[str], pattern: list[Any]) -> bool:
    """Whether each word is that of the pattern, or one of those that it lists there."""
    return len(words) >= len(pattern) and all(
        word in wanted if isinstance(wanted, list) else word == wanted
        for word, wanted in zip(words, pattern, strict=False)
    )


@pytest.mark.parametrize(("command", "expected"), CASES)
def test_what_is_allowed_and_what_is_asked(command: str, expected: str | None) -> None:
    assert decision(command) == expected


def test_their_own_examples_hold() -> None:
    for rule in rules():
        assert all(begins(each.split(), rule["pattern"]) for each in rule["match"])
        assert not any(begins(each.split(), rule["pattern"]) for each in rule["not_match"])


@pytest.mark.skipif(shutil.which("codex") is None, reason="the real codex is not on PATH")
@pytest.mark.parametrize(("command", "expected"), CASES)
def test_the_real_codex_says_the_same(
    tmp_path: Path, command: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    (tmp_path / "cafleet.rules").write_text(RULES, encoding="utf-8")
    words = ["codex", "execpolicy", "check", "--rules", tmp_path / "cafleet.rules", "--"]
    done = subprocess.run([*words, *command.split()], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout).get("decision") == expected
