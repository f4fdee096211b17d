"""Every argument of every command, given what nobody would give it.

``FUZZ_CASES`` command lines are tried (some dozens by default) and ``FUZZ_SEED`` says which; a
failure names its own.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Iterator, Sequence

import pytest
from typer._click.core import Parameter

from cafleet.cli.parser import ClickCommand, Context
from cafleet.cli.tree import program
from tests.harness.program import Program, Result
from tests.harness.registry import Registry

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("FUZZ_CASES", "120"))
SEED = int(os.environ.get("FUZZ_SEED", "7"))

# These go on until they are ended, if nothing is wrong with their arguments.
ENDLESS = {("server",), ("monitor", "run"), ("message", "wait")}
# These say on stdout what is wrong.
TELLING = {("doctor",), ("db", "check"), ("setup",)}

NUMBERS = (
    *("1", "2", "3", "4", "0", "-1", "-0", "00", "01", "+7", "1_000", " 7 ", "7 ", "٣", "²", "1.0"),
    *("1e3", "0x10", "", "9223372036854775807", "9223372036854775808", "-9223372036854775809"),
    *("9" * 5000, "-" + "9" * 5000, "--1", "−1", "NaN", "inf", "null", "True"),
)
TEXTS = (
    *(
        "hi",
        "",
        " ",
        "\t\n",
        "\u3000",
        "-",
        "--",
        "---",
        "-h",
        "--help",
        "--json",
        "--no-such",
        "-x=1",
    ),
    *(
        "\udcff\udc80",
        "a\udce9",
        "\x1b[31m",
        "\r\nError: x",
        "\x00"[:0],
        "\u202e",
        "\ufeff",
        "👩‍👩‍👧",
        "e\u0301",
    ),
    *(
        "x" * 70_000,
        "{",
        "}",
        "{}",
        "{fleet_id}",
        "{fleet_id!r}",
        "{0}",
        "{{member_id}}",
        "{fleet_id.x}",
    ),
    *(
        "'; DROP TABLE members; --",
        '"',
        "%s",
        "$(touch x)",
        "`x`",
        "\\",
        "*",
        "~",
        "#{pane_id}",
        ":x",
    ),
    *(
        "claude",
        "codex",
        "opencode",
        "Claude",
        "monitor",
        "seen",
        "acked",
        "submitted",
        "low",
        "a/b",
    ),
    *(
        "/",
        ".",
        "..",
        "/dev/null",
        "/dev/full",
        "/proc/self/mem",
        "/etc/passwd",
        "no/such/file",
        "x" * 300,
    ),
    *("list_pending", "127.0.0.1", "::", "8000", "65536"),
)
VARIABLES = {
    "CAFLEET_MAX_TEXT_LEN": NUMBERS,
    "CAFLEET_MONITOR_WAKE_INTERVAL": NUMBERS,
    "CAFLEET_DELIVERY_HOLD_TIMEOUT": NUMBERS,
    "CAFLEET_MULTIPLEXER": ("tmux", "herdr", "", "screen", "\x1b"),
    "CAFLEET_DATABASE_URL": (
        "",
        "sqlite://",
        "sqlite:///x",
        "sqlite:////",
        "sqlite:////dev/null",
        "x",
        "sqlite:////no/such",
    ),
    "HOME": ("", "/proc/none", "relative", "\udcff"),
    "CODEX_HOME": ("", "~", "/proc/none", "relative", "\udcff"),
    "TMUX": ("", "x", "/nonexistent,1,2", ",,", "\udcff"),
    "TMUX_PANE": ("", "%0", "x", "%99999999999999999999"),
    "COLUMNS": ("0", "x", "-1"),
}


def commands() -> Iterator[tuple[tuple[str, ...], Sequence[Parameter]]]:
    """Every command by its words, with its parameters."""
    root = program()
    context = Context(root, info_name="cafleet")
    pending: list[tuple[tuple[str, ...], ClickCommand]] = [((), root)]
    while pending:
        words, command = pending.pop()
        listed = getattr(command, "list_commands", None)
        if listed is None:
            yield words, command.params
            continue
        for name in listed(context):
            child = command.get_command(context, name)  # type: ignore[attr-defined]
            pending.append(((*words, name), child))


COMMANDS = sorted(commands(), key=lambda each: each[0])


def line(rng: random.Random, words: tuple[str, ...], params: Sequence[Parameter]) -> list[str]:
    """A command line: mostly whole, with something odd in one or several places."""
    oddness = rng.choice((0.05, 0.2, 0.5))
    arguments: list[str] = []
    for param in params:
        required = param.required or rng.random() < 0.3
        if not required or rng.random() < oddness / 4:
            continue
        flag = max(param.opts, key=len)
        is_flag = bool(getattr(param, "is_flag", False))
        given = [] if is_flag else [value(rng, str(param.name), oddness)]
        if param.param_type_name == "option":
            joined = rng.random() < 0.3 and given
            arguments += [f"{flag}={given[0]}"] if joined else [flag, *given]
        else:
            arguments += ["--", *given] if rng.random() < 0.1 else given
    if rng.random() < oddness:
        arguments.insert(rng.randrange(len(arguments) + 1), rng.choice(TEXTS))
    if rng.random() < oddness / 2 and arguments:
        del arguments[rng.randrange(len(arguments))]
    return [*words, *arguments]


def value(rng: random.Random, name: str, oddness: float) -> str:
    is_number = name.endswith("_id") or name in ("lines", "tick", "interval", "timeout", "port")
    if rng.random() < oddness:
        return rng.choice(NUMBERS + TEXTS)
    if is_number:
        return rng.choice(("1", "2", "3", "4", "5"))
    plain = {
        "agent": "claude",
        "file": "-",
        "monitor_file": "-",
        "path": "copy.db",
        "role": "monitor",
    }
    return plain.get(name, rng.choice(("hi", "a b", "界")))


@pytest.fixture
def program_of_four(cafleet: Program, registry: Registry) -> Program:
    """The program on a fleet of Director 1, monitor 2, ann 3 and bob 4, outside any pane."""
    registry.crew("ann", "bob")
    registry.place(3, "%1", mux_socket="/nonexistent/socket")
    registry.message(2, 3, "to ann")
    registry.message(2, 4, "to bob")
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    return cafleet


def test_no_command_line_is_met_with_anything_but_its_answer(
    program_of_four: Program, registry: Registry
) -> None:
    for number in range(CASES):
        rng = random.Random(f"{SEED} {number}")
        words, params = COMMANDS[number % len(COMMANDS)]
        arguments = line(rng, words, params)
        env = {
            name: rng.choice(values) for name, values in VARIABLES.items() if rng.random() < 0.05
        }
        case = f"FUZZ_SEED={SEED}, case {number}"
        try:
            result = program_of_four.run(
                *arguments,
                env=env,
                stdin=rng.choice((b"", b"prompt", b"\xff")),
                seconds=1 if words in ENDLESS else 60,
            )
        except subprocess.TimeoutExpired:
            assert words in ENDLESS, (case, arguments)
        else:
            judge(result, words, arguments, case)
    assert registry.rows("PRAGMA foreign_key_check") == []


def judge(result: Result, words: tuple[str, ...], arguments: Sequence[str], case: str) -> None:
    shown = (case, result)
    assert result.exit_code in (0, 1, 2), shown
    assert "Traceback" not in result.stderr, shown
    assert "internal error" not in result.stderr, shown
    lines = result.stderr.split("\n")[:-1]
    assert all(each.startswith(("Error: ", "Warning: ")) for each in lines), shown
    assert not any(ord(each) < 0x20 or each in "\x7f\u202e" for each in "".join(lines)), shown
    errors = [each for each in lines if each.startswith("Error: ")]
    if result.exit_code == 0:
        assert not errors, shown
        if "--json" in arguments and not {"--help", "-h", "--"} & set(arguments):
            json.loads(result.stdout)
    elif not (words in TELLING and result.exit_code == 1 and result.stdout):
        assert len(errors) == 1, shown
        assert result.stdout == "", shown
