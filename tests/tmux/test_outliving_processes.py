"""What outlives its pane is told, and ended on request; a stranger never is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.harness.crew import CrewMaker
from tests.harness.journals import Recorders
from tests.harness.program import Program, Result
from tests.harness.registry import Registry
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

STUBBORN = "trap '' HUP TERM INT; while :; do sleep 0.2; done"
AGENTS = {
    "itself": f"#!/bin/sh\n{STUBBORN}\n",
    "a child": f'#!/bin/sh\nsh -c "{STUBBORN}" stubborn &\nexec sleep 1000\n',
    "a daemon": f'#!/bin/sh\n(setsid sh -c "{STUBBORN}" stubborn &)\nexec sleep 1000\n',
    "a child in a session of its own": (
        f'#!/bin/sh\nsetsid sh -c "{STUBBORN}" stubborn &\nexec sleep 1000\n'
    ),
}


@pytest.fixture
def create(
    crew: CrewMaker, cafleet: Program, registry: Registry, recorders: Recorders
) -> Iterator[Create]:
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    made = Create(crew, cafleet, recorders)
    yield made
    for pid in made.told:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


class Create:
    def __init__(self, crew: CrewMaker, cafleet: Program, recorders: Recorders) -> None:
        self.home = crew.make().director.pane
        self.cafleet, self.recorders = cafleet, recorders
        self.told: set[int] = set()

    def __call__(self, agent: str) -> str:
        """A member with this script as its agent; its id."""
        (self.recorders.programs / "claude").write_text(AGENTS.get(agent, agent))
        words = ("--fleet-id", "1", "--name", "n", "--description", "d", "--json", "hi")
        member = self.cafleet.run("member", "create", *words, pane=self.home).json()
        time.sleep(0.3)
        return str(member["member_id"])

    def pids(self, result: Result) -> list[int]:
        """The processes that a warning names."""
        assert result.exit_code == 0, result
        found = [int(pid) for pid in re.findall(r"process (\d+) \(", result.stderr)]
        self.told |= set(found)
        return found


def is_alive(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("agent", AGENTS)
def test_it_is_told_and_can_be_ended_later(agent: str, create: Create, cafleet: Program) -> None:
    member = create(agent)
    deleted = cafleet.run("member", "delete", member, "--json")
    pids = create.pids(deleted)
    assert pids
    assert [is_alive(pid) for pid in pids] == [True] * len(pids)
    assert set(deleted.json()) == {"member_id", "pane_status"}
    assert f"`cafleet member delete {member} --force`" in deleted.stderr
    # Without it nothing is ended, and the member is known no more.
    assert cafleet.run("member", "delete", member).exit_code == 1
    assert all(map(is_alive, pids))
    ended = cafleet.run("member", "delete", member, "--force")
    # Some sleep of the script's may have taken the place of the one that was told.
    assert create.pids(ended)
    assert "ended what had outlived" in ended.stderr
    wait_for(lambda: not any(map(is_alive, pids)), "they have ended")
    assert cafleet.run("member", "delete", member, "--force").ok().stderr == ""


def test_it_is_ended_in_the_same_call(create: Create, cafleet: Program) -> None:
    ended = cafleet.run("member", "delete", create("itself"), "--force")
    assert "ended what had outlived" in ended.stderr
    assert not any(map(is_alive, create.pids(ended)))


def test_what_ends_with_its_pane_is_not_told(create: Create, cafleet: Program) -> None:
    for script in (
        "#!/bin/sh\nexec sleep 1000\n",
        "#!/bin/sh\ntrap 'sleep 0.3; exit' HUP; sleep 9 & wait\n",
    ):
        assert cafleet.run("member", "delete", create(script)).ok().stderr == ""


def test_a_fleet_that_is_deleted_tells_it_too(create: Create, cafleet: Program) -> None:
    member = create("itself")
    pids = create.pids(cafleet.run("fleet", "delete", "1", "--kill-panes"))
    assert pids
    assert create.pids(cafleet.run("member", "delete", member, "--force"))
    assert not any(map(is_alive, pids))


@pytest.mark.parametrize("odd", ["started = '1'", "boot = 'another'"])
def test_another_process_of_that_id_is_never_ended(
    odd: str, create: Create, cafleet: Program, registry: Registry
) -> None:
    member = create("#!/bin/sh\nexec sleep 1000\n")
    cafleet.run("member", "delete", member).ok()
    with subprocess.Popen(["sleep", "1000"]) as stranger:
        try:
            with open(f"/proc/{stranger.pid}/stat") as file:
                started = file.read().rpartition(")")[2].split()[19]
            with open("/proc/sys/kernel/random/boot_id") as file:
                boot = file.read().strip()
            registry.rows(
                "INSERT INTO left_processes (member_id, pid, started, boot, name, noted_at)"
                " VALUES (?, ?, ?, ?, 'n', '2026-05-05T05:42:11.123456+00:00')",
                int(member),
                stranger.pid,
                started,
                boot,
            )
            registry.rows(f"UPDATE left_processes SET {odd}")
            assert cafleet.run("member", "delete", member, "--force").ok().stderr == ""
            assert stranger.poll() is None
            assert registry.rows("SELECT * FROM left_processes") == []
        finally:
            stranger.kill()


def test_a_director_is_refused_whatever_is_asked(
    create: Create, cafleet: Program, tmux_server: TmuxServer
) -> None:
    refused = cafleet.run("member", "delete", "1", "--force")
    assert refused.exit_code == 1
    assert create.home in tmux_server.panes()
