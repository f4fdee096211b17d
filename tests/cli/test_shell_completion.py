"""Shell completion, as Typer offers it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.program import Program, Result, assert_refused

ODD = {"COMP_WORDS": "cafleet ", "COMP_CWORD": "x"}


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
        (
            "cafleet ",
            ["setup", "doctor", "server", "whoami", "fleet", "member", "monitor", "message", "db"],
        ),
        ("cafleet me", ["member", "message"]),
        ("cafleet message a", ["ack"]),
        ("cafleet fleet ", ["create", "list", "show", "pause", "resume", "delete"]),
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


@pytest.mark.parametrize("wrong", [{}, {"COMP_WORDS": "cafleet "}, {"COMP_CWORD": "1"}, ODD])
def test_a_call_that_is_not_the_scripts(cafleet: Program, wrong: dict[str, str]) -> None:
    done = cafleet.run(env={"_CAFLEET_COMPLETE": "complete_bash", **wrong})
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(cafleet: Program, shell: str) -> None:
    script = cafleet.run("--show-completion", shell).ok().stdout
    assert f"_CAFLEET_COMPLETE=complete_{shell}" in script


def test_the_current_shell_is_found(cafleet: Program, home: Path) -> None:
    done = within(cafleet, "bash", "--install-completion")
    assert "bash completion installed in" in done.ok().stdout
    [line] = (home / ".bashrc").read_text().splitlines()
    assert line == f"source {home}/.bash_completions/cafleet.sh"
    for option in ("--install-completion", "--show-completion"):
        assert_refused(
            within(cafleet, "dash", option), 1, "the current shell is dash, which is not"
        )


def within(cafleet: Program, shell: str, option: str) -> Result:
    """What the option does to whoever types it into this shell."""
    line = f"{shlex.quote(cafleet.path)} {option}; exit $?"
    done = subprocess.run(
        [shell, "-c", line], env=cafleet.environment, capture_output=True, text=True
    )
    return Result(line, done.returncode, done.stdout, done.stderr)


@pytest.fixture
def home(environment: dict[str, str]) -> Path:
    return Path(environment["HOME"])


@pytest.mark.parametrize(
    ("shell", "startup"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", None)]
)
def test_it_is_added_once_to_whatever_stands_there(
    cafleet: Program, home: Path, shell: str, startup: str | None
) -> None:
    own = b"# caf\xe9, and no line break"
    if startup is not None:
        (home / startup).write_bytes(own)
    before: dict[str, bytes | None] = {}
    for _ in range(2):
        cafleet.run("--install-completion", shell).ok()
        after = tree(home)
        assert before in ({}, after)
        before = after
    files = {name: content for name, content in before.items() if content is not None}
    if startup is not None:
        assert re.fullmatch(re.escape(own) + rb"\n[^\n]+\n", files.pop(startup))
    [script] = files.values()
    assert f"_CAFLEET_COMPLETE=complete_{shell}".encode() in script


def tree(folder: Path) -> dict[str, bytes | None]:
    """The files below a folder with what they hold; of anything else, that it is there."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def folder_for_startup(home: Path) -> None:
    (home / ".bashrc").mkdir()


def file_for_folder(home: Path) -> None:
    (home / ".bash_completions").touch()


def folder_for_script(home: Path) -> None:
    (home / ".bash_completions/cafleet.sh").mkdir(parents=True)


def closed_startup(home: Path) -> None:
    (home / ".bashrc").touch(0o444)


def closed_home(home: Path) -> None:
    home.chmod(0o555)


@pytest.mark.parametrize(
    "spoil",
    [folder_for_startup, file_for_folder, folder_for_script, closed_startup, closed_home],
)
def test_what_stands_in_the_way_is_named_and_nothing_is_done(
    cafleet: Program, home: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(home)
    before = tree(home)
    refused = cafleet.run_unprivileged("--install-completion", "bash")
    assert_refused(refused, 1, "cannot be written (")
    assert "; see what stands there, or" in refused.stderr
    assert tree(home) == before


@pytest.mark.parametrize("home", ["", "relative", b"/caf\xe9"])
def test_it_needs_a_home(cafleet: Program, tmp_path: Path, home: str | bytes) -> None:
    place = {"HOME": os.fsdecode(home)}
    refused = cafleet.run("--install-completion", "bash", env=place, cwd=tmp_path)
    assert_refused(refused, 1, "the home folder is")
    assert not (tmp_path / "relative").exists()


@pytest.mark.parametrize("option", ["--install-completion", "--show-completion"])
@pytest.mark.parametrize("words", [("nosuch",), ("",), ("bash", "x"), ("-x",)])
def test_a_wrong_word(cafleet: Program, home: Path, option: str, words: tuple[str, ...]) -> None:
    assert_refused(cafleet.run(option, *words), 2, f"see 'cafleet {option} --help'")
    assert tree(home) == {}
