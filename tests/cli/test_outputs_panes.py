"""What commands print about panes, and what the agents that they start are given."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.database import Database
from tests.harness.fleet import Fleet
from tests.harness.journals import Recorders
from tests.harness.loops import settled
from tests.harness.program import Program
from tests.harness.tmux import TmuxServer

MEMBER = ["member_id", "name", "description", "status", "registered_at", "kind", "skills"]
PLACEMENT = ["backend", "mux_session", "mux_window_id", "mux_pane_id", "coding_agent"]


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def assert_member(member: dict[str, Any], *, kind: str, pane: str) -> None:
    assert list(member) == [*MEMBER, "placement"]
    assert list(member["placement"]) == [*PLACEMENT, "created_at"]
    assert (member["kind"], member["status"], member["skills"]) == (kind, "active", [])
    assert member["placement"]["mux_pane_id"] == pane


def test_founding_and_ending_a_fleet(
    cafleet: Program, database: Database, tmux_server: TmuxServer, recorders: Recorders
) -> None:
    pane = tmux_server.session("main")
    create = ("fleet", "create", "--name", "é 界", "--coding-agent", "claude")
    made = cafleet.run(*create, "--json", pane=pane).ok()
    fleet = json.loads(made.stdout)
    assert made.stdout == compact(fleet)
    assert "é 界" in made.stdout
    assert list(fleet)[:5] == ["fleet_id", "name", "created_at", "director", "monitor"]
    [_, monitor_pane] = tmux_server.panes()
    assert_member(fleet["director"], kind="director", pane=pane)
    assert_member(fleet["monitor"], kind="monitor", pane=monitor_pane)
    assert fleet["director"]["description"] == "Root Director for this fleet"
    assert fleet["monitor"]["description"] == "Monitor member for this fleet"
    argv = recorders.of(monitor_pane).started()["argv"]
    assert argv[argv.index("--name") + 1] == "monitor"
    shown = cafleet.run("member", "show", "1", "--json").ok().stdout
    assert json.loads(shown) == fleet["director"]

    told = cafleet.run("fleet", "delete", "1").ok().stdout.splitlines()
    assert told[:2] == ["Fleet 1 deleted.", "deregistered: 2"]
    assert told[2:] == [f"member 2: pane {monitor_pane} (still running)"]
    assert tmux_server.panes() == [pane, monitor_pane]

    # The pane is free again, and ids go on.
    text = cafleet.run(*create, pane=pane).ok().stdout
    assert text.splitlines()[0] == "2 director=3 monitor=4"
    panes = tmux_server.panes()
    ended = cafleet.run("fleet", "delete", "2", "--kill-panes", "--json").ok().stdout
    fate = {"member_id": 4, "pane_id": panes[-1], "status": "killed"}
    assert ended == compact({"deregistered_count": 2, "panes": [fate]})
    assert tmux_server.panes() == [pane, monitor_pane]


def test_a_member_from_its_creation_to_its_end(
    fleet: Fleet, cafleet: Program, tmux_server: TmuxServer
) -> None:
    named = ("--fleet-id", "1", "--name", "x é", "--description", "dé")
    made = cafleet.run("member", "create", *named, "--coding-agent", "codex", "hi").ok().stdout
    new_pane = tmux_server.panes()[-1]
    assert made == f"5 x é agent=codex pane={new_pane}\n"
    shown = json.loads(cafleet.run("member", "show", "5", "--json").ok().stdout)
    assert_member(shown, kind="member", pane=new_pane)
    assert (shown["name"], shown["description"]) == ("x é", "dé")
    assert shown["placement"]["coding_agent"] == "codex"

    ann = fleet.recipient
    place = f"pane {ann.pane} of member 3"
    prompted = cafleet.run("member", "prompt", "3", "  say é  ").ok().stdout
    assert prompted == f"Typed into {place}: say é\n"
    assert ann.recording.submits()[-1].rstrip() == "say é"
    prompted = cafleet.run("member", "prompt", "4", "--shell", "--json", "--", "-l").ok().stdout
    typed = {"member_id": 4, "pane_id": fleet.other.pane, "text": "! -l", "shell": True}
    assert prompted == compact(typed)
    assert fleet.other.recording.submits()[-1].rstrip() == "! -l"

    pinged = cafleet.run("member", "ping", "2").ok().stdout
    assert pinged == f"Pinged member 2 in pane {fleet.monitor.pane}.\n"
    assert fleet.monitor.recording.submits()[-1].startswith("cafleet message poll 2 ")
    ann.recording.command(question=True)
    received = ann.recording.received()
    skipped = json.loads(cafleet.run("member", "ping", "3", "--json").ok().stdout)
    assert list(skipped) == ["member_id", "pane_id", "skipped", "reason"]
    assert (skipped["pane_id"], skipped["skipped"]) == (ann.pane, True)
    assert "awaiting" in skipped["reason"]
    told = cafleet.run("member", "ping", "3").ok().stdout
    assert told == f"Skipped member 3: {skipped['reason']}.\n"
    assert ann.recording.received() == received

    deleted = cafleet.run("member", "delete", "5", "--json").ok().stdout
    assert deleted == compact({"member_id": 5, "pane_status": f"{new_pane} (killed)"})
    tmux_server.run("kill-pane", "-t", fleet.other.pane)
    deleted = cafleet.run("member", "delete", "4").ok().stdout
    assert deleted == f"Member deleted.\nmember_id: 4\npane_id: {fleet.other.pane} (already gone)\n"


def test_a_capture_is_the_content_alone(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    words = tmp_path / "words"
    words.write_text("\n".join(f"line {number}" for number in range(30)) + "\n\n\x1b[31mré\x1b[m\n")
    pane = tmux_server.split(fleet.director.pane, ["sh", "-c", f"cat {words}; sleep 1000"])
    tag = tmux_server.ask(fleet.recipient.pane, "#{@cafleet}")
    tmux_server.run("set-option", "-p", "-t", pane, "@cafleet", tag)
    database.rows("UPDATE member_placements SET mux_pane_id = ? WHERE member_id = 3", pane)
    before = database.dump()
    assert cafleet.run("member", "capture", "3", "--lines", "3").ok().stdout == "line 29\n\nré"
    shown = cafleet.run("member", "capture", "3").ok().stdout
    assert shown == "\n".join(f"line {number}" for number in range(12, 30)) + "\n\nré"
    coloured = cafleet.run("member", "capture", "3", "--lines=1", "--ansi").ok().stdout
    assert coloured.startswith("\x1b[31mré")
    line = cafleet.run("member", "capture", "3", "--lines=1", "--json").ok().stdout
    taken = json.loads(line)
    assert line == compact(taken)
    assert ",".join(taken) == "member_id,pane_id,lines,content,captured_at,content_sha256"
    assert (taken["member_id"], taken["pane_id"], taken["lines"]) == (3, pane, 1)
    assert taken["content"] == "ré"
    assert taken["content_sha256"] == hashlib.sha256("ré".encode()).hexdigest()
    assert database.dump() == before


def test_send_and_broadcast_tell_what_became_of_the_notice(
    fleet: Fleet, cafleet: Program, database: Database, tmux_server: TmuxServer
) -> None:
    ends = ("--from-member-id", "2", "--to-member-id")
    fleet.other.recording.command(type="half a thought")
    sent = cafleet.run("message", "send", *ends, "3", "--json", "hi").json()
    assert list(sent) == ["message", "delivery"]
    assert sent["delivery"] == {"state": "queued", "reason": None}
    assert settled(database, 1) == {"state": "submitted", "reason": None}
    cafleet.run("message", "send", *ends, "4", "--json", "hi").ok()
    held = settled(database, 2)
    assert held["state"] == "held"
    assert (held["reason"] or "").startswith("draft")
    tmux_server.run("kill-pane", "-t", fleet.recipient.pane)
    cafleet.run("message", "send", *ends, "3", "hi").ok()
    lost = settled(database, 3)
    assert lost["state"] == "unreachable"
    assert (lost["reason"] or "").startswith("gone")
    again = cafleet.run("message", "send", *ends, "3", "hi")
    assert again.exit_code == 0
    assert again.stdout.startswith("Message 4 stored, notice queued")
    assert again.stderr.startswith("Warning: member 3 was last seen gone; what was sent is stored")
    assert again.stderr.count("\n") == 1
    told = cafleet.run("message", "broadcast", "--from-member-id", "1", "--json", "all").ok()
    outcome = json.loads(told.stdout)
    assert list(outcome) == ["message", "recipients", "deliveries"]
    assert outcome["recipients"] == 3
    assert outcome["deliveries"] == {"queued": 3}


ODD = (
    "---\ntitle: x\n---\n  'a' \"$HOME\" `id` $(id) ; #{{pane_id}} %1 \\; {{x}} {fleet_id}}}\t界\n"
)
# Each as it is given, and as the agent is to get it.
PROMPTS = [
    ("--version", "--version"),
    (ODD, ODD.replace("{fleet_id}", "1").replace("{{", "{").replace("}}", "}")),
]


@pytest.mark.parametrize(
    ("agent", "wishes"),
    [
        ("claude", ("--model", "opus", "--effort", "max")),
        ("codex", ("--model", "gpt-5", "--effort", "high")),
        ("opencode", ("--model", "openai/gpt-5")),
    ],
)
def test_a_spawn_prompt_reaches_its_agent_as_one_argument(
    cafleet: Program,
    database: Database,
    tmux_server: TmuxServer,
    recorders: Recorders,
    opencode_preset: Path,
    tmp_path: Path,
    agent: str,
    wishes: tuple[str, ...],
) -> None:
    director = tmux_server.session("main", columns=240, rows=60)
    create = ("fleet", "create", "--name", "f", "--coding-agent", agent)
    cafleet.run(*create, pane=director).ok()
    named = ("--fleet-id", "1", "--name", "{member_id} ;", "--description", "d")
    file = tmp_path / "prompt"
    for number, (prompt, filled) in enumerate(PROMPTS):
        file.write_bytes(prompt.encode())
        more = wishes if number else ()
        more += ("--allow-same-name",)
        command = ("member", "create", *named, *more, "--file", str(file), "--json")
        member = cafleet.run(*command, pane=director).json()
        start = recorders.of(member["placement"]["mux_pane_id"]).started()
        *options, told = start["argv"]
        last, _, start_line = told.rpartition("\n")
        assert start_line.startswith(f"[cafleet start 1:{member['member_id']}:1 ")
        if agent == "opencode":
            assert last == f"--prompt={filled}"
        else:
            assert (options[-1], last) == ("--", filled)
        assert start["environment"]["CAFLEET_DATABASE_URL"] == database.url
        assert ("--model" in options) is (number > 0 and bool(wishes))
    names = [option for option in options if option == "{member_id} ;"]
    assert len(names) == (1 if agent == "claude" else 0)
