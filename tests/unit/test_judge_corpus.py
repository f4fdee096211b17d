"""Every recorded screen is judged as what had been done says, whole and moved about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cafleet.agents.cues import cues_for
from cafleet.agents.judge import judge
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Picture

FOLDER = Path(__file__).parents[1] / "screens"
FILES = sorted(FOLDER.glob("*.json"))
EXPECTED = {
    "shell": {"shell"},
    "working": {"working"},
    "working-queued": {"working"},
    "working-draft": {"working", "draft"},
    "draft": {"draft"},
    "awaiting": {"awaiting"},
    "after-escape": {"rest"},
    "rest": {"rest"},
    "rest-after-draft": {"rest"},
    "rest-after-work": {"rest"},
}
# claude and codex draw their whole composer at once; opencode had drawn nothing yet.
STARTED = {"claude": "rest", "codex": "rest", "opencode": "unknown"}


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
        "command": "bash" if fields["state"] == "shell" else fields["agent"],
        "tag": "",
        "session": "$0",
        "window": "@0",
    }
    return Picture(**(given | changes))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_state(file: Path) -> None:
    fields = recorded(file)
    agent = CodingAgent(fields["agent"])
    look = judge(picture_of(fields), agent, cues=cues_for(agent, fields["version"]))
    expected = EXPECTED.get(fields["state"], {STARTED[fields["agent"]]})
    assert look.state in {ScreenState(state) for state in expected}, look.cue


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_composer(file: Path) -> None:
    fields = recorded(file)
    look = judge(picture_of(fields), CodingAgent(fields["agent"]))
    typed = {"draft": "half a thought", "working-draft": "human draft"}
    assert look.composer == typed.get(fields["state"], "")
