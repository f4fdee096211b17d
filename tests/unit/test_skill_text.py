"""The skill, the prompts and the presets: every command and flag that they name is the program's."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator

import pytest
import typer

from cafleet.agents import assets, claude, codex
from cafleet.cli.parser import ClickCommand, Context
from cafleet.cli.tree import program
from cafleet.records import DeliveryState, ScreenState
from cafleet.store.rows import Row

PAGES = {name: text.decode() for name, text in assets.folder("skill").items()}
ALL = {
    **PAGES,
    "monitor-prompt": assets.read("monitor-prompt.md"),
    "opencode": assets.read("opencode/cafleet.md").split("---\n", 2)[2],
}
# What stands for a number, and for one of a list; everything else is text.
NUMBERS = re.compile(r"id|me|you|director|monitor|member|peer|seconds|lines|n")
SAMPLES = {"agent": "codex", "model": "m/x", "effort": "high"}
GROUPS = ("setup", "doctor", "whoami", "fleet", "member", "message", "monitor", "db", "server")


def mentions(text: str) -> Iterator[str]:
    """Each command line of a page: those in code spans and those in blocks of shell."""
    blocks = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    for block in blocks.finditer(text):
        if block[1] == "sh":
            yield from block[2].splitlines()
    outside = blocks.sub("", text)
    for span in re.findall(r"`([^`\n]+)`", outside):
        if span.startswith("cafleet "):
            yield span


def filled(line: str) -> str:
    """A command line with something plausible for each placeholder."""

    def sample(match: re.Match[str]) -> str:
        name = match[1]
        if name in SAMPLES:
            return SAMPLES[name]
        is_number = NUMBERS.fullmatch(name) or name.endswith(" id")
        return "7" if is_number else "words"

    line = re.sub(r"\{(\w+)\}", lambda match: f"<{match[1].replace('_', ' ')}>", line)
    return re.sub(r"<([^<>]+)>", sample, line)


def variants(line: str) -> Iterator[list[str]]:
    """Every reading of ``[optional]`` parts, all and none, and of ``a|b`` alternatives."""
    bare = re.sub(r" \[[^\]]*\]", "", line)
    full = line.replace("[", "").replace("]", "")
    for text in {bare, full}:
        words = [
            word.split("|") if re.fullmatch(r"[\w|]+", word) else [word]
            for word in shlex.split(text)
        ]
        yield from map(list, itertools.product(*words))


def parse(words: list[str]) -> None:
    """Have the program's own parser take a command line, without doing what it says."""
    command: ClickCommand = program()
    context = Context(command, info_name="cafleet")
    names = ["cafleet"]
    while words and (found := _child(command, context, words[0])) is not None:
        command, names, words = found, [*names, words[0]], words[1:]
        context = Context(command, info_name=names[-1], parent=context)
    if hasattr(command, "get_command") and words and words[0][:1] not in ("-", "…"):
        raise typer.BadParameter(f"there is no command {words[0]}")
    # A text may name a command without what belongs to it.
    if words and words != ["…"]:
        command.make_context(names[-1], list(words))


def _child(command: ClickCommand, context: Context, name: str) -> ClickCommand | None:
    get = getattr(command, "get_command", None)
    found: ClickCommand | None = None if get is None else get(context, name)
    return found


MENTIONED = [(page, line) for page, text in ALL.items() for line in mentions(text)]


def test_the_program_takes_every_command_line() -> None:
    refused = {}
    for page, line in MENTIONED:
        for words in variants(filled(line)):
            try:
                parse(words[1:])
            except typer.TyperException as error:
                refused[page, line] = error.format_message()
            except typer.Exit:
                assert words[-1] in ("--version", "--help")
    assert refused == {}


def test_there_are_many_to_check() -> None:
    assert len(MENTIONED) > 80
    assert {page for page, _ in MENTIONED} >= {*PAGES, "monitor-prompt", "opencode"}


def test_a_line_that_the_program_refuses_would_be_noticed() -> None:
    for wrong in ("message poll 7 --all", "message send 7", "fleet show x", "messages poll 7"):
        with pytest.raises(typer.TyperException):
            parse(wrong.split())


@pytest.mark.parametrize(("page", "text"), ALL.items())
def test_every_flag_in_a_code_span_exists(page: str, text: str) -> None:
    known = set(_flags()) | {"--settings", "--allowedTools"}  # claude's own
    for span in re.findall(r"`([^`\n]+)`", text):
        for flag in re.findall(r"(?<![\w-])--[a-z][a-zA-Z-]*", span):
            assert flag in known, (page, span)


def _flags() -> Iterator[str]:
    root = program()
    context = Context(root, info_name="cafleet")
    pending: list[ClickCommand] = [root]
    while pending:
        command = pending.pop()
        yield from (name for param in command.get_params(context) for name in param.opts)
        listed = getattr(command, "list_commands", None)
        names = [] if listed is None else listed(context)
        found = (_child(command, context, name) for name in names)
        pending += [child for child in found if child is not None]


def test_the_reference_has_every_command_with_every_flag() -> None:
    reference = PAGES["commands.md"]
    lines = {
        line.split(" <")[0].split(" [")[0].split(" --")[0]: line for line in mentions(reference)
    }
    root = program()
    context = Context(root, info_name="cafleet")
    for name in GROUPS:
        group = _child(root, context, name)
        assert group is not None
        listed = getattr(group, "list_commands", None)
        leaves = [(name, group)]
        if listed is not None:
            found = [(f"{name} {leaf}", _child(group, context, leaf)) for leaf in listed(context)]
            leaves = [(path, command) for path, command in found if command is not None]
        for path, command in leaves:
            line = lines[f"cafleet {path}"]
            for param in command.params:
                flag = param.opts[0]
                if getattr(param, "hidden", False):
                    continue
                if flag.startswith("--") and flag not in ("--help", "--file"):
                    assert flag in line, (path, flag)


def test_the_front_matter_is_what_agents_expect() -> None:
    empty, front, body = PAGES["SKILL.md"].split("---\n", 2)
    assert empty == ""
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert list(fields) == ["name", "description"]
    assert fields["name"] == "cafleet"
    # Limits of the agents' own loaders; a colon and a blank would end an unquoted YAML scalar.
    assert 40 < len(fields["description"]) <= 1024
    assert ": " not in fields["description"]
    assert " #" not in fields["description"]
    assert body.strip().startswith("# cafleet")


def test_it_is_cheap_to_read() -> None:
    assert len(PAGES["SKILL.md"].split()) < 1000
    # The reference of all commands is looked into, not read.
    longest = {"commands.md": 1600}
    assert all(len(text.split()) < longest.get(name, 1200) for name, text in PAGES.items())


def test_links_lead_to_pages_and_every_page_is_linked() -> None:
    for text in PAGES.values():
        assert set(re.findall(r"\]\(([^)]+)\)", text)) <= set(PAGES)
    linked = set(re.findall(r"\]\(([^)]+)\)", PAGES["SKILL.md"]))
    assert linked == set(PAGES) - {"SKILL.md"}


def test_the_two_rules_are_taught_to_all() -> None:
    for text in (PAGES["SKILL.md"], ALL["monitor-prompt"], ALL["opencode"]):
        assert "operation not permitted" in text
        assert re.search(r"run (it|the `cafleet` command) again alone", text)
        assert re.search(r"[Nn]ever send it again", text)
    assert "a leading `NAME=value` is fine" in PAGES["SKILL.md"]


def test_the_monitors_page_has_the_protocol_of_its_prompt() -> None:
    def protocol(text: str) -> str:
        found = re.search(r"^1\. .*^5\. Rest\.$", text, re.DOTALL | re.MULTILINE)
        assert found is not None
        return found[0]

    page = PAGES["monitor.md"]
    shown = {
        "{member_id}": "<me>",
        "{fleet_id}": "<fleet id>",
        "{director_member_id}": "<director>",
    }
    prompt = ALL["monitor-prompt"]
    assert "page monitor.md of the skill cafleet" in prompt
    for placeholder, name in shown.items():
        prompt = prompt.replace(placeholder, name)
    assert protocol(page) == protocol(prompt)


def test_states_are_all_there() -> None:
    table = PAGES["SKILL.md"].split("| state | meaning |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| (\w+) \|", table, re.MULTILINE)) == set(DeliveryState)
    screens = re.search(r"`screen` is the last look \(([\w, ]+)\)", PAGES["commands.md"])
    assert screens is not None
    assert set(screens[1].split(", ")) == set(ScreenState)


def test_efforts_are_those_of_the_agents() -> None:
    row = next(line for line in PAGES["agents.md"].splitlines() if line.startswith("| `--effort`"))
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[2].split(", ") == list(claude.EFFORTS)
    assert cells[3].split(", ") == list(codex.EFFORTS)


def test_what_a_damaged_row_is_said_to_need_is_explained() -> None:
    advice = Row.cure.split(", ")[0]
    table, _, section = PAGES["recovery.md"].partition("## The database is damaged")
    assert f"`… {advice} …`" in table
    assert f"A message with `{advice}` says which table, column, value and row" in section
    assert "names the page" in section
