"""The cues: shipped for every agent, replaced key by key by a file of the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cafleet.agents.cues import USER_FILE, cues_for
from cafleet.agents.judge import judge
from cafleet.errors import SettingError
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Picture

CLAUDE = CodingAgent.CLAUDE


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HOME", str(tmp_path))
    cues_for.cache_clear()
    yield
    cues_for.cache_clear()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the user's cues are looked for."""
    path = tmp_path / ".config/cafleet/cues.toml"
    path.parent.mkdir(parents=True)
    return path


def test_every_agent_has_cues() -> None:
    assert {cues_for(name).frame for name in CodingAgent} == {"rules", "plain", "box"}
    for name in CodingAgent:
        assert cues_for(name).columns >= 60
        assert cues_for(name).rows >= 12
        assert cues_for(name).working


def test_a_file_replaces_the_keys_it_names(file: Path) -> None:
    shipped = cues_for(CLAUDE)
    other = cues_for(CodingAgent.CODEX)
    file.write_text('[common]\nrows = 20\n[[claude]]\nworking = ["busy now"]\n')
    cues_for.cache_clear()
    wanted = msgspec.structs.replace(shipped, rows=20, working=("busy now",))
    assert cues_for(CLAUDE) == wanted
    assert cues_for(CodingAgent.CODEX) == msgspec.structs.replace(other, rows=20)


def test_an_entry_holds_for_its_versions(file: Path) -> None:
    file.write_text(
        '[[claude]]\nsince = "3"\nglyph = "$"\n'
        '[[claude]]\nsince = "2.9"\nbefore = "3.0"\nglyph = ">"\n'
    )
    for version, glyph in [("3.0.1", "$"), ("2.10", ">"), ("2.9", ">"), (None, "$")]:
        assert cues_for(CLAUDE, version).glyph == glyph, version


def picture(*lines: str, glyph: str = "❯", status: str = "  ? for shortcuts") -> Picture:
    """Claude Code at rest, its last turn over, with these lines between that and the composer."""
    rule = "─" * 80
    above = ["● Done.", "", "✻ Cooked for 3s", "", *lines]
    return Picture(
        screen="\n".join([*above, rule, f"{glyph} ", rule, status]),
        columns=80,
        rows=24,
        cursor_x=2,
        cursor_y=len(above) + 1,
        command="claude",
        tag="",
        session="$0",
        window="@0",
    )


def test_the_judge_uses_the_file_as_it_is_now(file: Path) -> None:
    assert judge(picture(glyph="$"), CLAUDE).state != ScreenState.REST
    file.write_text('[[claude]]\nglyph = "$"\n')
    assert judge(picture(glyph="$"), CLAUDE).state == ScreenState.REST
    file.unlink()
    assert judge(picture(glyph="$"), CLAUDE).state != ScreenState.REST


@pytest.mark.parametrize(
    ("above", "status", "line"),
    [
        (["  ◇ 3 squirrels are asleep"], "  ? for shortcuts", "◇ 3 squirrels are asleep"),
        ([], "  ? for shortcuts · 'nuts' left: 12.5K", "? for shortcuts · 'nuts' left: 12.5K"),
        ([], "  C:\\nuts left 7%", "C:\\nuts left 7%"),
        ([], "  'nuts' in \"C:\\1\"", "'nuts' in \"C:\\1\""),
        ([], "  " + "nut " * 19, ("nut " * 19).strip()),
        (["◇ 3 squirrels", "  are asleep"], "  ? for shortcuts", "◇ 3 squirrels"),
        (["◇ 3 squirrels", "", "◇ awake"], "  ? for shortcuts", "◇ awake"),
    ],
)
def test_an_unknown_line_is_quoted_with_the_entry_that_makes_it_known(
    file: Path, above: list[str], status: str, line: str
) -> None:
    seen = judge(picture(*above, status=status), CLAUDE)
    assert seen.state == ScreenState.UNKNOWN
    assert line in seen.unknown
    assert f"“{line}”" in seen.cue
    written = "[[claude]]\nresting = ["
    for _ in range(2):
        # What stands above a block comes to light when that is known.
        table, _, entry = seen.cue.partition(f"{USER_FILE}: ")[2].partition(" resting = [")
        if entry:
            assert table == "[[claude]]"
            written += entry.removesuffix("]") + ", "
            file.write_text(f"{written}]\n")
            seen = judge(picture(*above, status=status), CLAUDE)
    assert judge(picture(*above, status=status), CLAUDE).state == ScreenState.REST
    other = status.replace("12.5K", "1M").replace("7%", "99%")
    assert judge(picture(*above, status=other), CLAUDE).state == ScreenState.REST
    assert judge(picture(*above, status="  search prompts:"), CLAUDE).state != ScreenState.REST


def test_what_the_user_knows_at_rest_is_added_to_what_is_shipped(file: Path) -> None:
    shipped = cues_for(CLAUDE)
    cues_for.cache_clear()
    file.write_text('[common]\nresting = ["a *"]\n[[claude]]\nresting = ["b #"]\n')
    assert cues_for(CLAUDE).resting == (*shipped.resting, "a *", "b #")


# All keys of a file as they were before an agent's resting lines had to be known.
EARLIER = """
[common]
columns = 50
rows = 10
shells = ["sh", "bash"]
choices = [">"]
questions = ["really?"]
pastes = ["[Pasted "]
shell_glyph = "$"
shell_mode = ["in the shell"]
scrolled = ["^"]

[[claude]]
since = "2.0"
before = "9"
columns = 40
rows = 9
frame = "rules"
glyph = ">"
rule = "-"
faint = ["5;240"]
working = ["press esc"]
spinners = ["~"]
unfinished = ["..."]
hints = ["Esc to cancel"]
"""


def test_a_file_of_the_earlier_form_holds(file: Path) -> None:
    file.write_text(EARLIER)
    cues = cues_for(CLAUDE)
    assert (cues.glyph, cues.rule, cues.columns) == (">", "-", 40)
    assert "? for shortcuts" in cues.resting
    rule = "-" * 80
    lines = ["✻ Cooked for 3s", "", rule, "> ", rule, "  ? for shortcuts"]
    at_rest = msgspec.structs.replace(picture(), screen="\n".join(lines), cursor_y=3)
    assert judge(at_rest, CLAUDE).state == ScreenState.REST
    at_work = msgspec.structs.replace(at_rest, screen="\n".join([*lines, "  press esc"]))
    assert judge(at_work, CLAUDE).state == ScreenState.WORKING


def test_a_version_without_an_entry_has_the_newest(file: Path) -> None:
    newest = cues_for(CLAUDE)
    for version in ("1.0", "99.1.2", "2.1.197-beta", "unknown"):
        assert cues_for(CLAUDE, version) == newest, version


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[claude]", "line 1"),
        ("[claude]\nglyph = '>'", "array"),
        ("[[gemini]]\nglyph = '>'", "gemini"),
        ("[[claude]]\nworkin = ['x']", "workin"),
        ("[[claude]]\nworking = 'x'", "array"),
        ("[[claude]]\nresting = 'x'", "array"),
        ("[[claude]]\nresting = ['']", "resting"),
        ("[[claude]]\nresting = [1]", "str"),
        ("[common]\nresting = {}", "array"),
        ("[[claude]]\nworking = ['']", "working"),
        ("[[claude]]\nworking = [' ']", "working"),
        ("[[claude]]\nworking = [1]", "str"),
        ("[[claude]]\nglyph = ''", "glyph"),
        ("[[claude]]\nglyph = 'ab'", "glyph"),
        ("[[claude]]\nglyph = ' '", "glyph"),
        ("[[claude]]\nframe = 'round'", "round"),
        ("[[claude]]\nfaint = ['grey']", "faint"),
        ("[[claude]]\nsince = 2", "str"),
        ("[[claude]]\nsince = 'x'", "since"),
        ("[common]\ncolumns = 0", "columns"),
        ("[common]\ncolumns = true", "int"),
        ("[common]\nquestions = ['" + "x" * 101 + "']", "questions"),
        ("common = 1", "object"),
        ("x = " + "[" * 5000, "Recursion"),
        ("# " + "x" * 70_000, "65536"),
        ("a = '\x00'", "line 1"),
    ],
)
def test_an_unusable_file_is_named_with_what_is_wrong(file: Path, text: str, reason: str) -> None:
    file.write_text(text)
    with pytest.raises(SettingError) as caught:
        cues_for(CLAUDE)
    message = str(caught.value)
    assert str(file) in message
    assert reason.casefold() in message.casefold()
    assert "\n" not in message
    assert len(message) < 500


def test_a_file_that_is_not_utf8(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingError, match="utf-8"):
        cues_for(CLAUDE)


def test_a_folder_or_a_pipe_in_its_place(file: Path) -> None:
    file.mkdir()
    with pytest.raises(SettingError, match="not a regular file"):
        cues_for(CLAUDE)
    file.rmdir()
    os.mkfifo(file)
    with pytest.raises(SettingError, match="not a regular file"):
        cues_for(CLAUDE)


def test_an_empty_file_changes_nothing(file: Path) -> None:
    shipped = cues_for(CLAUDE)
    cues_for.cache_clear()
    file.write_text("")
    assert cues_for(CLAUDE) == shipped
