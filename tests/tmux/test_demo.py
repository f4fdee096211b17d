"""``make demo``, run as a newcomer runs it."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from demo.stage import FOLDERS
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for

DEMO = Path(__file__).parents[2] / "demo" / "run.py"
SECONDS = 120


@pytest.fixture
def users_environment(environment: dict[str, str], tmux_server: TmuxServer) -> dict[str, str]:
    """A user inside a tmux of their own, with a database and a home of their own."""
    pane = tmux_server.session("users")
    database = Path(environment["HOME"]) / "mine.db"
    return {
        **environment,
        **tmux_server.inside(pane),
        "CAFLEET_DATABASE_URL": f"sqlite:///{database}",
        "CAFLEET_MAX_TEXT_LEN": "not a number",
    }


def processes_of(folder: str) -> list[str]:
    """The processes that have ``folder`` in their environment, where /proc tells."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has just ended
            if folder.encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


def test_the_demo_tells_how_a_fleet_talks(
    users_environment: dict[str, str], tmux_server: TmuxServer
) -> None:
    panes, home = tmux_server.panes(), Path(users_environment["HOME"])
    contents = sorted(home.rglob("*"))
    done = subprocess.run(
        [sys.executable, DEMO],
        env=users_environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    for part in (
        "$ cafleet setup",
        "$ cafleet fleet create --name demo",
        "$ cafleet member create --fleet-id 1 --name alice",
        "$ cafleet message send --from-member-id 1 --to-member-id 3",
        "$ cafleet message broadcast --from-member-id 1",
        "Director → alice",
        "alice → Director: re: message 1, 14 words, read by member 3",
        "bob → Director: re: message",
        "monitor → Director: re: message",
        "$ cafleet member list 1",
        "$ cafleet member capture 3",
        "[cafleet msg 1 to 3 (alice) from 1 (Director)",
        "cafleet message poll 3 --json",
        "$ cafleet fleet resume 1",
        "1 back open fresh",
        "Are you back?",
        "$ cafleet fleet delete 1 --kill-panes",
        "all were acknowledged",
    ):
        assert part in done.stdout
    assert tmux_server.panes() == panes
    assert sorted(home.rglob("*")) == contents
    folder = next(word for word in done.stdout.split() if word.startswith(FOLDERS + "/"))
    assert not Path(folder).exists()
    wait_for(lambda: not processes_of(folder), "all of its processes have ended")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_cleans_up(
    number: signal.Signals, users_environment: dict[str, str]
) -> None:
    command = [sys.executable, "-u", str(DEMO)]
    with subprocess.Popen(
        command, env=users_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        folder = process.stdout.readline().split()[-1]
        for line in process.stdout:
            if "member create" in line:
                break
        process.send_signal(number)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    assert not Path(folder).exists()
    wait_for(lambda: not processes_of(folder), "all of its processes have ended")


def test_without_tmux_it_says_how_to_get_it(environment: dict[str, str], tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(
        [sys.executable, DEMO],
        env={**environment, "PATH": str(empty)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert "tmux is missing; install it" in line
