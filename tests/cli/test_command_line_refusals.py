"""What the command line itself refuses: exit 2, one line, nothing on stdout, no database needed."""

from __future__ import annotations

import pytest

from tests.harness.program import Program, assert_refused

SEND = ("message", "send", "--from-member-id", "2", "--to-member-id", "3")
CREATE = ("member", "create", "--fleet-id", "1", "--name", "n", "--description", "d")
FLEET = ("fleet", "create", "--name", "n", "--coding-agent", "claude")

NOT_INTEGERS = ["1_000", "+7", " 7 ", "007", "5.0", "", "abc", "１２", "0x10", "1e3", "7\n", "--7"]


@pytest.fixture(autouse=True)
def narrow_plain_terminal(cafleet: Program) -> None:
    cafleet.environment |= {"COLUMNS": "40", "TERM": "dumb", "NO_COLOR": "1"}


@pytest.mark.parametrize("text", NOT_INTEGERS)
def test_a_subject_is_a_plain_integer(cafleet: Program, text: str) -> None:
    assert_refused(cafleet.run("message", "poll", "--", text), 2, "is not an integer id")


@pytest.mark.parametrize(
    "command",
    [
        ("message", "ack"),
        ("message", "show"),
        ("member", "show"),
        ("member", "list"),
        ("member", "delete"),
        ("member", "ping"),
        ("member", "capture"),
        ("fleet", "show"),
        ("fleet", "delete"),
    ],
)
def test_every_subject_is_a_plain_integer(cafleet: Program, command: tuple[str, ...]) -> None:
    assert_refused(cafleet.run(*command, "007"), 2, "'007' is not an integer id")


@pytest.mark.parametrize("text", NOT_INTEGERS)
def test_a_role_is_a_plain_integer(cafleet: Program, text: str) -> None:
    for option, command in {
        "--from-member-id": ("message", "send", "--to-member-id=3", "hi"),
        "--to-member-id": ("message", "send", "--from-member-id=2", "hi"),
        "--fleet-id": ("member", "create", "--name=n", "--description=d", "hi"),
    }.items():
        result = cafleet.run(*command[:2], f"{option}={text}", *command[2:])
        assert_refused(result, 2, f"'{option}'")


@pytest.mark.parametrize("text", ["0", "-1", "5.0", "1_0", "+5", "007", "", str(2**63), str(2**70)])
def test_lines_is_a_count(cafleet: Program, text: str) -> None:
    assert_refused(cafleet.run("member", "capture", "1", f"--lines={text}"), 2, "'--lines'")


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ((), "Missing command; see 'cafleet --help'"),
        (("bogus",), "No such command 'bogus'"),
        (("fleet",), "Missing command; see 'cafleet fleet --help'"),
        (("message", "bogus"), "see 'cafleet message --help'"),
        (("--bogus",), "No such option: --bogus"),
        (("message", "poll"), "MEMBER_ID"),
        (("message", "poll", "1", "2"), "unexpected extra argument"),
        (("message", "poll", "-1", "-2"), "No such option: -2"),
        (("message", "poll", "1", "--js"), "--js"),
        (("message", "send", "--from-member-id", "2", "--to-mem", "3", "hi"), "--to-mem"),
        (("message", "send", "--to-member-id", "3", "hi"), "--from-member-id"),
        (("message", "send", "--from-member-id", "2", "hi"), "--to-member-id"),
        ((*SEND, "hi", "--to-member-id", "4"), "'--to-member-id': it is given more than once"),
        ((*SEND, "hi", "--to-member-id", "3"), "'--to-member-id': it is given more than once"),
        ((*SEND, "hi", "--json", "--json"), "'--json': it is given more than once"),
        ((*SEND, "hi", "--json=yes"), "--json"),
        ((*SEND, "hi", "--from-member-id"), "--from-member-id"),
        ((*SEND, "--file", "a", "--file", "b"), "'--file': it is given more than once"),
        ((*SEND, "- [ ] x"), "No such option: -"),
        ((*SEND, "-1"), "No such option: -1"),
        ((*SEND, "--", "x", "--json"), "unexpected extra argument(s) (--json)"),
        ((*SEND, "hello", "world"), "unexpected extra argument(s) (world)"),
        (SEND, "there is no body; give TEXT, or --file PATH"),
        ((*SEND, "--"), "there is no body; give TEXT, or --file PATH"),
        ((*SEND, "hi", "--file", "f"), "TEXT and --file are both given"),
        ((*SEND, "", "--file", "f"), "TEXT and --file are both given"),
        (("message", "broadcast", "--from-member-id", "2"), "there is no body"),
        (CREATE, "there is no body; give PROMPT"),
        ((*CREATE, "hi", "--file", "-"), "PROMPT and --file are both given"),
        ((*CREATE, "hi", "--role", "director"), "'director' is not a role"),
        ((*CREATE, "hi", "--coding-agent", "gemini"), "'gemini' is not one of claude, codex"),
        (("member", "create", "--name", "n", "--description", "d", "hi"), "--fleet-id"),
        (("fleet", "create", "--name", "n"), "--coding-agent"),
        (("fleet", "create", "--coding-agent", "claude"), "--name"),
        ((*FLEET, "--coding-agent", "codex"), "'--coding-agent': it is given more than once"),
        (("fleet", "create", "--name", " \t", "--coding-agent", "claude"), "'--name': it is blank"),
        ((*FLEET, "extra"), "unexpected extra argument"),
        (("member", "prompt", "3"), "TEXT"),
        (("member", "prompt", "3", "-1"), "No such option: -1"),
        (("setup", "--json"), "No such option: --json"),
    ],
)
def test_a_wrong_command_line(cafleet: Program, arguments: tuple[str, ...], fragment: str) -> None:
    assert_refused(cafleet.run(*arguments), 2, fragment)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ((*SEND, b"bad\xff\xfe"), "'TEXT': it is not valid UTF-8 at character 4"),
        (("member", "create", "--name", b"n\xff"), "'--name': it is not valid UTF-8"),
        (("member", "create", "--description", b"\xc3"), "'--description': it is not valid UTF-8"),
        (("member", "prompt", "3", b"\xed\xa0\x80"), "'TEXT': it is not valid UTF-8"),
        ((*CREATE, "hi", "--agent-arg", b"\xff"), "'--agent-arg': it is not valid UTF-8"),
        (("message", "poll", b"\xff"), r"\udcff"),
        ((b"\xff",), "No such command"),
    ],
)
def test_arguments_that_are_not_utf8(
    cafleet: Program, arguments: tuple[str | bytes, ...], fragment: str
) -> None:
    assert_refused(cafleet.run(*arguments), 2, fragment)


def test_an_error_is_neither_wrapped_nor_marked_up(cafleet: Program) -> None:
    long = "x" * 300 + "[red]y[/nope]"
    result = cafleet.run("message", "poll", "1", long)
    assert_refused(result, 2, long)


def test_an_error_cannot_steer_the_terminal(cafleet: Program) -> None:
    assert_refused(cafleet.run("message", "poll", "1", "a\x1b[2J\u202e\nb"), 2, r"a\x1b[2J\u202e")


def test_names_in_another_script_are_told_as_they_are(cafleet: Program) -> None:
    assert_refused(cafleet.run("member", "list", "界"), 2, "'界' is not an integer id")
