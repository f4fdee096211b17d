"""Help and version: without a database, and without loading more than they show."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

import cafleet as package
from tests.harness.database import Database
from tests.harness.program import Program

# What no quick command may load. The groups are found below by their modules.
HEAVY = (
    *("rich", "pydantic", "libtmux", "json", "dataclasses", "wcwidth", "hashlib"),
    *("starlette", "uvicorn", "anyio", "h11", "asyncio"),
)
GROUPS = ("fleet", "member", "message", "monitor", "db", "setup", "doctor", "server")


# `-X importtime` does not report what importlib imports by name, as the tree does.
LIST_MODULES = """
import sys
from cafleet.cli.main import main
main()
sys.stderr.write("\\n" + " ".join(sys.modules))
"""


def imported(*arguments: str, env: Mapping[str, str] | None = None) -> set[str]:
    """The names of all modules that a run of the program has loaded at its end."""
    run = subprocess.run(
        [sys.executable, "-c", LIST_MODULES, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
    )
    return set(run.stderr.splitlines()[-1].split())


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
        (("db", "--help"), ("queries", "check", "backup")),
        (("message", "--help"), ("send", "broadcast", "poll", "ack", "show")),
        (("message", "send", "--help"), ("--from-member-id", "--to-member-id", "TEXT", "--file")),
        (("member", "create", "--help"), ("--fleet-id", "--agent-arg", "{director_member_id}")),
        (("setup", "--help"), ("database",)),
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
    for group in ("fleet", "member", "message", "db"):
        listed = cafleet.run(group, "--help").ok().stdout.split("Commands:\n")[1]
        for line in listed.splitlines():
            name = line.split()[0]
            shown = cafleet.run(group, name, "--help").ok().stdout
            assert shown.startswith(f"Usage: cafleet {group} {name} [OPTIONS]")


def test_the_help_of_the_whole_program_imports_no_group() -> None:
    loaded = imported("--help")
    assert "cafleet.cli.tree" in loaded
    assert not loaded & {f"cafleet.cli.{group}" for group in ("fleet", "member", "message")}


@pytest.mark.parametrize(
    "arguments",
    [
        ("message", "poll", "1"),
        ("message", "poll", "1", "--json"),
        ("message", "ack", "1"),
        ("message", "send", "--from-member-id=1", "--to-member-id=2", "hi"),
        ("member", "list", "1"),
    ],
)
def test_a_quick_command_imports_only_what_it_uses(
    database: Database, environment: dict[str, str], arguments: tuple[str, ...]
) -> None:
    loaded = imported(
        *arguments, env={"HOME": environment["HOME"], "CAFLEET_DATABASE_URL": database.url}
    )
    assert f"cafleet.cli.{arguments[0]}" in loaded
    assert "sqlite3" in loaded
    assert not loaded & {f"cafleet.cli.{group}" for group in GROUPS if group != arguments[0]}
    assert not {name.split(".")[0] for name in loaded} & set(HEAVY)
