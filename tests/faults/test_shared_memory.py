"""File systems on which WAL cannot share its memory: tried, told, and left for the rollback journal."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.program import Program, assert_refused
from tests.harness.registry import Registry, database_at_head, registry

__all__ = ["database_at_head", "registry"]

# Fails as a file system without shared mappings does, for the files that WAL shares alone.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int is_shared_memory(int file)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = file < 0 ? -1 : readlink(link, path, sizeof path - 1);
    return length > 4 && memcmp(path + length - 4, "-shm", 4) == 0;
}

void *mmap(void *at, size_t length, int protection, int flags, int file, off_t offset)
{
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (!real)
        real = dlsym(RTLD_NEXT, "mmap");
    if (is_shared_memory(file)) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return real(at, length, protection, flags, file, offset);
}

void *mmap64(void *at, size_t length, int protection, int flags, int file, off_t offset)
{
    return mmap(at, length, protection, flags, file, offset);
}
"""
REASON = "SQLITE_IOERR_SHMMAP: disk I/O error"


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a library to be loaded before the system's."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler makes the library that fails as such a file system does")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    words = [compiler, "-shared", "-fPIC", "-o", "shim.so", "shim.c", "-ldl"]
    subprocess.run(words, cwd=folder, check=True)
    return str(folder / "shim.so")


@pytest.fixture
def no_mappings(shim: str, cafleet: Program) -> Iterator[None]:
    cafleet.environment["LD_PRELOAD"] = shim
    yield
    del cafleet.environment["LD_PRELOAD"]


def mode(registry: Registry) -> str:
    return str(registry.value("PRAGMA journal_mode"))


@pytest.mark.usefixtures("no_mappings")
def test_a_new_database_keeps_the_rollback_journal(cafleet: Program, tmp_path: Path) -> None:
    path = tmp_path / "data" / "fleet.db"
    cafleet.environment["CAFLEET_DATABASE_URL"] = f"sqlite:///{path}"
    for _ in range(2):
        said = cafleet.run("setup").ok().stdout
        assert f"journal mode is delete: WAL does not work here ({REASON}), so readers" in said
        cafleet.run("fleet", "list").ok()
    assert [entry.name for entry in path.parent.iterdir()] == ["fleet.db"]
    found = json.loads(cafleet.run("doctor", "--json").stdout)["database"]
    assert (found["ok"], found["journal_mode"]) == (True, "delete")


def test_a_database_that_was_moved_there_is_told_and_mended(
    cafleet: Program, registry: Registry, shim: str
) -> None:
    registry.crew("ann", "bob")
    registry.message(3, 4, "kept")
    assert mode(registry) == "wal"
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    env = {"LD_PRELOAD": shim}
    told = (
        f"the file system cannot share memory for the database at {registry.path} ({REASON}); run "
        "`cafleet setup`"
    )
    assert_refused(cafleet.run("message", "poll", "4", env=env), 1, told)
    doctor = json.loads(cafleet.run("doctor", "--json", env=env).stdout)["database"]
    assert told in doctor["error"]
    assert told in cafleet.run("db", "check", env=env).stderr
    assert "WAL does not work here" in cafleet.run("setup", env=env).ok().stdout
    assert len(cafleet.run("message", "poll", "4", "--json", env=env).json()) == 1
    assert mode(registry) == "delete"
    # Back on a disk that can, setup takes it into WAL mode again.
    assert "journal mode" not in cafleet.run("setup").ok().stdout
    assert mode(registry) == "wal"


def a_folder(path: Path) -> None:
    path.mkdir()


def a_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.mark.parametrize("stand", [a_folder, a_link_to_a_device])
def test_what_stands_in_the_place_of_the_shared_memory(
    cafleet: Program, registry: Registry, stand: object
) -> None:
    """Needs no compiler: the file that WAL shares cannot be opened."""
    registry.crew("ann", "bob")
    cafleet.environment["CAFLEET_DATABASE_URL"] = registry.url
    shared = Path(f"{registry.path}-shm")
    assert callable(stand)
    stand(shared)
    send = ("message", "send", "--from-member-id", "3", "--to-member-id", "4", "hi")
    assert_refused(cafleet.run(*send), 1, str(registry.path))
    said = cafleet.run("setup").ok().stdout
    assert "journal mode is delete: WAL does not work here (SQLITE_" in said
    cafleet.run(*send).ok()
    assert os.path.lexists(shared)
    shared.rmdir() if shared.is_dir() else shared.unlink()
    cafleet.run("setup").ok()
    assert mode(registry) == "wal"
