"""Shell completion, as Typer offers it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.program import Program


def complete(cafleet: Program, line: str) -> list[str]:
    """What bash is offered for the last word of a line, empty after a blank."""
    words = line.split(" ")
    env = {
        "_CAFLEET_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "CAFLEET_DATABASE_URL": "nonsense",
    }
    return cafleet.run(env=env).ok().stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("cafleet ", ["setup", "doctor", "server", "fleet", "member", "monitor", "message", "db"]),
        ("cafleet me", ["member", "message"]),
        ("cafleet message a", ["ack"]),
        ("cafleet fleet ", ["create", "list", "show", "delete"]),
        ("cafleet message send --from", ["--from-member-id"]),
        ("cafleet nothing x", []),
    ],
)
def test_words_are_completed_without_a_database(
    cafleet: Program, line: str, offered: list[str]
) -> None:
    assert complete(cafleet, line) == offered


def test_a_broken_request_of_the_shell(cafleet: Program) -> None:
    done = cafleet.run(env={"_CAFLEET_COMPLETE": "nonsense"})
    assert (done.exit_code, done.stdout) == (1, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(cafleet: Program, shell: str) -> None:
    script = cafleet.run("--show-completion", env={"SHELL": f"/bin/{shell}"}).ok().stdout
    assert "_CAFLEET_COMPLETE" in script


def test_it_is_installed_in_the_home_folder(cafleet: Program, environment: dict[str, str]) -> None:
    done = cafleet.run("--install-completion", env={"SHELL": "/bin/bash"}).ok()
    assert "completion installed in" in done.stdout
    home = Path(environment["HOME"])
    assert "cafleet" in (home / ".bashrc").read_text()
