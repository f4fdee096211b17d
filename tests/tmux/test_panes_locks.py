"""One typist at a time per pane, over processes, and no lock outlives its holder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cafleet.errors import MultiplexerError, PaneLockedError
from cafleet.panes import pane_lock
from cafleet.panes.locks import lock_folder

HOLD = (
    "import sys, time; from cafleet.panes import pane_lock\n"
    "with pane_lock(sys.argv[1], sys.argv[2]):\n"
    "    print('held', flush=True); time.sleep(60)\n"
)


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@contextmanager
def held(socket: str, pane: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock."""
    command = [sys.executable, "-c", HOLD, socket, pane]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_another_process_waits_to_its_limit() -> None:
    with held("/s", "%1"):
        start = time.monotonic()
        with (
            pytest.raises(PaneLockedError, match=r"pane '%1' for 0\.3 s"),
            pane_lock("/s", "%1", limit=0.3),
        ):
            pytest.fail("the lock was given twice")
        assert 0.3 <= time.monotonic() - start < 1.0
        with pane_lock("/s", "%2", limit=0), pane_lock("/t", "%1", limit=0):
            pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_goes_with_its_process(number: signal.Signals) -> None:
    with held("/s", "%1") as process:
        process.send_signal(number)
        with pane_lock("/s", "%1", limit=5):
            pass


def test_one_waits_for_the_other_and_then_has_it() -> None:
    counter = (
        "import sys; from pathlib import Path; from cafleet.panes import pane_lock\n"
        "path = Path(sys.argv[1])\n"
        "for _ in range(20):\n"
        "    with pane_lock('/s', '%1'):\n"
        "        path.write_text(str(int(path.read_text()) + 1))\n"
    )
    path = Path(os.environ["XDG_RUNTIME_DIR"]) / "count"
    path.write_text("0")
    racers = [subprocess.Popen([sys.executable, "-c", counter, str(path)]) for _ in range(4)]
    assert [racer.wait(timeout=30) for racer in racers] == [0] * 4
    assert path.read_text() == "80"


def test_it_is_released_by_an_error() -> None:
    with pytest.raises(KeyError), pane_lock("/s", "%1"):
        raise KeyError
    with pane_lock("/s", "%1", limit=0):
        pass


def test_names_of_one_socket_are_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with (
        held(str(tmp_path / "s"), "%1"),
        pytest.raises(PaneLockedError),
        pane_lock(str(tmp_path / "link" / "s"), "%1", limit=0),
    ):
        pytest.fail("the lock was given twice")


@pytest.mark.parametrize("pane", ["../../etc/x", "a/b", "w1:p1", "", "x" * 5000, "\udcff", "\n"])
def test_odd_names_stay_in_the_folder(pane: str, runtime: Path) -> None:
    with pane_lock("/s/" + "y" * 3000, pane):
        files = list((runtime / "cafleet").iterdir())
    assert [file.suffix for file in files] == [".lock"]
    assert files[0].stat().st_mode & 0o777 == 0o600
    assert (runtime / "cafleet").stat().st_mode & 0o777 == 0o700


def test_a_runtime_folder_that_others_may_use_is_not_used(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lock_folder() == str(runtime / "cafleet")
    usual = (f"/run/user/{os.getuid()}/cafleet", f"/tmp/cafleet-{os.getuid()}")
    runtime.chmod(0o755)
    assert lock_folder() in usual
    for value in ("relative", "", "/nonexistent"):
        monkeypatch.setenv("XDG_RUNTIME_DIR", value)
        assert lock_folder() in usual


def test_a_folder_that_is_a_link_or_open_to_others_is_refused(
    runtime: Path, tmp_path: Path
) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir(mode=0o700)
    (runtime / "cafleet").symlink_to(target)
    with (
        pytest.raises(MultiplexerError, match="not a folder of yours alone"),
        pane_lock("/s", "%1"),
    ):
        pytest.fail("a link was followed")
    (runtime / "cafleet").unlink()
    (runtime / "cafleet").mkdir()
    (runtime / "cafleet").chmod(0o777)
    with (
        pytest.raises(MultiplexerError, match="not a folder of yours alone"),
        pane_lock("/s", "%1"),
    ):
        pytest.fail("an open folder was used")
    assert not list(target.iterdir())


def test_a_link_in_the_place_of_the_file_is_not_followed(runtime: Path, tmp_path: Path) -> None:
    with pane_lock("/s", "%1"):
        (file,) = (runtime / "cafleet").iterdir()
    file.unlink()
    file.symlink_to(tmp_path / "victim")
    with pytest.raises(MultiplexerError, match="cannot be opened"), pane_lock("/s", "%1"):
        pytest.fail("a link was followed")
    assert not (tmp_path / "victim").exists()
