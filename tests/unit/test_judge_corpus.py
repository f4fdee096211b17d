"""Every recorded screen is judged as what had been done says, whole and moved about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cafleet.agents.cues import cues_for
from cafleet.agents.judge import judge
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Picture

FOLDER = Path(__file__).parents[1] / "screens"
FILES = sorted(FOLDER.glob("*.json"))
# claude and codex draw their whole composer at once; opencode had drawn nothing yet.
STARTED = {"claude": {"rest"}, "codex": {"rest"}, "opencode": {"unknown"}}
# By the beginning of what had been done; the longest that fits holds.
EXPECTED = {
    "shell": {"shell"},
    "working": {"working"},
    "working-draft": {"working", "draft"},
    "draft": {"draft"},
    "menu": {"draft"},
    "awaiting": {"awaiting"},
    "after-escape": {"rest"},
    "rest": {"rest"},
    "help": {"rest"},
    "palette": {"unknown"},
}
TALL = "\n".join(f"line {at}" for at in range(30))
NOTICE = """\
[cafleet msg 3 from 2 (alice) 2026-11-29T12:00:00.000000+00:00]
please do this thing that is long enough to be wrapped around the width of
the pane at eighty columns and then some more"""
TYPED = {
    "draft": {"half a thought"},
    "working-draft": {"human draft"},
    "menu": {"/"},
    "menu-files": {"look @"},
    "draft-cursor-first": {"one line of draft"},
    "draft-lines": {"first\n\nthird line\nfourth"},
    "draft-lines-light": {"one\n\nthree"},
    "draft-notice-light": {NOTICE},
    "draft-shell-empty": {"!"},
    "draft-shell": {"! ls", "!\N{NO-BREAK SPACE}ls"},
    "draft-paste": {"[Pasted ~3 lines]"},
    "draft-paste-light": {"[Pasted text #1]"},
}


@pytest.fixture(scope="module", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No cues of the user who runs the tests."""
    cues_for.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield
    cues_for.cache_clear()


def recorded(file: Path) -> dict[str, Any]:
    """The fields of one recording."""
    fields: dict[str, Any] = json.loads(file.read_text())
    return fields


def picture_of(fields: dict[str, Any], **changes: Any) -> Picture:
    """The picture, with what was not recorded filled in."""
    given = {
        "screen": fields["screen"],
        "columns": fields["columns"],
        "rows": fields["rows"],
        "cursor_x": fields["cursor"]["x"],
        "cursor_y": fields["cursor"]["y"],
        "command": "bash" if fields["state"] == "shell" else fields.get("command", fields["agent"]),
        "tag": "",
        "session": "$0",
        "window": "@0",
    }
    return Picture(**(given | changes))


def expected(fields: dict[str, Any]) -> set[str]:
    """The states that fit what had been done."""
    done = fields["state"]
    if done == "starting":
        return STARTED[fields["agent"]]
    return EXPECTED[max((name for name in EXPECTED if done.startswith(name)), key=len)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_state(file: Path) -> None:
    fields = recorded(file)
    agent = CodingAgent(fields["agent"])
    look = judge(picture_of(fields), agent, cues=cues_for(agent, fields["version"]))
    assert look.state in {ScreenState(state) for state in expected(fields)}, look.cue


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_composer(file: Path) -> None:
    fields = recorded(file)
    look = judge(picture_of(fields), CodingAgent(fields["agent"]))
    if "tall" in fields["state"]:
        assert look.composer in TALL
        assert look.composer.count("\n") > 3
    else:
        assert look.composer in TYPED.get(fields["state"], {""})


def test_a_sent_notice_is_in_the_transcript() -> None:
    for agent in ("claude", "codex"):
        look = judge(
            picture_of(recorded(FOLDER / f"{agent}-rest-after-notice-60x12.json")),
            CodingAgent(agent),
        )
        assert "please do it" in look.transcript


@pytest.mark.parametrize("agent", CodingAgent)
def test_the_notice_that_made_an_agent_ask_stands_above_its_question(agent: CodingAgent) -> None:
    """The question may already be open when its sender looks whether the notice was submitted."""
    for size in ("140x40", "72x24"):
        look = judge(picture_of(recorded(FOLDER / f"{agent}-awaiting-question-{size}.json")), agent)
        assert "[cafleet msg 1 from 2 (monitor) 2026-" in look.transcript


QUOTED = [
    "  ❯ 1. Yes",
    "  Permission required [y/n]",
    "  esc to interrupt",
    f"  {'─' * 40}",
    "  ❯ a",
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_quotes_above_change_nothing(file: Path) -> None:
    fields = recorded(file)
    agent = CodingAgent(fields["agent"])
    before = judge(picture_of(fields), agent)
    if before.state not in {ScreenState.REST, ScreenState.DRAFT, ScreenState.WORKING}:
        return
    if "tall" in fields["state"]:
        return
    moved = len(QUOTED) + 1
    screen = "\n".join([*QUOTED, "", fields["screen"]])
    picture = picture_of(
        fields,
        screen=screen,
        rows=fields["rows"] + moved,
        cursor_y=fields["cursor"]["y"] + moved,
    )
    after = judge(picture, agent)
    assert (after.state, after.composer) == (before.state, before.composer)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_question_below_the_composer_is_seen(file: Path) -> None:
    fields = recorded(file)
    screen = f"{fields['screen']}\n\n Proceed?\n ❯ 1. Yes\n   2. No"
    agent = CodingAgent(fields["agent"])
    if fields["state"] != "shell":
        look = judge(picture_of(fields, screen=screen), agent)
        assert look.state in {ScreenState.AWAITING, ScreenState.DRAFT}, look.cue
