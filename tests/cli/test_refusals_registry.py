"""What the rules of the registry refuse, where no pane is needed to find out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.refusals import Refusals
from tests.harness.registry import THEN, Registry

UNKNOWN = "99"


@dataclass(frozen=True)
class World:
    """Ids, as they are given on a command line."""

    fleet: str
    director: str
    monitor: str
    member: str
    gone: str
    stranger: str
    deleted_fleet: str


@pytest.fixture
def world(registry: Registry) -> World:
    """A living fleet with a deregistered member, another living one, and a deleted one."""
    director, monitor, member = registry.crew("ann")
    gone = registry.member(1, "gone", status="deregistered")
    stranger = registry.crew()[0]
    deleted = registry.fleet(deleted_at=THEN)
    registry.member(deleted, "Director", kind="director", status="deregistered")
    ids = map(str, (1, director, monitor, member, gone, stranger, deleted))
    return World(*ids)


def send(sender: str, recipient: str) -> tuple[str, ...]:
    return ("message", "send", "--from-member-id", sender, "--to-member-id", recipient, "hi")


def create(fleet: str, *more: str) -> tuple[str, ...]:
    named = ("member", "create", "--fleet-id", fleet, "--name", "n", "--description", "d")
    return (*named, *more, "do it")


def test_messages(world: World, refusals: Refusals, subtests: pytest.Subtests) -> None:
    w = world
    for arguments, fragment in [
        (send(UNKNOWN, w.member), "member 99 does not exist; "),
        (send(w.member, UNKNOWN), "member 99 does not exist; "),
        (send(w.gone, w.member), f"member {w.gone} is deregistered; "),
        (send(w.member, w.gone), f"member {w.gone} is deregistered; "),
        (send(w.member, w.stranger), "messages stay within a fleet"),
        (send(w.stranger, w.member), "messages stay within a fleet"),
        (("message", "broadcast", "--from-member-id", UNKNOWN, "hi"), "member 99 does not exist"),
        (("message", "broadcast", "--from-member-id", w.gone, "hi"), "is deregistered"),
        (("message", "poll", UNKNOWN), "member 99 does not exist"),
        (("message", "poll", w.gone), f"member {w.gone} is deregistered"),
        (("message", "ack", UNKNOWN), "message 99 does not exist"),
        (("message", "show", UNKNOWN), "message 99 does not exist"),
    ]:
        with subtests.test(arguments=arguments):
            refusals.expect(1, fragment, *arguments)


def test_acknowledgements_happen_once(
    world: World, refusals: Refusals, registry: Registry, subtests: pytest.Subtests
) -> None:
    done = registry.message(1, 3, status_state="completed")
    summary = registry.message(
        1, 1, type="broadcast_summary", to_member_id=None, status_state="completed"
    )
    for message_id in (done, summary):
        with subtests.test(message_id=message_id):
            fragment = f"message {message_id} is completed; only an input_required delivery"
            refusals.expect(1, fragment, "message", "ack", str(message_id), "--json")


def test_members(world: World, refusals: Refusals, subtests: pytest.Subtests) -> None:
    w = world
    for arguments, fragment in [
        (("member", "show", UNKNOWN), "member 99 does not exist"),
        (("member", "show", w.gone), f"member {w.gone} is deregistered"),
        (("member", "delete", UNKNOWN), "member 99 does not exist"),
        (("member", "delete", w.gone), f"member {w.gone} is deregistered"),
        (("member", "delete", w.director), "is the root Director of fleet 1; delete the fleet"),
        (("member", "list", UNKNOWN), "fleet 99 does not exist"),
        (("member", "list", w.deleted_fleet), f"fleet {w.deleted_fleet} was deleted at {THEN}"),
        (("member", "prompt", UNKNOWN, "hi"), "member 99 does not exist"),
        (("member", "prompt", w.gone, "hi"), f"member {w.gone} is deregistered"),
        (("member", "prompt", w.member, "hi"), f"member {w.member} has no placement"),
        (("member", "ping", UNKNOWN), "member 99 does not exist"),
        (("member", "ping", w.gone), f"member {w.gone} is deregistered"),
        (("member", "ping", w.member), f"member {w.member} has no placement"),
        (("member", "capture", UNKNOWN), "member 99 does not exist"),
        (("member", "capture", w.gone), f"member {w.gone} is deregistered"),
        (("member", "capture", w.member), f"member {w.member} has no placement"),
        (("fleet", "show", UNKNOWN), "fleet 99 does not exist"),
        (("fleet", "delete", UNKNOWN), "fleet 99 does not exist"),
    ]:
        with subtests.test(arguments=arguments):
            refusals.expect(1, fragment, *arguments)


def test_a_pending_pane_takes_no_text_and_has_none(
    world: World, refusals: Refusals, registry: Registry
) -> None:
    registry.place(3, None)
    refusals.expect(1, "the pane of member 3 is still pending", "member", "prompt", "3", "hi")
    refusals.expect(1, "the pane of member 3 is still pending", "member", "capture", "3")


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "the text is blank"),
        (" \t ", "the text is blank"),
        ("\n", "the text is blank"),
        ("one\ntwo", "the text has more than one line"),
        ("one\r", "the text has more than one line"),
        ("\none", "the text has more than one line"),
        ("one\u2028two", "the text has more than one line"),
        ("a\x1b[2Jb", "the text has control characters"),
        ("a\x9bb", "the text has control characters"),
    ],
)
def test_a_prompt_is_one_line_of_text(
    world: World, refusals: Refusals, registry: Registry, text: str, fragment: str
) -> None:
    registry.place(3, "%1")
    refusals.expect(2, fragment, "member", "prompt", "3", "--", text)


def test_a_new_member_needs_a_fleet_that_is_whole(
    world: World, refusals: Refusals, registry: Registry, subtests: pytest.Subtests
) -> None:
    headless = registry.fleet()
    registry.member(headless, "monitor", kind="monitor")
    orphaned = registry.fleet()
    registry.member(orphaned, "Director", kind="director", status="deregistered")
    for fleet, fragment in [
        (UNKNOWN, "fleet 99 does not exist"),
        ("0", "fleet 0 does not exist"),
        (world.deleted_fleet, f"fleet {world.deleted_fleet} was deleted at {THEN}"),
        (str(headless), f"fleet {headless} is corrupt, it has no Director"),
        (str(orphaned), f"the Director of fleet {orphaned}, member "),
        (world.fleet, "has no placement that would tell its coding agent; pass --coding-agent"),
    ]:
        with subtests.test(fleet=fleet):
            refusals.expect(1, fragment, *create(fleet))


@pytest.mark.parametrize(
    ("wishes", "fragment"),
    [
        (("codex", "--effort", "max"), "codex has no effort 'max'; it knows minimal, low, medium"),
        (("claude", "--effort", "minimal"), "claude has no effort 'minimal'; it knows low, medium"),
        (("claude", "--effort", "High"), "claude has no effort 'High'"),
        (("opencode", "--effort", "high"), "opencode has no effort 'high'"),
        (("opencode", "--model", "gpt"), "write it as <provider>/<model>"),
        (("opencode", "--model", "/gpt"), "write it as <provider>/<model>"),
        (("opencode", "--model", "openai/"), "write it as <provider>/<model>"),
        # The model is looked at before the effort.
        (("opencode", "--effort", "high", "--model", "gpt"), "opencode has no model 'gpt'"),
    ],
)
def test_models_and_efforts(
    world: World, refusals: Refusals, wishes: tuple[str, ...], fragment: str
) -> None:
    # A second monitor would be refused as well, but later.
    refusals.expect(2, fragment, *create("1", "--role", "monitor", "--coding-agent", *wishes))


def test_there_is_one_monitor_and_it_comes_first(
    world: World, refusals: Refusals, registry: Registry
) -> None:
    agent = ("--coding-agent", "claude")
    # The role is looked at before the body.
    missing = create("1", *agent, "--role", "monitor")[:-1] + ("--file", "missing")
    refusals.expect(1, "fleet 1 has an active monitor, member 2; delete it first with", *missing)
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = 2")
    fragment = "start one first with `cafleet member create --fleet-id 1 --role monitor …`"
    refusals.expect(1, fragment, *create("1", *agent))


def test_the_body_comes_before_the_multiplexer(world: World, refusals: Refusals) -> None:
    agent = ("--coding-agent", "claude")
    refusals.expect(2, "PROMPT is blank", *create("1", *agent)[:-1], " \n")
    for path, fragment in [("missing", "does not exist"), (".", "is not a regular file")]:
        refusals.expect(1, fragment, *create("1", *agent)[:-1], "--file", path)
    piped = (*create("1", *agent)[:-1], "--file", "-")
    refusals.expect(1, "stdin is empty or blank", *piped)
    refusals.expect(1, "stdin is not valid UTF-8 at byte offset 1", *piped, stdin=b"a\xff")
    refusals.expect(1, "not set); start tmux first", *piped, stdin=b"do it")


@pytest.mark.parametrize("value", ["", " 5", "1_0", "5.0", "-1", "１２", str(2**63)])
def test_a_bad_number_in_the_environment_stores_nothing(
    world: World, refusals: Refusals, value: str
) -> None:
    env = {"CAFLEET_DELIVERY_HOLD_TIMEOUT": value}
    fragment = f"CAFLEET_DELIVERY_HOLD_TIMEOUT is {value!r}, which is not a whole number"
    refusals.expect(1, fragment, *send(world.monitor, world.member), env=env)
    if value == "-1":
        broadcast = ("message", "broadcast", "--from-member-id", world.monitor, "hi")
        refusals.expect(1, fragment, *broadcast, env=env)


@pytest.mark.parametrize("form", ["broadcast", "fleet"])
def test_each_fault_of_a_file_has_its_own_words(
    world: World, refusals: Refusals, tmp_path: Path, form: str
) -> None:
    folder = tmp_path / "work"
    (folder / "dangling").symlink_to("nothing")
    (folder / "latin").write_bytes(b"caf\xe9")
    (folder / "blank").write_bytes("\ufeff \n".encode())
    pane = None
    command: tuple[str, ...] = ("message", "broadcast", "--from-member-id", "1", "--file")
    if form == "fleet":
        pane = refusals.server.session("main")
        command = ("fleet", "create", "--name=n", "--coding-agent=claude", "--monitor-file")
    for path, fragment in [
        ("missing", "the file missing does not exist"),
        ("dangling", "the file dangling is a symbolic link to nothing"),
        (".", ". is not a regular file"),
        ("latin", "the file latin is not valid UTF-8 at byte offset 3"),
        ("blank", "the file blank is empty or blank"),
        ("x" * 300, "cannot be read (File name too long)"),
    ]:
        refusals.expect(1, fragment, *command, path, pane=pane)


def test_a_database_only_command_needs_no_multiplexer(
    world: World, refusals: Refusals, registry: Registry
) -> None:
    registry.place(3, None)
    without_tmux = {"PATH": "/nonexistent"}
    deleted = refusals.cafleet.run("member", "delete", "3", "--json", env=without_tmux)
    assert deleted.ok().stdout == '{"member_id":3,"pane_status":"(pending — no pane)"}\n'
    deleted = refusals.cafleet.run("member", "delete", "2", env=without_tmux).ok()
    assert deleted.stdout == "Member deleted.\nmember_id: 2\npane_id: (no placement)\n"
    assert registry.rows("SELECT status FROM members WHERE member_id IN (2, 3)") == [
        ("deregistered",),
        ("deregistered",),
    ]
