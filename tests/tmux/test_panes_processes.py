"""The processes in the foreground of a pane: which they are, whether they go on, and whose they are."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from cafleet.errors import MultiplexerError
from cafleet.panes import Multiplexer, processes
from cafleet.panes.processes import Terminal, in_foreground, is_in_foreground
from cafleet.screens import Process
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.panes_fixtures import ByteRecorders


@pytest.fixture(params=["the system's own way", "ps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to see processes; ps is what other systems than Linux have."""
    if request.param == "ps":
        monkeypatch.setattr(processes, "_LINUX", False)


def seen(mux: Multiplexer, pane: str) -> tuple[Process, ...]:
    picture = mux.pictures([pane])[pane]
    assert not isinstance(picture, MultiplexerError)
    return picture.foreground or ()


def programs(mux: Multiplexer, pane: str) -> list[str]:
    return [each.words[0] for each in seen(mux, pane)]


@pytest.mark.usefixtures("way")
def test_a_program_and_what_it_runs(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    alone = tmux_server.session("main", ["sleep", "100"])
    wrapped = tmux_server.split(alone, ["sh", "-c", "sleep 101; true"])
    wait_for(lambda: programs(mux, alone) == ["sleep"], "one program")
    wait_for(lambda: programs(mux, wrapped) == ["sh", "sleep"], "a shell and its child")
    [sleep] = seen(mux, alone)
    assert (sleep.name, sleep.words) == ("sleep", ("sleep", "100"))
    assert str(sleep.pid) == tmux_server.ask(alone, "#{pane_pid}")
    assert sleep.started
    assert not sleep.stopped
    assert is_in_foreground(sleep)


@pytest.mark.usefixtures("way")
def test_a_job_in_the_background_is_none(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    pane = tmux_server.session("main", ["bash", "--norc", "-i"])
    wait_for(lambda: programs(mux, pane) == ["bash"], "a shell")
    tmux_server.run("send-keys", "-t", pane, "sleep 102", "Enter")
    wait_for(lambda: programs(mux, pane) == ["sleep"], "a job in the foreground")
    [job] = seen(mux, pane)
    tmux_server.run("send-keys", "-t", pane, "C-z")
    wait_for(lambda: programs(mux, pane) == ["bash"], "the shell again")
    assert not is_in_foreground(job)


@pytest.mark.usefixtures("way")
def test_a_stopped_child_is_told(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    code = "import subprocess; subprocess.run(['sleep', '103'])"
    pane = tmux_server.session("main", [sys.executable, "-c", code])
    wait_for(lambda: programs(mux, pane)[1:] == ["sleep"], "a child")
    child = seen(mux, pane)[1]
    os.kill(child.pid, signal.SIGSTOP)
    wait_for(lambda: [each.stopped for each in seen(mux, pane)] == [False, True], "it is stopped")
    assert not is_in_foreground(child)
    os.kill(child.pid, signal.SIGCONT)
    wait_for(lambda: is_in_foreground(child), "it goes on")


@pytest.mark.usefixtures("way")
def test_what_cannot_be_seen_is_not_guessed(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    pane = tmux_server.session("main", ["sleep", "104"])
    pid, tty, server = tmux_server.ask(pane, "#{pane_pid} #{pane_tty} #{pid}").split()
    here = Terminal(device=tty, pid=int(pid), parent=int(server))
    others = [
        # The same number in another namespace is another process: it has another parent, or another
        # terminal, or is not there at all.
        Terminal(device=tty, pid=int(pid), parent=int(server) + 1),
        Terminal(device="/dev/null", pid=int(pid), parent=int(server)),
        Terminal(device="/dev/pts/none", pid=int(pid), parent=int(server)),
        Terminal(device="", pid=0, parent=0),
        Terminal(device=tty, pid=2**22 + 1, parent=int(server)),
    ]
    found, *unseen = in_foreground([here, *others])
    assert found is not None
    assert found[0].pid == int(pid)
    assert [each for each in unseen if each is not None] == []


def test_a_name_may_hold_anything(
    mux: Multiplexer, tmux_server: TmuxServer, tmp_path: Path
) -> None:
    odd = tmp_path / ") S 1 (x\n"
    odd.symlink_to("/bin/sleep")
    pane = tmux_server.session("main", [str(odd), "105"])
    wait_for(lambda: programs(mux, pane) == [str(odd)], "the oddly named program")
    assert seen(mux, pane)[0].name == odd.name[:15]


@pytest.mark.usefixtures("way")
def test_another_process_of_the_same_name_gets_nothing(
    mux: Multiplexer, recorder: ByteRecorders
) -> None:
    pane = recorder.session()
    before = seen(mux, pane)
    picture = mux.pictures([pane])[pane]
    assert not isinstance(picture, MultiplexerError)
    recorder.server.run("set-option", "-g", "remain-on-exit", "on")
    recorder.server.run("respawn-pane", "-k", "-t", pane, *recorder.command())
    wait_for(lambda: seen(mux, pane) not in ((), before), "another process")
    recorder.ready(pane)
    programs = {pane: picture.command}
    failed = mux.paste({pane: "touch made"}, programs, {pane: before})
    assert "another program" in str(failed[pane])
    assert mux.paste({pane: "hi"}, programs, {pane: seen(mux, pane)}) == {}
    recorder.expect(pane, b"hi")
    assert recorder.server.run("list-buffers") == ""
