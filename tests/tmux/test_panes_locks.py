"""One typist at a time per pane, over processes, and no lock outlives its holder."""

from __future__ import annotations

import os
import signal
import socket as sockets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select

import pytest

from cafleet.errors import MultiplexerError, PaneLockedError
from cafleet.panes import locks, pane_lock

HOLD = (
    "import sys, time; from cafleet.panes import locks, pane_lock\n"
    "locks.SHARED_TMP = sys.argv[3]\n"
    "with pane_lock(sys.argv[1], sys.argv[2]):\n"
    "    print('held', flush=True); time.sleep(60)\n"
)


NOBODY = 65534


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands for /tmp in this process and, by :func:`held`, in others."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr("cafleet.panes.locks.SHARED_TMP", str(folder))
    return folder


@pytest.fixture
def folder(shared: Path) -> Path:
    return shared / f"cafleet-{os.getuid()}"


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Path]:
    """A socket that is there."""
    path = tmp_path / "s"
    with sockets.socket(sockets.AF_UNIX) as server:
        server.bind(os.path.relpath(path))
        yield path


@contextmanager
def held(socket: str, pane: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock."""
    command = [sys.executable, "-c", HOLD, socket, pane, locks.SHARED_TMP]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, **environment}
    ) as process:
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


def test_one_waits_for_the_other_and_then_has_it(shared: Path) -> None:
    counter = (
        "import sys; from pathlib import Path; from cafleet.panes import locks, pane_lock\n"
        "locks.SHARED_TMP = sys.argv[2]\n"
        "path = Path(sys.argv[1])\n"
        "for _ in range(20):\n"
        "    with pane_lock('/s', '%1'):\n"
        "        path.write_text(str(int(path.read_text()) + 1))\n"
    )
    path = shared / "count"
    path.write_text("0")
    command = [sys.executable, "-c", counter, str(path), str(shared)]
    racers = [subprocess.Popen(command) for _ in range(4)]
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


def test_any_way_to_a_socket_and_any_environment_is_one(listening: Path, tmp_path: Path) -> None:
    os.link(listening, tmp_path / "hard")
    (tmp_path / "soft").symlink_to("hard")
    (tmp_path / "sub").mkdir()
    (tmp_path / "run").mkdir(mode=0o700)
    folder = str(tmp_path)
    environments: list[dict[str, str]] = [
        {name: value}
        for name in ("XDG_RUNTIME_DIR", "TMPDIR", "HOME", "TMUX_TMPDIR", "XDG_CACHE_HOME")
        for value in (str(tmp_path / "run"), "relative", "")
    ]
    with pane_lock(str(listening), "%1"):
        for way in ("hard", "soft", "sub/../s", "/s"):
            with pytest.raises(PaneLockedError), pane_lock(f"{folder}/{way}", "%1", limit=0):
                pytest.fail("the lock was given twice")
    for environment in environments:
        with (
            held(str(listening), "%1", **environment),
            pytest.raises(PaneLockedError),
            pane_lock(str(listening), "%1", limit=0),
        ):
            pytest.fail("the lock was given twice")


def test_a_socket_in_a_folder_that_cannot_be_written(listening: Path, tmp_path: Path) -> None:
    with held(str(listening), "%1"):
        mode = tmp_path.stat().st_mode
        try:
            for other in (0o555, 0o1777):
                tmp_path.chmod(other)
                with (
                    pytest.raises(PaneLockedError),
                    pane_lock(str(listening), "%1", limit=0),
                ):
                    pytest.fail("the lock was given twice")
        finally:
            tmp_path.chmod(mode)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two users")
def test_root_and_the_servers_user_have_one_lock(listening: Path, shared: Path) -> None:
    os.chown(listening, NOBODY, NOBODY)
    with pane_lock(str(listening), "%1"):
        (made,) = (shared / f"cafleet-{NOBODY}").iterdir()
    for path in (made, made.parent):
        assert path.stat().st_uid == NOBODY
        assert path.stat().st_mode & 0o077 == 0
    # What the user has put there is not given away.
    victim = shared / "victim"
    victim.touch()
    made.unlink()
    os.link(victim, made)
    with pane_lock(str(listening), "%1"):
        assert victim.stat().st_uid == 0


@pytest.mark.parametrize("pane", ["../../etc/x", "a/b", "w1:p1", "", "x" * 5000, "\udcff", "\n"])
def test_odd_names_stay_in_the_folder(pane: str, folder: Path) -> None:
    with pane_lock("/s/" + "y" * 3000, pane):
        files = list(folder.iterdir())
    assert [file.suffix for file in files] == [".lock"]
    assert files[0].stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_is_a_link_or_open_to_others_or_anothers_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir(mode=0o700)

    def refused() -> None:
        with pytest.raises(MultiplexerError, match="alone may use"), pane_lock("/s", "%1"):
            pytest.fail("an unsafe folder was used")

    folder.symlink_to(target)
    refused()
    folder.unlink()
    folder.mkdir()
    for mode in (0o777, 0o710, 0o701):
        folder.chmod(mode)
        refused()
    if os.getuid() == 0:
        folder.chmod(0o700)
        os.chown(folder, NOBODY, NOBODY)
        refused()
    folder.rmdir()
    folder.touch(mode=0o700)
    refused()
    assert not list(target.iterdir())


def test_a_link_in_the_place_of_the_file_is_not_followed(folder: Path, tmp_path: Path) -> None:
    with pane_lock("/s", "%1"):
        (file,) = folder.iterdir()
    file.unlink()
    file.symlink_to(tmp_path / "victim")
    with pytest.raises(MultiplexerError, match="cannot be opened"), pane_lock("/s", "%1"):
        pytest.fail("a link was followed")
    assert not (tmp_path / "victim").exists()


def test_a_file_that_was_removed_meanwhile_counts_no_more(folder: Path) -> None:
    """As by a cleaner of the temporary folder, while somebody waits for the lock."""
    with held("/s", "%1") as first:
        waiting = subprocess.Popen(
            [sys.executable, "-c", HOLD, "/s", "%1", locks.SHARED_TMP], stdout=subprocess.PIPE
        )
        with waiting:
            assert waiting.stdout is not None
            time.sleep(0.3)
            (file,) = folder.iterdir()
            file.unlink()
            with pane_lock("/s", "%1", limit=0):
                first.kill()
                # It has waited for the old file, and now has to wait for the one of that name.
                assert select([waiting.stdout], [], [], 0.3)[0] == []
            assert waiting.stdout.readline() == b"held\n"
            waiting.kill()
