"""Every recorded screen is judged as what had been done says, whole and moved about."""

from __future__ import annotations

import msgspec
import pytest

from cafleet.agents.cues import cues_for
from cafleet.agents.judge import judge
from cafleet.records import CodingAgent, ScreenState
from cafleet.screens import Process
from tests.harness.screens import Recording, recording, recordings

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


RECORDINGS = recordings()


@pytest.fixture(scope="module", autouse=True)
def _home(no_cues_of_the_user: None) -> None:
    """No cues of the user who runs the tests."""


@pytest.mark.parametrize("recorded", RECORDINGS, ids=lambda recorded: recorded.name)
def test_state(recorded: Recording) -> None:
    cues = cues_for(recorded.agent, recorded.version)
    look = judge(recorded.picture, recorded.agent, cues=cues)
    assert look.state in recorded.expected, look.cue


@pytest.mark.parametrize("recorded", RECORDINGS, ids=lambda recorded: recorded.name)
def test_composer(recorded: Recording) -> None:
    look = judge(recorded.picture, recorded.agent)
    if "tall" in recorded.done:
        assert look.composer in TALL
        assert look.composer.count("\n") > 3
    elif recorded.done in TYPED or recorded.expected == {"rest"}:
        assert look.composer in TYPED.get(recorded.done, {""})


@pytest.mark.parametrize(
    "recorded", [each for each in RECORDINGS if each.foreground], ids=lambda recorded: recorded.name
)
def test_the_recorded_processes_and_title_agree(recorded: Recording) -> None:
    """With them nothing reads otherwise, but that no screen can hide a spinner in the title."""
    alone = judge(recorded.picture, recorded.agent)
    picture = msgspec.structs.replace(
        recorded.picture, foreground=recorded.foreground, title=recorded.title
    )
    look = judge(picture, recorded.agent)
    if not recorded.may_be_shell:
        assert look.state in {alone.state, ScreenState.WORKING} or "starting" in look.cue, look.cue
        assert look.state is alone.state or not recorded.is_rest


def test_a_spinner_in_the_title_is_work() -> None:
    at_rest = recording("claude-rest-72x24").picture
    for title, state in (("⠂ name", "working"), ("⠼ a | b", "working"), ("✳ name", "rest")):
        picture = msgspec.structs.replace(at_rest, title=title)
        assert judge(picture, CodingAgent.CLAUDE).state == state


SEEN = {
    "claude": [("claude", "claude"), ("node", "node /x/@anthropic-ai/claude-code/cli.js")],
    "codex": [("node", "node --x /usr/bin/codex"), ("codex", "/x/codex-x86_64-linux-musl/codex")],
    "opencode": [("bun", "bun /x/bin/opencode.js"), (".opencode", "/x/.opencode")],
}
NOT_SEEN = [
    ("ssh", "ssh claude"),
    ("docker", "docker exec -it codex codex"),
    ("python3", "python3 /home/claude/repl.py opencode"),
    ("python3", "python3 -c claude"),
    ("node", "node /srv/codex/repl.js"),
    ("bash", "bash /usr/bin/claude"),
    ("vim", "vim opencode"),
]


@pytest.mark.parametrize("agent", CodingAgent)
def test_only_a_process_of_the_agent_makes_a_screen_the_agents(agent: CodingAgent) -> None:
    at_rest = recording(f"{agent}-rest-72x24").picture

    def state(*seen: tuple[str, str], stopped: bool = False) -> str:
        foreground = tuple(
            Process(pid=at, name=name, words=tuple(line.split()), stopped=stopped)
            for at, (name, line) in enumerate(seen)
        )
        return judge(msgspec.structs.replace(at_rest, foreground=foreground), agent).state

    for each in SEEN[agent]:
        assert state(each) == state(("sh", "sh -c x"), each) == "rest", each
        assert state(each, stopped=True) == "unknown"
    for each in [*NOT_SEEN, *(each for name in SEEN if name != agent for each in SEEN[name])]:
        assert state(each) == "unknown", each
    shell = msgspec.structs.replace(at_rest, command="bash")
    for foreground, expected in [
        ((Process(pid=1, name="bash"),), "shell"),
        ((Process(pid=1, name="bash"), Process(pid=2, name=agent)), "rest"),
        ((Process(pid=1, name="bash"), Process(pid=2, name="ssh")), "unknown"),
        (None, "unknown"),
        ((), "shell"),
    ]:
        picture = msgspec.structs.replace(shell, foreground=foreground)
        assert judge(picture, agent).state == expected, foreground


@pytest.mark.parametrize("agent", CodingAgent)
@pytest.mark.parametrize(
    ("command", "state"),
    [
        ("", "unknown"),
        ("-zsh", "unknown"),
        ("ssh", "unknown"),
        ("docker", "unknown"),
        ("less", "unknown"),
        ("{agent}-monitor", "unknown"),
        ("node", "rest"),
        ("{agent}", "rest"),
    ],
)
def test_where_no_process_can_be_seen_the_command_has_to_be_the_agents(
    agent: CodingAgent, command: str, state: str
) -> None:
    at_rest = recording(f"{agent}-rest-72x24").picture
    picture = msgspec.structs.replace(at_rest, command=command.format(agent=agent), foreground=None)
    assert judge(picture, agent).state == state


def test_a_sent_notice_is_in_the_transcript() -> None:
    for agent in ("claude", "codex"):
        recorded = recording(f"{agent}-rest-after-notice-60x12")
        look = judge(recorded.picture, recorded.agent)
        assert "please do it" in look.transcript


@pytest.mark.parametrize("agent", CodingAgent)
def test_the_notice_that_made_an_agent_ask_stands_above_its_question(agent: CodingAgent) -> None:
    """The question may already be open when its sender looks whether the notice was submitted."""
    for size in ("140x40", "72x24"):
        look = judge(recording(f"{agent}-awaiting-question-{size}").picture, agent)
        assert "[cafleet msg 1 from 2 (monitor) 2026-" in look.transcript


QUOTED = [
    "  ❯ 1. Yes",
    "  Permission required [y/n]",
    "  esc to interrupt",
    f"  {'─' * 40}",
    "  ❯ a",
]


@pytest.mark.parametrize("recorded", RECORDINGS, ids=lambda recorded: recorded.name)
def test_quotes_above_change_nothing(recorded: Recording) -> None:
    before = judge(recorded.picture, recorded.agent)
    if before.state not in {ScreenState.REST, ScreenState.DRAFT, ScreenState.WORKING}:
        return
    if "tall" in recorded.done:
        return
    moved = len(QUOTED) + 1
    picture = msgspec.structs.replace(
        recorded.picture,
        screen="\n".join([*QUOTED, "", recorded.picture.screen]),
        rows=recorded.picture.rows + moved,
        cursor_y=recorded.picture.cursor_y + moved,
    )
    after = judge(picture, recorded.agent)
    assert (after.state, after.composer) == (before.state, before.composer)


@pytest.mark.parametrize("recorded", RECORDINGS, ids=lambda recorded: recorded.name)
def test_a_question_below_the_composer_is_seen(recorded: Recording) -> None:
    screen = f"{recorded.picture.screen}\n\n Proceed?\n ❯ 1. Yes\n   2. No"
    if not recorded.may_be_shell:
        picture = msgspec.structs.replace(recorded.picture, screen=screen)
        look = judge(picture, recorded.agent)
        assert look.state in {ScreenState.AWAITING, ScreenState.DRAFT}, look.cue
