"""Help and version: without a database, and without loading more than they show."""

from __future__ import annotations

import subprocess
import sys

import pytest

import cafleet as package
from tests.harness.program import CAFLEET, Program

# What no quick command may load. The groups are found below by their modules.
HEAVY = ("rich", "pydantic", "libtmux", "starlette", "json", "dataclasses", "wcwidth", "hashlib")
GROUPS = ("fleet", "member", "message", "setup")


def imported(*arguments: str) -> set[str]:
    """The names of all modules that a run of the program imports."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", CAFLEET, *arguments], capture_output=True, text=True
    )
    return {
        line.rsplit("|", 1)[1].strip()
        for line in run.stderr.splitlines()
        if line.startswith("import time:")
    }


def test_the_version(cafleet: Program) -> None:
    for arguments in [("--version",), ("--version", "message", "poll", "x")]:
        result = cafleet.run(*arguments, env={"CAFLEET_MAX_TEXT_LEN": "bad"}).ok()
        assert result.stdout == f"cafleet {package.__version__}\n"
        assert result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("--help",), ("--version", *GROUPS)),
        (("fleet", "--help"), ("create", "list", "show", "delete")),
        (
            ("member", "--help"),
            ("create", "delete", "show", "list", "prompt", "ping", "capture"),
        ),
        (("message", "--help"), ("send", "broadcast", "poll", "ack", "show")),
        (("message", "send", "--help"), ("--from-member-id", "--to-member-id", "TEXT", "--file")),
        (("member", "create", "--help"), ("--fleet-id", "--agent-arg", "{director_member_id}")),
        (("setup", "--help"), ("registry",)),
    ],
)
def test_help_needs_nothing(
    cafleet: Program, arguments: tuple[str, ...], fragments: tuple[str, ...]
) -> None:
    result = cafleet.run(*arguments, env={"CAFLEET_DATABASE_URL": "nonsense", "LC_ALL": "C"}).ok()
    assert result.stdout.startswith(f"Usage: cafleet {' '.join(arguments[:-1])}".rstrip())
    assert all(fragment in result.stdout for fragment in fragments)
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


def test_every_command_has_help(cafleet: Program) -> None:
    for group in ("fleet", "member", "message"):
        listed = cafleet.run(group, "--help").ok().stdout.split("Commands:\n")[1]
        for line in listed.splitlines():
            name = line.split()[0]
            shown = cafleet.run(group, name, "--help").ok().stdout
            assert shown.startswith(f"Usage: cafleet {group} {name} [OPTIONS]")


def test_the_help_of_the_whole_program_imports_no_group() -> None:
    loaded = imported("--help")
    assert not loaded & {f"cafleet.cli.{group}" for group in ("fleet", "member", "message")}


@pytest.mark.parametrize("command", ["poll", "ack", "send"])
def test_a_quick_command_imports_only_its_own_group(command: str) -> None:
    loaded = imported("message", command, "x")
    others = {f"cafleet.cli.{group}" for group in GROUPS if group != "message"}
    assert "cafleet.cli.message" in loaded
    assert not loaded & others
    assert not {name.split(".")[0] for name in loaded} & set(HEAVY)
