"""What may be allowed names a program; nothing that would allow any command passes."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cafleet.agents import agent
from cafleet.agents.allowing import check_allowed
from cafleet.errors import UsageError
from cafleet.records import CodingAgent
from tests.unit.test_agents_argv import PLAIN

GOOD = [
    *("make", "make*", "make test*", "make?", "./run *", "/usr/bin/make *", "git status"),
    *("npm run test:*", "cargo test -- *", "go test ./...", "pytest", "é*", "sh build.sh *"),
    *("python -m pytest*", "python3.11 x.py *", "sudo make test", "env A=1 make test", "bash x*"),
]
EVERYTHING = [
    *("", "*", "**", "?*", "* *", "? ?", "*make*", "*/make", ":*", "-*", "./*", "/*", "../*", ".*"),
    *("~/*", "/bin/*", "A=1 *", "A=* make", "FOO=1", "sh", "sh -c *", "bash*", "ba*", "/bin/sh *"),
    *("bash -e *", "python *", "python3*", "python -c *", "python -m *", "perl -e 1", "node *"),
    *("env *", "env A=1 *", "sudo -u x *", "timeout 10 *", "xargs *", "nice", "n*", "find . *"),
]
ODD = [
    *(
        " ",
        "  ",
        "\t",
        " make",
        "make ",
        "make  test",
        "make\n*",
        "make; *",
        "make && *",
        "make | *",
    ),
    *("make)", "x) Bash(*", "make > x", "`make`", "$(make)", "[a-z]*", "{*,x}", "make\\", "a,b\0"),
    *('make "x"', "make 'x'", "make #", "!*", "\u202emake", "make\u200b*"),
]


@pytest.mark.parametrize("pattern", GOOD)
def test_a_program_by_name(pattern: str) -> None:
    check_allowed(pattern)


@pytest.mark.parametrize("pattern", [*EVERYTHING, *ODD])
def test_what_would_allow_everything_or_ends_a_rule_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="--allow"):
        check_allowed(pattern)


@given(
    st.text(st.sampled_from("*?.-/: amke="), max_size=8), st.sampled_from(["rm -rf /", "sh -c 'x'"])
)
def test_no_pattern_fits_a_command_that_it_does_not_name(pattern: str, command: str) -> None:
    try:
        check_allowed(pattern)
    except UsageError:
        return
    assume(not pattern.startswith(("rm", "sh")))
    assert not fnmatchcase(command, pattern)


def test_each_agent_is_told_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/home/u/claude")
    monkeypatch.setattr("cafleet.agents.claude.find_program", str)
    request = msgspec.structs.replace(PLAIN, allowed=("make test*", "git push"))
    claude = agent(CodingAgent.CLAUDE)
    words = claude.argv(request)
    rules = words[words.index("--allowedTools") + 1 : words.index("--name")]
    assert {"Bash(make test*)", "Bash(git push)"} < set(rules)
    assert claude.variables(request) == agent(CodingAgent.CODEX).variables(request) == {}
    opencode = agent(CodingAgent.OPENCODE)
    assert opencode.variables(PLAIN) == {}
    [(name, text)] = opencode.variables(request).items()
    assert name == "OPENCODE_CONFIG_CONTENT"
    bash = json.loads(text)["agent"]["cafleet"]["permission"]["bash"]
    assert bash["make test*"] == bash["git push"] == "allow"
    # The last that fits decides.
    assert [*bash.values()] == sorted(bash.values())
