"""One database by many names: the file decides, for locks and for who is alive."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cafleet import clock, settings
from cafleet.courier.process_lock import ProcessLock, courier_lock_path
from cafleet.errors import SettingError
from cafleet.operations.agent_start import prompt_file
from tests.harness.program import Program, assert_refused
from tests.harness.registry import Registry
from tests.harness.traces import trace


def itself(path: Path) -> str:
    return str(path)


def dotted(path: Path) -> str:
    return f"{path.parent}/../{path.parent.name}/./{path.name}"


def slashed(path: Path) -> str:
    return f"//{path.parent}//{path.name}"


def link_to_the_file(path: Path) -> str:
    link = path.parent.parent / "link.db"
    link.symlink_to(path)
    return str(link)


def link_to_a_link(path: Path) -> str:
    first = Path(link_to_the_file(path))
    link = path.parent / "second.db"
    link.symlink_to(os.path.relpath(first, path.parent))
    return str(link)


def linked_folder(path: Path) -> str:
    folder = path.parent.parent / "elsewhere"
    folder.symlink_to(path.parent, target_is_directory=True)
    return str(folder / path.name)


def dotted_through_a_link(path: Path) -> str:
    """`..` after a link is the parent of where the link leads."""
    deep = path.parent / "deep"
    deep.mkdir()
    link = path.parent.parent / "away"
    link.symlink_to(deep, target_is_directory=True)
    return f"{link}/../{path.name}"


NAMES = [
    itself,
    dotted,
    slashed,
    link_to_the_file,
    link_to_a_link,
    linked_folder,
    dotted_through_a_link,
]
each_name = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def alive(registry: Registry) -> Iterator[Registry]:
    """A fleet whose loop holds its lock and ticks, as far as anybody can see."""
    registry.crew("ann", "bob")
    registry.rows(
        "INSERT INTO monitor_runtime (fleet_id, pid, started_at, last_tick_at, tick_seconds) "
        "VALUES (1, 77, ?1, ?1, 3600)",
        clock.stamp(clock.utc_now()),
    )
    lock = ProcessLock(courier_lock_path(str(registry.path), 1))
    assert lock.acquire()
    yield registry
    lock.release()


def assert_seen_alive(cafleet: Program, name: str) -> None:
    env = {"CAFLEET_DATABASE_URL": f"sqlite:///{name}"}
    assert cafleet.run("monitor", "status", "1", "--json", env=env).json()["running"] is True
    found = json.loads(cafleet.run("doctor", "--json", env=env).stdout)["database"]
    assert found["couriers"] == [{"fleet_id": 1, "state": "running"}]
    assert_refused(cafleet.run("monitor", "run", "1", env=env), 1, "")


@each_name
def test_a_loop_is_seen_by_every_name(
    cafleet: Program, alive: Registry, name: Callable[[Path], str]
) -> None:
    assert_seen_alive(cafleet, name(alive.path))


@each_name
def test_what_lies_beside_it_has_one_place(
    registry: Registry, name: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAFLEET_DATABASE_URL", f"sqlite:///{name(registry.path)}")
    assert settings.database_path() == str(registry.path)
    assert prompt_file(settings.database_path(), 3) == f"{registry.path}.prompt-3.txt"


@pytest.mark.parametrize("is_whole_folder", [True, False])
def test_a_bind_mount(cafleet: Program, alive: Registry, *, is_whole_folder: bool) -> None:
    """A mounted folder has its locks and SQLite's log in it; a mounted file has its own beside it."""
    place = alive.path.parent.parent / "mounted"
    place.mkdir()
    source, target = alive.path.parent, place
    if not is_whole_folder:
        source, target = alive.path, place / "other.db"
        target.touch()
    done = subprocess.run(["mount", "--bind", source, target], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this user may not mount anything")
    try:
        if is_whole_folder:
            assert_seen_alive(cafleet, str(place / alive.path.name))
            return
        env = {"CAFLEET_DATABASE_URL": f"sqlite:///{target}"}
        before = trace(place)
        told = f"{target} is mounted by itself, and SQLite would keep its log beside it; mount its"
        for command in (("fleet", "list"), ("setup",), ("db", "check")):
            assert_refused(cafleet.run(*command, env=env), 1, told)
        assert told in cafleet.run("doctor", env=env).stdout
        assert trace(place) == before
    finally:
        subprocess.run(["umount", str(target)], check=True)


def test_a_hard_link_is_refused_by_both_names(cafleet: Program, registry: Registry) -> None:
    other = registry.path.parent / "other.db"
    os.link(registry.path, other)
    for path in (registry.path, other):
        env = {"CAFLEET_DATABASE_URL": f"sqlite:///{path}"}
        told = f"the file at {path} has 2 names (hard links), and SQLite would keep a log for each"
        assert_refused(cafleet.run("fleet", "list", env=env), 1, told)
        assert_refused(cafleet.run("setup", env=env), 1, told)
    other.unlink()
    cafleet.run("fleet", "list", env={"CAFLEET_DATABASE_URL": registry.url}).ok()


def test_a_folder_behind_a_link_that_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "disk"
    link.symlink_to(tmp_path / "not-mounted")
    monkeypatch.setenv("CAFLEET_DATABASE_URL", f"sqlite:///{link}/cafleet/fleet.db")
    with pytest.raises(SettingError, match=r"is a link to .*/not-mounted, where there is no file"):
        settings.database_path()
    assert [entry.name for entry in tmp_path.iterdir()] == ["disk"]
