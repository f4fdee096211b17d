"""`monitor scan` and `monitor status`: what every pane shows, and how the loop does."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from cafleet.clock import read
from tests.harness.crew import CrewMaker
from tests.harness.fleet import Fleet
from tests.harness.loops import running, settled
from tests.harness.program import Program, assert_refused
from tests.harness.registry import THEN, Registry
from tests.harness.waiting import wait_for

SHOWN = "\n\nfirst\n\nsecond 界 \x1b[31mred\x1b[m\n\n"


@pytest.fixture
def crowd(crew: CrewMaker, registry: Registry, tmp_path: Path) -> Fleet:
    """Director, a pending monitor, Alice whose pane shows text, Bob whose pane is gone."""
    fleet = crew.make("alice\n`x`", "bob", "placeless")
    server = crew.server
    text = tmp_path / "text"
    text.write_text(SHOWN)
    server.run("respawn-pane", "-k", "-t", fleet.recipient.pane, f"cat {text}; sleep 1000")
    server.run("respawn-pane", "-k", "-t", fleet.director.pane, "echo I direct; sleep 1000")
    for pane, shown in ((fleet.recipient.pane, "red"), (fleet.director.pane, "I direct")):
        wait_for(lambda pane=pane, shown=shown: shown in server.screen(pane), f"{pane} is drawn")
    server.run("kill-pane", "-t", fleet.other.pane)
    registry.rows("DELETE FROM member_placements WHERE member_id = 5")
    return fleet


def test_a_scan_as_text(crowd: Fleet, cafleet: Program, registry: Registry) -> None:
    before = registry.dump()
    shown = cafleet.run("monitor", "scan", "1", "--lines", "3").ok().stdout
    stamps = re.findall(r"captured_at=([^)]*)\)", shown)
    assert len(stamps) == 2
    assert all(read(stamp) is not None for stamp in stamps)
    gone = "the pane does not exist any more"
    director, alice, bob = crowd.director.pane, crowd.recipient.pane, crowd.other.pane
    assert re.sub(r"captured_at=[^)]*\)", "captured_at=<now>)", shown) == (
        f"=== 1 (Director; kind=director; coding_agent=claude; pane={director}; captured_at=<now>) ===\n"
        "I direct\n\n"
        "=== 2 (monitor; kind=monitor; coding_agent=claude; pane=—) ===\n"
        "pane not available (pending placement)\n\n"
        f"=== 3 (alice\\x0a`x`; kind=member; coding_agent=claude; pane={alice}; captured_at=<now>) ===\n"
        "first\n\nsecond 界 red\n\n"
        f"=== 4 (bob; kind=member; coding_agent=claude; pane={bob}) ===\n"
        f"capture failed: gone: {gone}\n"
    )
    assert registry.dump() == before


def test_a_scan_as_json(crowd: Fleet, cafleet: Program) -> None:
    line = cafleet.run("monitor", "scan", "1", "--lines", "1", "--ansi", "--json").ok().stdout
    director, monitor, alice, bob = scans = json.loads(line)
    keys = "member_id,name,kind,coding_agent,pane_id,lines,content,captured_at,content_sha256,error"
    for scan in scans:
        assert ",".join(scan) == keys
        assert (scan["coding_agent"], scan["lines"]) == ("claude", 1)
    assert (director["member_id"], director["kind"]) == (1, "director")
    assert (monitor["pane_id"], monitor["kind"]) == (None, "monitor")
    assert monitor["error"] == "pane not available (pending placement)"
    assert (alice["name"], alice["pane_id"]) == ("alice\n`x`", crowd.recipient.pane)
    assert "\x1b[31mred" in alice["content"]
    hashed = hashlib.sha256(alice["content"].encode()).hexdigest()
    assert (alice["content_sha256"], alice["error"]) == (hashed, None)
    assert bob["pane_id"] == crowd.other.pane
    assert bob["error"].startswith("capture failed: ")
    for failed in (monitor, bob):
        assert failed["content"] is failed["captured_at"] is failed["content_sha256"] is None


def test_a_scan_needs_a_fleet_a_server_and_a_number(
    crowd: Fleet, crew: CrewMaker, cafleet: Program, registry: Registry
) -> None:
    assert_refused(cafleet.run("monitor", "scan", "99"), 1, "99")
    for lines in ("0", "-1", "x"):
        assert cafleet.run("monitor", "scan", "1", "--lines", lines).exit_code == 2
    crew.server.stop()
    assert_refused(cafleet.run("monitor", "scan", "1"), 1, "no tmux server answers")
    registry.rows("UPDATE fleets SET deleted_at = ?", THEN)
    assert_refused(cafleet.run("monitor", "scan", "1"), 1, "deleted")


def test_status(crew: CrewMaker, cafleet: Program, registry: Registry) -> None:
    fleet = crew.make("alice", "bob")
    nothing = cafleet.run("monitor", "status", "1").ok().stdout
    assert nothing.splitlines()[0] == "fleet 1: not running"
    fleet.other.recording.command(type="a draft")
    with running(cafleet, registry, "--tick", "7", "--interval", "0") as loop:
        registry.message(3, 4, delivery_state="queued")
        reason = settled(registry, 1)["reason"]
        line = cafleet.run("monitor", "status", "1", "--json").ok().stdout
        status = json.loads(line)
        assert ",".join(status) == (
            "fleet_id,running,pid,started_at,last_tick_at,tick_seconds,wake_interval_seconds,"
            "last_wake_at,owed,unsure,wake_attempted_at,wake_attempts,wake_outcome"
        )
        assert (status["running"], status["pid"], status["tick_seconds"]) == (True, loop.pid, 7)
        [owed] = status["owed"]
        assert list(owed) == ["message_id", "to_member_id", "state", "reason", "since"]
        assert (owed["to_member_id"], owed["state"], owed["reason"]) == (4, "held", reason)
        text = cafleet.run("monitor", "status", "1").ok().stdout.splitlines()
        assert text[0] == "fleet 1: running"
        assert text[-1].startswith(f"  message 1 to member 4: held ({reason}) since 20")
    for action in ("status", "stop"):
        assert_refused(cafleet.run("monitor", action, "99"), 1, "99")
