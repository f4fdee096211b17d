"""tmux missing, hanging, killed or refusing: each is one clear error, within its limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cafleet.errors import MultiplexerError, PaneGoneError
from cafleet.panes import Multiplexer, runner
from cafleet.panes.words import one_line
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.panes_fixtures import ByteRecorders, tag, wrap


def errors(mux: Multiplexer, pane: str) -> list[MultiplexerError]:
    """What each operation fails with; each has to."""
    found: list[object] = [
        mux.pictures([pane])[pane],
        mux.paste({pane: "x"})[pane],
        mux.enter([pane])[pane],
        mux.capture([pane], lines=5, ansi=False)[pane],
    ]
    for act in (
        lambda: mux.kill(pane, missing_ok=True),
        lambda: mux.set_tag(pane, tag(2)),
        mux.tagged_panes,
    ):
        with pytest.raises(MultiplexerError) as failure:
            act()
        found.append(failure.value)
    assert all(isinstance(error, MultiplexerError) for error in found)
    return [error for error in found if isinstance(error, MultiplexerError)]


def test_no_tmux_on_path(
    mux: Multiplexer, tmux_server: TmuxServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pane = tmux_server.session("main")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {str(error) for error in errors(mux, pane)} == {
        "tmux is not on PATH; install it or correct PATH"
    }


def test_a_tmux_that_cannot_be_started(
    mux: Multiplexer, tmux_server: TmuxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = tmux_server.session("main")
    (tmp_path / "tmux").write_bytes(b"\x7fELF no program")
    (tmp_path / "tmux").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "cannot be started" in str(mux.pictures([pane])[pane])


def test_a_killed_server(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    pane = tmux_server.session("main")
    tmux_server.stop()
    for error in errors(mux, pane):
        assert not isinstance(error, PaneGoneError)
        assert str(error).startswith(f"no tmux server answers at {tmux_server.socket} (")
    Path(tmux_server.socket).unlink(missing_ok=True)
    assert "no tmux server answers" in str(mux.pictures([pane])[pane])


def test_a_server_that_dies_under_the_question(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    pane = tmux_server.session("main")
    server = int(tmux_server.ask(pane, "#{pid}"))
    os.kill(server, signal.SIGSTOP)
    killer = threading.Timer(0.3, os.kill, (server, signal.SIGKILL))
    killer.start()
    error = mux.pictures([pane])[pane]
    killer.join()
    assert isinstance(error, MultiplexerError)
    assert not isinstance(error, PaneGoneError)
    assert "\n" not in str(error)


def test_a_hung_server_is_given_up(
    mux: Multiplexer, tmux_server: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = tmux_server.session("main")
    server = int(tmux_server.ask(pane, "#{pid}"))
    os.kill(server, signal.SIGSTOP)
    try:
        start = time.monotonic()
        with pytest.raises(MultiplexerError, match="did not answer in time;"):
            runner.run(tmux_server.socket, ["list-panes"], limit=0.3)
        assert time.monotonic() - start < 1.0
    finally:
        os.kill(server, signal.SIGCONT)
    assert pane in mux.pictures([pane])


def test_fifty_panes_of_a_hung_server_cost_one_limit(
    mux: Multiplexer, tmux_server: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = tmux_server.session("main")
    server = int(tmux_server.ask(pane, "#{pid}"))
    texts = {f"%{number}": "x" for number in range(50)}
    os.kill(server, signal.SIGSTOP)
    try:
        start = time.monotonic()
        failed = mux.paste(texts)
        assert 4.5 < time.monotonic() - start < 7
    finally:
        os.kill(server, signal.SIGCONT)
    assert list(failed) == list(texts)


def test_a_hung_wrapper_is_ended_with_its_children(
    tmux_server: TmuxServer, tmux_wrapper: Path, tmp_path: Path
) -> None:
    tmux_server.session("main")
    wrap(tmux_wrapper, f"sleep 100 & echo $! > {tmp_path}/pid; wait")
    with pytest.raises(MultiplexerError, match="did not answer"):
        runner.run(tmux_server.socket, ["list-panes"], limit=0.5)
    child = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/cmdline")
    # What has ended but was not waited for yet has an empty command line.
    wait_for(lambda: not child.exists() or not child.read_bytes(), "the child has ended")


def test_a_refusal_is_an_answer(tmux_server: TmuxServer) -> None:
    tmux_server.session("main")
    answer = runner.run(tmux_server.socket, ["nonsense", "\x1b[31m\n"])
    assert answer.status == 1
    assert answer.err == "unknown command: nonsense"


def test_commands_run_up_to_the_first_failure(tmux_server: TmuxServer) -> None:
    tmux_server.session("main")
    shown = ["display-message", "-p"]
    answer = runner.run(tmux_server.socket, [*shown, "a;"], [*shown, ";"], ["no"], [*shown, "b"])
    assert (answer.status, answer.out) == (1, "")
    answer = runner.run(tmux_server.socket, [*shown, "a;"], [*shown, ";"])
    assert (answer.status, answer.out) == (0, "a;\n;\n")


@pytest.mark.parametrize("word", ["a\0b", "\ud800"])
def test_a_word_that_cannot_be_passed(word: str) -> None:
    with pytest.raises(MultiplexerError, match="cannot be passed to tmux"):
        runner.run("/nonexistent", ["display-message", word])


def test_the_callers_pane_is_no_default_target(
    tmux_server: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = tmux_server.session("first")
    latest = tmux_server.session("second")
    for name, value in tmux_server.inside(pane).items():
        monkeypatch.setenv(name, value)
    answer = runner.run(tmux_server.socket, ["display-message", "-p", "#{pane_id}"])
    assert answer.out.strip() == latest


@given(st.text())
def test_errors_stay_on_one_line(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert one_line(line) == line


def test_killing(mux: Multiplexer, recorder: ByteRecorders) -> None:
    last = recorder.session()
    other = recorder.server.split(last)
    mux.kill(other, missing_ok=False)
    assert recorder.server.panes() == [last]
    with pytest.raises(PaneGoneError):
        mux.kill(other, missing_ok=False)
    mux.kill(other, missing_ok=True)
    for name in ("main", "main:0", "", "%0;", "{last}"):
        with pytest.raises(PaneGoneError):
            mux.kill(name, missing_ok=False)
    assert recorder.server.panes() == [last]
    mux.kill(last, missing_ok=False)
    assert recorder.server.panes() == []


def test_importing_is_cheap_and_typing_needs_no_libtmux(
    tmux_server: TmuxServer, environment: dict[str, str]
) -> None:
    pane = tmux_server.session("main", ["cat"])
    program = (
        "import sys; from cafleet.panes import multiplexer, pane_lock\n"
        "from cafleet.records import Backend\n"
        "heavy = {'libtmux', 'json', 'dataclasses', 'hashlib', 'concurrent.futures', 'subprocess'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
        "mux = multiplexer(Backend.TMUX, sys.argv[1])\n"
        "mux.pictures([sys.argv[2]]), mux.paste({sys.argv[2]: 'x'}), mux.enter([sys.argv[2]])\n"
        "print(sorted((heavy - {'subprocess'}) & sys.modules.keys()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmux_server.socket, pane],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n[]\n"


def test_a_server_that_a_call_starts_knows_nothing_of_the_member_that_called(
    tmux_server: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("CAFLEET_MEMBER_ID", "CAFLEET_FLEET_ID", "CAFLEET_DATABASE_ID")
    for name in names:
        monkeypatch.setenv(name, "3")
    monkeypatch.setenv("CAFLEET_DATABASE_URL", "sqlite:////x")
    Path(tmux_server.socket).parent.mkdir(mode=0o700)
    runner.run(tmux_server.socket, ["new-session", "-d", "sleep", "1000"])
    known = tmux_server.run("show-environment", "-g")
    assert "CAFLEET_DATABASE_URL=sqlite:////x" in known
    assert not any(name in known for name in names)
