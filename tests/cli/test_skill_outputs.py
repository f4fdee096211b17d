"""The reference pages show what commands print: each shown form is compared with the real output."""

from __future__ import annotations

import re
from pathlib import Path

from cafleet.agents import assets
from tests.harness.database import Database
from tests.harness.fleet import Fleet
from tests.harness.program import Program, Result
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

REFERENCE = assets.read("skill/commands.md")
SHOWN = dict(re.findall(r"^```text ([\w-]+)\n(.*?)\n```$", REFERENCE, re.DOTALL | re.MULTILINE))
# What each placeholder stands for; `<text>` is whatever else there is.
FORMS = {
    "id": r"\d+",
    "n": r"\d+",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00",
    "state": r"[a-z]+(?: \(.+?\))?",
    "kind": r"director|monitor|member",
    "agent": r"claude|codex|opencode",
    "pane": r"%\d+",
    "name": r"\S+",
    "text": r".+",
}


def pattern(form: str) -> str:
    """The regular expression of a shown form; columns may be wider apart than shown."""
    parts = re.split(r"<(\w+)>", form)
    found = ""
    for position, part in enumerate(parts):
        if position % 2:
            found += f"(?:{FORMS[part]})"
        else:
            found += re.sub(r"(?:\\ ){2,}", " +", re.escape(part))
    return found


def assert_shown(label: str, result: Result) -> None:
    done = result.ok()
    assert re.fullmatch(pattern(SHOWN[label]), done.stdout.strip("\n"), re.DOTALL), (label, done)


def test_every_form_is_what_the_program_prints(
    cafleet: Program, database: Database, fleet: Fleet, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    seen = set()
    director, member = str(fleet.director.member_id), str(fleet.recipient.member_id)
    other, pane = str(fleet.other.member_id), fleet.director.pane
    ends = ["--from-member-id", director, "--to-member-id", member]

    def show(label: str, *arguments: str) -> str:
        seen.add(label)
        result = cafleet.run(*arguments, pane=pane)
        assert_shown(label, result)
        return result.stdout

    sent = show("message-send", "message", "send", *ends, "build it")
    number = sent.split()[1]
    show("message-why", "message", "why", number)
    seen.add("whoami")
    assert_shown("whoami", cafleet.run("whoami", env=database.identity(3)))
    show("message-poll", "message", "poll", member)
    show("message-ack", "message", "ack", number)
    show("message-poll-none", "message", "poll", member)
    show("message-list", "message", "list", "1")
    broadcast = show(
        "message-broadcast", "message", "broadcast", "--from-member-id", director, "to all"
    )
    part = int(re.findall(r"\d+", broadcast)[0]) + 1
    assert " | origin:" in cafleet.run("message", "show", str(part)).ok().stdout

    show("member-list", "member", "list", "1")
    show("member-show", "member", "show", member)
    show("monitor-status", "monitor", "status", "1")
    show("monitor-scan", "monitor", "scan", "1")
    show("fleet-list", "fleet", "list")
    show("fleet-show", "fleet", "show", "1")
    show("db-check", "db", "check")
    show("db-backup", "db", "backup", str(tmp_path / "copy.db"))
    wishes = ["--fleet-id", "1", "--name", "late", "--description", "d", "You are {member_id}."]
    late = show("member-create", "member", "create", *wishes).split()[0]
    wait_for(lambda: _is_at_rest(cafleet, other), "a member rests")
    show("member-ping", "member", "ping", other)
    wait_for(lambda: _is_at_rest(cafleet, other), "a member rests")
    show("member-prompt", "member", "prompt", other, "hello")
    show("member-delete", "member", "delete", late)

    # The notices are under way, and an agent that works is not pinged.
    refused = cafleet.run("message", "ack", number)
    assert (refused.exit_code, refused.stderr[:7]) == (1, "Error: ")
    late_wait = cafleet.run("message", "wait", director, "--timeout", "0")
    assert late_wait.exit_code == 1
    unmet = cafleet.run("message", "send", *ends, "--wait", "acked", "--timeout", "0", "again")
    assert unmet.exit_code == 1
    assert "it is stored, do not send it again" in unmet.stderr

    show("monitor-stop", "monitor", "stop", "1")
    show("fleet-delete", "fleet", "delete", "1", "--kill-panes")
    show("fleet-create", "fleet", "create", "--name", "next", "--coding-agent", "claude")
    left = cafleet.run("fleet", "delete", "2", pane=pane).ok().stdout
    assert re.search(pattern("\nmember <id>: pane <pane> (still running)\n"), left)
    none = "No fleets; start one with 'cafleet fleet create'."
    assert cafleet.run("fleet", "list").ok().stdout == f"{none}\n"
    assert f"`{none}`" in REFERENCE
    assert seen == set(SHOWN)


def _is_at_rest(cafleet: Program, member_id: str) -> bool:
    """Whether nothing is owed to the member any more, so that its pane is left alone."""
    listed = cafleet.run("member", "list", "1", "--json").json()
    return all(row["owed"] == 0 for row in listed if str(row["member_id"]) == member_id)
