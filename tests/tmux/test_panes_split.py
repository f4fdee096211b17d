"""A new pane runs what it was told, where it was told, and a failure leaves none behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cafleet.errors import MultiplexerError, PaneGoneError
from cafleet.panes import ARGV_LIMIT_BYTES, Multiplexer, SplitError, command_bytes
from tests.harness.tmux import TmuxServer
from tests.harness.waiting import wait_for
from tests.tmux.panes_fixtures import ByteRecorders, tag, wrap

HOSTILE = [
    ";", "a;", "a\\;", "\\", "--", "-n", "#{pane_id}", "#(touch x)", "$(id)", "`id`", "$HOME", "'",
    '"', "{", "}", "two\nlines", "", " ", "%0", "界😀", "\x1b[31m", "bytes \udcff",
]  # fmt: skip


def split(mux: Multiplexer, beside: str, argv: list[str], **options: Any) -> str:
    options = {"env": {}, "tag": tag(2), "title": "t", "cwd": "/tmp", **options}
    return mux.split(beside, argv=argv, **options).pane


def failed_split(mux: Multiplexer, beside: str, argv: list[str], **options: Any) -> SplitError:
    with pytest.raises(SplitError) as failure:
        split(mux, beside, argv, **options)
    return failure.value


def test_words_reach_the_program_unchanged(mux: Multiplexer, recorder: ByteRecorders) -> None:
    beside = recorder.session()
    pane = split(mux, beside, recorder.command(*HOSTILE))
    words = [word.encode("utf-8", "surrogateescape") for word in HOSTILE]
    assert recorder.start(pane)["argv"] == words


def test_a_single_word_is_no_shell_command(
    mux: Multiplexer, recorder: ByteRecorders, tmp_path: Path
) -> None:
    beside = recorder.session()
    program = tmp_path / "a $(id) = 'program';"
    program.write_text("#!/bin/sh\nexec sleep 100\n")
    program.chmod(0o755)
    pane = split(mux, beside, [str(program)])
    assert recorder.server.ask(pane, "#{pane_current_command}") == "sleep"


def test_only_what_is_passed_is_added_to_the_environment(
    mux: Multiplexer, recorder: ByteRecorders, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = recorder.session()
    monkeypatch.setenv("CAFLEET_SECRET", "of the caller")
    url = "sqlite:////tmp/a b;c?d#e%20#{pane_id}.db;"
    before = recorder.server.run("show-environment", "-g")
    pane = split(mux, beside, recorder.command(), env={"CAFLEET_DATABASE_URL": url})
    environment = recorder.start(pane)["environment"]
    assert environment["CAFLEET_DATABASE_URL"] == url
    assert "CAFLEET_SECRET" not in environment
    assert environment["TMUX_PANE"] == pane
    assert recorder.server.run("show-environment", "-g") == before


@pytest.mark.parametrize(
    "name", ["plain", "a\nb", "#{pane_id}", "x;", "%H", "~", b"\xff".decode("latin1")]
)
def test_it_starts_in_the_folder(
    name: str, mux: Multiplexer, recorder: ByteRecorders, tmp_path: Path
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    beside = recorder.session()
    pane = split(mux, beside, recorder.command(), cwd=str(folder))
    assert recorder.start(pane)["cwd"] == os.fsencode(folder)


def test_the_tag_is_on_it_and_the_place_is_told(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    beside = tmux_server.session("a b")
    new = mux.split(beside, env={}, argv=["cat"], tag=tag(2), title="t", cwd="/tmp")
    assert mux.tagged_panes() == {new.pane: tag(2).text()}
    assert new.session == "a b"
    assert new.window == tmux_server.ask(new.pane, "#{window_id}")


def test_the_focus_stays(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    director = tmux_server.session("main")
    tmux_server.run("new-window", "-t", "main:", "sleep", "1000")
    form = "#{?pane_active,#{pane_id},}#{?window_active,#{window_id},}"
    before = tmux_server.run("list-panes", "-a", "-F", form)
    for _ in range(4):
        split(mux, director, ["cat"])
    after = tmux_server.run("list-panes", "-s", "-t", "main", "-F", form).split("\n")
    assert [line for line in after if line][:2] == before.split("\n")


@pytest.mark.parametrize("remain", ["on", "off"])
@pytest.mark.parametrize(
    "argv", [["false"], ["/nonexistent/agent", "x"], ["sh", "-c", "sleep 0.1"]]
)
def test_a_program_that_ends_at_once_is_a_failure(
    argv: list[str], remain: str, mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    beside = tmux_server.session("main")
    tmux_server.run("set-option", "-g", "remain-on-exit", remain)
    failure = failed_split(mux, beside, argv)
    assert f"{argv[0]} ended at once" in str(failure)
    assert failure.closed
    assert tmux_server.panes() == [beside]


HOOKS = {
    "prints": "display-message -p '#{pane_id}'",
    "fails": "select-pane -t nosuch",
    "prints long": "list-panes -a",
    "arranges": "select-layout even-horizontal",
    "divides": "split-window -d sleep 1000",
    "selects": "select-pane -t :.0",
    "renames": "rename-window '#{pane_id}'",
}


@pytest.mark.parametrize("room", ["beside", "window"])
@pytest.mark.parametrize("what", HOOKS)
def test_the_users_hooks_are_not_taken_for_an_answer(
    what: str, room: str, mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    beside = tmux_server.session("main", columns=200 if room == "beside" else 100)
    for event in ("after-split-window", "after-new-window", "window-layout-changed"):
        if what != "divides" or event == "after-new-window":
            tmux_server.run("set-hook", "-g", event, HOOKS[what])
    new = split(mux, beside, ["cat"])
    assert mux.tagged_panes() == {new: tag(2).text()}


@pytest.mark.parametrize("columns", [200, 100], ids=["beside", "window"])
def test_a_pane_is_tagged_by_the_call_that_opens_it(
    columns: int, mux: Multiplexer, tmux_server: TmuxServer, tmux_wrapper: Path
) -> None:
    """Nothing comes after that call here: tmux, and so our program, is killed once it has begun."""
    beside = tmux_server.session("main", columns=columns)
    tmux_server.run("set-option", "-g", "pane-base-index", "3")
    tmux_server.run("new-window", "-d", "-t", "main:7", "sleep", "1000")
    opening = 'case "$*" in *new-window*|*split-window*) "$REAL" "$@" & sleep 0.1; kill -9 $$;;'
    wrap(tmux_wrapper, opening + ' *source-file*|*set-option*) exit 1;; esac; exec "$REAL" "$@"')
    for number in (2, 3):
        before = tmux_server.panes()
        failed_split(mux, beside, ["cat"], tag=tag(number), limit=2.0)
        (new,) = set(tmux_server.panes()) - set(before)
        assert mux.tagged_panes()[new] == tag(number).text()


def test_a_server_that_was_stopped_opens_only_tagged_panes(
    mux: Multiplexer, tmux_server: TmuxServer, tmux_wrapper: Path
) -> None:
    beside = tmux_server.session("main")
    server = int(tmux_server.ask(beside, "#{pid}"))
    os.kill(server, signal.SIGSTOP)
    try:
        with pytest.raises(MultiplexerError):
            split(mux, beside, ["cat"], limit=0.5)
        # Not even its list of panes has come back; this is what is asked after it.
        opening = ["split-window", "-d", "-t", beside, "sleep", "1000"]
        late = subprocess.Popen(
            ["tmux", "-S", tmux_server.socket, *opening], start_new_session=True
        )
        time.sleep(0.2)
        late.kill()
        late.wait()
    finally:
        os.kill(server, signal.SIGCONT)
    wait_for(lambda: len(tmux_server.panes()) == 2, "what was asked of it is done after all")


def test_it_stays_when_its_program_ends(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    beside = tmux_server.session("main")
    pane = split(mux, beside, ["sh", "-c", "echo last words; sleep 1; exit 3"])
    wait_for(lambda: tmux_server.ask(pane, "#{pane_dead}") == "1", "it has ended")
    assert "last words" in str(mux.capture([pane], lines=100, ansi=False)[pane])
    assert mux.pictures([pane])[pane].dead  # type: ignore[union-attr]
    # The user's own panes close as ever.
    other = tmux_server.split(beside, ["sh", "-c", "sleep 0.1"])
    wait_for(lambda: other not in tmux_server.panes(), "a pane of the user's own is closed")
    mux.kill(pane, missing_ok=False)
    assert tmux_server.panes() == [beside]


@pytest.mark.parametrize(
    "title",
    ["plain", "#{pid}#(touch x)#[fg=red]", "%H%M %%", "-t", "a;", ";", "\\", "'\"$(id)`", "tab\tand\nline",
     "\x1b]2;x\a", "界😀 é", "#", "", "x" * 300],
)  # fmt: skip
def test_a_title_is_shown_as_it_is(title: str, mux: Multiplexer, tmux_server: TmuxServer) -> None:
    beside = tmux_server.session("main")
    name = tmux_server.ask(beside, "#{window_name}")
    pane = split(mux, beside, ["cat"], title=title)
    shown = tmux_server.ask(pane, "#{pane_title}")
    for character, like in ("#\uff03", "%\uff05", "\n ", "\t ", "\x1b ", "\a "):
        title = title.replace(character, like)
    assert shown.split() == title.split()
    # Whatever else reads it as a format makes nothing of it.
    assert tmux_server.ask(pane, "#{E:pane_title}") == shown
    assert tmux_server.ask(beside, "#{window_name}") == name


def test_a_program_cannot_rename_the_window(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    beside = tmux_server.session("main")
    tmux_server.run("set-option", "-wg", "allow-rename", "on")
    tmux_server.run("rename-window", "-t", beside, "mine")
    script = r"printf '\033kother\033\134done'; sleep 100"
    pane = split(mux, beside, ["sh", "-c", script])
    wait_for(lambda: "done" in tmux_server.screen(pane), "it has tried")
    assert tmux_server.ask(beside, "#{window_name}") == "mine"


def test_the_folder_is_its_own_even_where_tmux_would_start_it_elsewhere(
    mux: Multiplexer, recorder: ByteRecorders, tmux_wrapper: Path, tmp_path: Path
) -> None:
    """As tmux 3.7 does once the folder that its server was started in is gone."""
    beside = recorder.session()
    wrap(tmux_wrapper, 'cd /usr; PWD=/usr; export PWD; exec "$REAL" "$@"')
    for name in (
        "-",
        "-P",
        "a\nb\n",
        "$(id) `id` \"'",
        b"\xff\x01".decode("utf-8", "surrogateescape"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        pane = split(mux, beside, recorder.command(), cwd=str(folder))
        assert recorder.start(pane)["cwd"] == os.fsencode(folder)
        mux.kill(pane, missing_ok=False)


def test_a_failure_leaves_the_layout_as_it_was(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    director = tmux_server.session("main", columns=200, rows=50)
    mux.set_tag(director, tag(1))
    for _ in range(2):
        split(mux, director, ["cat"])
    layout = tmux_server.ask(director, "#{window_layout}")
    failed_split(mux, director, ["sh", "-c", "sleep 0.2"])
    assert tmux_server.ask(director, "#{window_layout}") == layout


def test_too_small_is_refused(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    for number, (columns, rows) in enumerate([(59, 24), (80, 11), (10, 4)]):
        beside = tmux_server.session(f"s{number}", columns=columns, rows=rows)
        before = tmux_server.panes()
        failure = failed_split(mux, beside, ["cat"])
        assert f"{columns}x{rows}" in str(failure)
        assert failure.closed
        assert tmux_server.panes() == before


def test_a_command_of_the_limit_passes_and_a_longer_one_is_refused(
    mux: Multiplexer, recorder: ByteRecorders
) -> None:
    beside = recorder.session()
    env = {"CAFLEET_DATABASE_URL": "sqlite:////x" * 20}
    room = ARGV_LIMIT_BYTES - command_bytes(recorder.command(""), env, "/tmp")
    for longest in ("x" * room, ";" + "界" * (room // 3 - 1), "y" * (room - 2) + ";"):
        pane = split(mux, beside, recorder.command(longest), env=env, tag=tag(2**63 - 1))
        assert recorder.start(pane)["argv"] == [longest.encode()]
    panes = recorder.server.panes()
    failure = failed_split(mux, beside, recorder.command("x" * (room + 1)), env=env)
    assert f"{ARGV_LIMIT_BYTES + 1} bytes" in str(failure)
    assert recorder.server.panes() == panes


@pytest.mark.parametrize("cwd", ["", "relative", "/nonexistent", "/etc/passwd", "/a\0b", "/\ud800"])
def test_a_folder_that_is_none_is_refused(
    cwd: str, mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    beside = tmux_server.session("main")
    with pytest.raises(MultiplexerError):
        split(mux, beside, ["cat"], cwd=cwd)
    assert tmux_server.panes() == [beside]


@pytest.mark.parametrize("word", ["a\0b", "\ud800"])
def test_words_that_cannot_be_passed_are_refused(
    word: str, mux: Multiplexer, tmux_server: TmuxServer
) -> None:
    beside = tmux_server.session("main")
    for options in ({"argv": ["cat", word]}, {"argv": ["cat"], "env": {"A": word}}, {"argv": []}):
        with pytest.raises(MultiplexerError):
            split(mux, beside, **options)
    assert tmux_server.panes() == [beside]


@pytest.mark.parametrize("beside", ["%999", "main", "main:0.0", ""])
def test_beside_what_is_not_there(beside: str, mux: Multiplexer, tmux_server: TmuxServer) -> None:
    pane = tmux_server.session("main")
    with pytest.raises(PaneGoneError):
        split(mux, beside, ["cat"])
    assert tmux_server.panes() == [pane]


def test_without_a_server(mux: Multiplexer, tmux_server: TmuxServer) -> None:
    beside = tmux_server.session("main")
    tmux_server.stop()
    with pytest.raises(MultiplexerError, match="no tmux server answers"):
        split(mux, beside, ["cat"])


def test_a_slow_tmux_is_given_up_and_the_id_is_unknown(
    mux: Multiplexer, tmux_server: TmuxServer, tmux_wrapper: Path
) -> None:
    beside = tmux_server.session("main")
    wrap(
        tmux_wrapper, 'case "$*" in *new-window*|*split-window*) sleep 8;; esac; exec "$REAL" "$@"'
    )
    start = time.monotonic()
    failure = failed_split(mux, beside, ["cat"], limit=1.0)
    assert time.monotonic() - start < 2
    assert (failure.pane, failure.closed) == (None, False)
    assert "its id is unknown" in str(failure)
    assert tmux_server.panes() == [beside]


@pytest.mark.parametrize(
    "answer", ["exit 0", "echo nonsense; exit 0", "printf '%%1\\n%%2\\n'; exit 0"]
)
def test_an_id_that_is_none_is_not_believed(
    answer: str, mux: Multiplexer, tmux_server: TmuxServer, tmux_wrapper: Path
) -> None:
    beside = tmux_server.session("main")
    wrap(tmux_wrapper, f'case "$*" in *split-window*) {answer};; esac; exec "$REAL" "$@"')
    failure = failed_split(mux, beside, ["cat"], limit=1.0)
    assert (failure.pane, failure.closed) == (None, False)
    assert tmux_server.panes() == [beside]


@pytest.mark.parametrize("stage", ["select-pane", "source-file"])
def test_a_tmux_that_hangs_after_the_split_costs_the_pane(
    stage: str, mux: Multiplexer, tmux_server: TmuxServer, tmux_wrapper: Path
) -> None:
    beside = tmux_server.session("main")
    wrap(tmux_wrapper, f'case "$*" in *{stage}*) sleep 8;; esac; exec "$REAL" "$@"')
    start = time.monotonic()
    failure = failed_split(mux, beside, ["cat"], limit=1.0)
    assert time.monotonic() - start < 2
    assert failure.pane is not None
    assert failure.closed
    assert tmux_server.panes() == [beside]


def test_a_pane_that_cannot_be_closed_is_named(
    mux: Multiplexer, tmux_server: TmuxServer, tmux_wrapper: Path
) -> None:
    beside = tmux_server.session("main")
    wrap(tmux_wrapper, 'case "$*" in *source-file*|*kill-pane*) exit 1;; esac; exec "$REAL" "$@"')
    failure = failed_split(mux, beside, ["cat"], limit=1.0)
    assert not failure.closed
    assert failure.pane in tmux_server.panes()
    assert f"pane {failure.pane} may still be open" in str(failure)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", ["new-window", "split-window", "select-pane", "source-file"])
def test_an_interruption_leaves_no_pane(
    stage: str,
    number: signal.Signals,
    tmux_server: TmuxServer,
    tmux_wrapper: Path,
    tmp_path: Path,
) -> None:
    columns = 80 if stage == "new-window" else 200
    beside = tmux_server.session("main", columns=columns)
    reached = tmp_path / "reached"
    wrap(
        tmux_wrapper,
        f'"$REAL" "$@"; status=$?; case "$*" in *{stage}*) : > {reached}; sleep 0.5;; esac; exit $status',
    )
    program = (
        "import signal, sys; from cafleet.panes import *; from cafleet.records import Backend\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
        "print('up', flush=True)\n"
        "multiplexer(Backend.TMUX, sys.argv[1]).split(sys.argv[2], env={}, argv=['cat'],\n"
        f"  tag=PaneTag(database_id={tag(2).database_id!r}, fleet_id=7, member_id=2),\n"
        "  title='t', cwd='/tmp')\n"
    )
    command = [sys.executable, "-c", program, tmux_server.socket, beside]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(reached.exists, f"tmux was asked to {stage}")
        process.send_signal(number)
        _, trouble = process.communicate(timeout=10)
    assert process.returncode == (143 if number == signal.SIGTERM else -signal.SIGINT), trouble
    assert tmux_server.panes() == [beside]


def test_it_keeps_to_its_limits(mux: Multiplexer, recorder: ByteRecorders) -> None:
    """What a caller counts on inside a write transaction: well under the two seconds."""
    beside = recorder.session()
    start = time.monotonic()
    split(mux, beside, recorder.command(), limit=2.0)
    assert time.monotonic() - start < 2.0
    assert json.loads((recorder.folder / f"{beside}.json").read_text())
