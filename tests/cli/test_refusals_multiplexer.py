"""What is refused for want of a usable pane or of an agent to start, in the order of the contract."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.harness.database import Database
from tests.harness.fleet import Fleet
from tests.harness.journals import Recorders
from tests.harness.program import Program, assert_refused
from tests.harness.refusals import Refusals
from tests.harness.registry import Registry
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

FOUND = ("fleet", "create", "--name", "n", "--coding-agent")
JOIN = ("member", "create", "--fleet-id", "1", "--name", "n", "--description", "d")


def without_agents() -> str:
    tmux = shutil.which("tmux")
    assert tmux is not None
    return f"{os.path.dirname(tmux)}:/usr/bin:/bin"


def test_a_fleet_needs_the_pane_of_one_multiplexer(
    refusals: Refusals, tmux_server: TmuxServer, subtests: pytest.Subtests
) -> None:
    pane = tmux_server.session("main")
    place = tmux_server.inside(pane)["TMUX"]
    environments: list[tuple[dict[str, str | None], str]] = [
        ({"TMUX": None}, "this is no pane of a multiplexer (TMUX and HERDR_ENV are not set)"),
        ({"TMUX": ""}, "this is no pane of a multiplexer"),
        ({"HERDR_ENV": "1"}, "are both set; say which counts with CAFLEET_MULTIPLEXER=tmux or"),
        ({"CAFLEET_MULTIPLEXER": "screen"}, "CAFLEET_MULTIPLEXER is 'screen'; set it to tmux or"),
        ({"CAFLEET_MULTIPLEXER": ""}, "CAFLEET_MULTIPLEXER is ''; set it to tmux or herdr"),
        ({"CAFLEET_MULTIPLEXER": "herdr"}, "herdr is not supported yet"),
        ({"CAFLEET_MULTIPLEXER": "tmux", "TMUX": None}, "do not name a tmux pane"),
        ({"TMUX": "nonsense"}, "do not name a tmux pane"),
        ({"TMUX_PANE": None}, "do not name a tmux pane"),
        ({"TMUX_PANE": "%999"}, "the tmux pane of this process is gone"),
        # Another life of a server on the same socket.
        ({"TMUX": place.rsplit(",", 2)[0] + ",1,0"}, "the tmux pane of this process is gone"),
        ({"TMUX": "/nonexistent/socket,1,0"}, "/nonexistent/socket"),
        ({"PATH": "/nonexistent"}, "tmux"),
    ]
    for env, fragment in environments:
        with subtests.test(env=env):
            # Whatever else is wrong is found out later.
            arguments = (*FOUND, "opencode", "--monitor-model", "m", "--monitor-file", "missing")
            refusals.expect(1, fragment, *arguments, pane=pane, env=env)


def test_a_fleet_needs_a_prompt_then_a_model_then_a_program(
    refusals: Refusals, tmux_server: TmuxServer
) -> None:
    pane = tmux_server.session("main")
    wishes = ("opencode", "--monitor-model", "m", "--monitor-file")
    bare = {"PATH": without_agents()}
    refusals.expect(1, "the file missing does not exist", *FOUND, *wishes, "missing", pane=pane)
    given = (*FOUND, *wishes, "-")
    refusals.expect(1, "stdin is empty or blank", *given, pane=pane)
    refusals.expect(2, "opencode has no model 'm'", *given, pane=pane, env=bare, stdin=b"{x}")
    wishes = ("opencode", "--monitor-model", "p/m", "--monitor-file", "-")
    fragment = "the program opencode is not on PATH; install it"
    refusals.expect(1, fragment, *FOUND, *wishes, pane=pane, env=bare, stdin=b"{x}")
    fragment = "install it with `cafleet setup --coding-agent opencode`"
    refusals.expect(1, fragment, *FOUND, *wishes, pane=pane, stdin=b"{x}")
    # Found out within the transaction: not even an id is used up.
    wishes = ("claude", "--monitor-file", "-")
    fragment = "the prompt has the unknown placeholder {x}"
    refusals.expect(2, fragment, *FOUND, *wishes, pane=pane, stdin=b"{x}")
    assert tmux_server.run("show-options", "-p", "-t", pane) == ""


def test_a_pane_of_another_registry_founds_no_fleet(
    refusals: Refusals, tmux_server: TmuxServer, subtests: pytest.Subtests
) -> None:
    pane = tmux_server.session("main")
    for tag in ("0123456789abcdef:1:1", "nonsense", "a:b:c", " "):
        with subtests.test(tag=tag):
            tmux_server.run("set-option", "-p", "-t", pane, "@cafleet", tag)
            fragment = "this pane belongs to a fleet of another database; use another pane"
            refusals.expect(1, fragment, *FOUND, "claude", pane=pane)


def test_a_pane_whose_row_a_living_fleet_owns_founds_no_other(
    refusals: Refusals, registry: Registry, tmux_server: TmuxServer
) -> None:
    pane = tmux_server.session("main")
    registry.crew("ann")
    # From before panes were tagged: session and window have to match.
    session, window = tmux_server.ask(pane, "#{session_name}\t#{window_id}").split("\t")
    registry.place(3, pane, mux_socket=None, mux_session=session, mux_window_id=window)
    fragment = "this pane is that of member 3 of fleet 1; use another pane, or delete that fleet"
    refusals.expect(1, fragment, *FOUND, "claude", pane=pane)


def test_a_member_needs_a_pane_then_a_program(
    refusals: Refusals, registry: Registry, tmux_server: TmuxServer
) -> None:
    registry.crew()
    bare = {"PATH": without_agents()}
    refusals.expect(1, "start tmux first", *JOIN, "--coding-agent", "codex", "hi", env=bare)
    registry.place(1, "%77", mux_socket=tmux_server.socket)
    # The Director's pane is gone, so that of the caller would do.
    pane = tmux_server.session("main")
    refusals.expect(1, "start tmux first", *JOIN, "hi")
    arguments = (*JOIN, "--coding-agent", "codex", "hi")
    refusals.expect(1, "the program codex is not on PATH", *arguments, pane=pane, env=bare)
    fragment = "install it with `cafleet setup --coding-agent opencode`"
    refusals.expect(1, fragment, *JOIN, "--coding-agent=opencode", "hi", pane=pane)
    fragment = "OPENCODE_CONFIG_DIR is 'relative'"
    env = {"OPENCODE_CONFIG_DIR": "relative"}
    refusals.expect(1, fragment, *JOIN, "--coding-agent=opencode", "hi", pane=pane, env=env)


def test_what_a_founded_fleet_refuses(
    fleet: Fleet,
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
    subtests: pytest.Subtests,
) -> None:
    refusals = Refusals(cafleet, database, tmux_server, recorders)
    ann, bob = (str(seat.member_id) for seat in fleet.members)
    create = (*FOUND, "claude")
    with subtests.test("a pane belongs to one fleet"):
        fragment = "this pane is that of member 1 of fleet 1; use another pane, or delete that"
        refusals.expect(1, fragment, *create, pane=fleet.director.pane)
        fragment = f"this pane is that of member {ann} of fleet 1"
        refusals.expect(1, fragment, *create, pane=fleet.recipient.pane)
    with subtests.test("a fleet has one Director and one monitor"):
        refusals.expect(1, "is the root Director of fleet 1", "member", "delete", "1")
        refusals.expect(1, "active monitor, member 2", *JOIN, "--role", "monitor", "hi")
    with subtests.test("nothing is typed where a question is open or the agent works"):
        for action, fragment in [({"work": 600}, "working"), ({"question": True}, "awaiting")]:
            fleet.recipient.recording.command(**action)
            wait_for(lambda: not rests(cafleet, ann), "the agent is busy")
            fragment = f"member {ann} is not at rest ({fragment}"
            refusals.expect(1, fragment, "member", "prompt", ann, "hi")
    with subtests.test("a pane that is gone is neither typed into nor captured"):
        tmux_server.run("kill-pane", "-t", fleet.other.pane)
        fragment = f"pane {fleet.other.pane} of member {bob} is gone"
        for command in (("prompt", bob, "hi"), ("ping", bob), ("capture", bob, "--json")):
            refusals.expect(1, fragment, "member", *command)
    with subtests.test("a server that is gone is no reason to forget a member"):
        tmux_server.stop()
        for command in (("prompt", ann, "hi"), ("ping", ann), ("capture", ann), ("delete", ann)):
            refusals.expect(1, tmux_server.socket, "member", *command)


def rests(cafleet: Program, member_id: str) -> bool:
    """Whether a ping would be typed; at a resting agent it is."""
    return not cafleet.run("member", "ping", member_id, "--json").json()["skipped"]


PROMPTS = [
    ('{"a": 1}', 'unknown placeholder {"a": 1}'),
    ("{}", "unknown placeholder {}"),
    ("{fleet_id!r}", "unknown placeholder {fleet_id!r}"),
    ("{member_id.__class__}", "unknown placeholder {member_id.__class__}"),
    ("{ fleet_id }", "unknown placeholder { fleet_id }"),
    ("{fleet_id", "single { at character 1"),
    ("a }", "single } at character 3"),
]


def test_a_prompt_that_cannot_be_filled_leaves_no_member(
    cafleet: Program, registry: Registry, tmux_server: TmuxServer, subtests: pytest.Subtests
) -> None:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    pane = tmux_server.session("main")
    registry.crew()
    for prompt, fragment in PROMPTS:
        with subtests.test(prompt=prompt):
            result = cafleet.run(*JOIN, "--coding-agent=claude", "--", prompt, pane=pane)
            assert_refused(result, 2, fragment)
    assert registry.rows("SELECT member_id FROM members WHERE member_id > 2") == []
    assert registry.rows("SELECT * FROM member_placements") == []
    assert tmux_server.panes() == [pane]
