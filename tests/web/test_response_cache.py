"""Responses are kept, and no client can tell but by what they cost."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cafleet.courier.process_lock import ProcessLock, courier_lock_path
from cafleet.errors import IntegrityError
from cafleet.web.database_watch import DatabaseWatch
from cafleet.web.response_cache import MOST_BYTES, CacheKey, ResponseCache
from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.web import Reply, WebServer
from tests.web.conftest import OwnServer
from tests.web.crews import send

SEND = "/api/messages/send"


def newest(reply: Reply) -> int:
    """The highest id of a list of messages."""
    return max((each["message_id"] for each in reply.ok()["messages"]), default=0)


def test_who_writes_and_then_reads_finds_it(
    web: WebServer, registry: Registry, program: Program
) -> None:
    crews = [registry.crew("ann", "bob") for _ in range(3)]
    chance = random.Random(11)

    def by_web(ann: int, bob: int, fleet: int) -> int:
        body = {"from_member_id": ann, "to_member_id": bob, "text": "hi"}
        return int(web.post(SEND, body, fleet=fleet).ok()["message_id"])

    for turn in range(100):
        fleet = chance.randint(1, 3)
        _, _, ann, bob = crews[fleet - 1]
        if turn % 20 == 0:
            sent = send(program, "hi", sender=ann, recipient=bob)
        elif turn % 5 == 0:
            sent = by_web(ann, bob, fleet)
        else:
            sent = registry.message(ann, bob)
        for path in ("/api/timeline?limit=9", f"/api/members/{bob}/inbox?limit=9"):
            assert newest(web.get(path, fleet=fleet)) == sent
            assert newest(web.get(path, fleet=fleet)) == sent
        other = web.get("/api/timeline?limit=9", fleet=fleet % 3 + 1)
        assert newest(other) != sent


def test_many_who_read_at_once_find_what_was_written_before_they_asked(
    web: WebServer, registry: Registry
) -> None:
    _, _, ann, bob = registry.crew("ann", "bob")
    written = 0

    def read(_: int) -> None:
        for _ in range(25):
            before = written
            assert newest(web.get("/api/timeline?limit=9")) >= before

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read, number) for number in range(8)]
        while not all(reader.done() for reader in readers):
            written = registry.message(ann, bob)
    for reader in readers:
        reader.result()


def test_a_row_that_is_damaged_and_mended(web: WebServer, registry: Registry) -> None:
    _, _, ann, bob = registry.crew("ann", "bob")
    registry.message(ann, bob)
    good = web.get("/api/timeline").ok()
    for _ in range(3):
        registry.rows("UPDATE messages SET status_state = 'canceled'")
        for _ in range(3):
            assert "'canceled'" in web.get("/api/timeline").detail(500)
        registry.rows("UPDATE messages SET status_state = 'input_required'")
        assert web.get("/api/timeline").ok() == good
    registry.rows("UPDATE fleets SET deleted_at = created_at")
    assert web.get("/api/timeline").detail(404) == "Fleet not found"


def test_the_loop_that_is_killed_is_seen_though_it_writes_nothing(
    web: WebServer, registry: Registry
) -> None:
    registry.crew("ann")
    registry.rows(
        "INSERT INTO monitor_runtime (fleet_id, pid, tick_seconds, started_at, last_tick_at) "
        "VALUES (1, 1, 5, strftime('%Y-%m-%dT%H:%M:%f000+00:00'), "
        "strftime('%Y-%m-%dT%H:%M:%f000+00:00'))"
    )
    lock = ProcessLock(courier_lock_path(str(registry.path), 1))
    for _ in range(5):
        assert lock.acquire()
        assert web.get("/api/monitor").ok()["running"] is True
        lock.release()
        assert web.get("/api/monitor").ok()["running"] is False


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def removed(path: Path) -> None:
    path.unlink()


def renamed(path: Path) -> None:
    path.rename(path.with_suffix(".away"))


@pytest.mark.parametrize("spoil", [emptied, removed, renamed])
def test_nothing_is_answered_from_a_database_that_is_gone(
    own: OwnServer, spoil: Callable[[Path], None]
) -> None:
    own.registry.crew("ann")
    for _ in range(2):
        assert own.web.get("/api/members").ok()["members"]
    spoil(own.registry.path)
    own.web.get("/api/members").detail(503)


def test_another_database_in_its_place_is_what_is_read(
    own: OwnServer, database_at_head: Path, tmp_path: Path
) -> None:
    """Several times, as the numbers of files are used again."""
    for names in (("ann",), ("bob", "cid"), ("dan",), ("eve", "fay", "gil")):
        other = Registry(tmp_path / "other.db")
        shutil.copyfile(database_at_head, other.path)
        other.crew(*names)
        for ending in ("-wal", "-shm"):
            own.registry.path.with_name(f"fleet.db{ending}").unlink(missing_ok=True)
        os.replace(other.path, own.registry.path)
        for _ in range(2):
            found = own.web.get("/api/members").ok()["members"]
            assert tuple(each["name"] for each in found[2:]) == names


def test_only_news_travel(web: WebServer, registry: Registry) -> None:
    _, _, ann, bob = registry.crew("ann", "bob")
    registry.crew("ann", "bob")
    for path in ("/api/fleets", "/api/members", "/api/timeline", f"/api/members/{bob}/inbox"):
        whole = web.get(path)
        known = {"If-None-Match": whole.headers["etag"]}
        heartbeat = "INSERT INTO monitor_runtime (fleet_id, last_tick_at) VALUES (?, 'now')"
        registry.rows("DELETE FROM monitor_runtime")
        registry.rows(heartbeat, 1)
        again = web.ask("GET", path, fleet=1, headers=known)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == whole.headers["etag"]
        assert again.headers["cache-control"] == "no-store"
        head = web.ask("HEAD", path, fleet=1)
        assert (head.status, head.headers["etag"]) == (200, whole.headers["etag"])
    registry.message(ann, bob)
    news = web.ask("GET", "/api/timeline", fleet=1, headers=known)
    assert len(news.ok()["messages"]) == 1
    assert web.ask("GET", "/api/members/x/inbox", fleet=1, headers=known).status == 404


def test_what_is_kept_has_a_bound(own: OwnServer) -> None:
    _, _, ann, bob = own.registry.crew("ann", "bob")
    for _ in range(100):
        own.registry.message(ann, bob, "x" * 10_000)
    own.web.get("/api/timeline").ok()
    before = resident_bytes(own.web)
    for number in range(120):  # a megabyte each
        own.web.get(f"/api/timeline?{number}").ok()
    assert resident_bytes(own.web) - before < 3 * MOST_BYTES


def resident_bytes(web: WebServer) -> int:
    pages = int(Path(f"/proc/{web.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def commit(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("INSERT INTO fleets (created_at) VALUES ('2026')")


def test_a_look_that_has_begun_is_not_shared(own_copy: Path) -> None:
    async def story() -> None:
        watch = DatabaseWatch(str(own_copy))
        first = asyncio.create_task(watch.look())
        for _ in range(5):
            await asyncio.sleep(0)
        # Its thread has looked by then, and this one has not been told.
        time.sleep(0.5)
        commit(own_copy)
        second = await watch.look()
        watch.end()
        assert await first != second

    run(story())


def test_a_file_that_was_away_meanwhile_is_another(own_copy: Path) -> None:
    async def story() -> None:
        watch, status = DatabaseWatch(str(own_copy)), own_copy.stat()
        before = await watch.look()
        away = own_copy.rename(own_copy.with_suffix(".away"))
        assert not (await watch.look()).is_readable
        commit(away)
        away.rename(own_copy)
        # As if it were written within one tick of the clock of the file system.
        os.utime(own_copy, ns=(status.st_atime_ns, status.st_mtime_ns))
        after = await watch.look()
        watch.end()
        assert after.is_readable
        assert after.file == before.file
        assert after != before

    run(story())


def run(story: Coroutine[Any, Any, None]) -> None:
    """Run it in a thread of its own: the browser has a loop in the one of the tests."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, story).result()


class Asking:
    """Responses on a database, and how often each was looked for."""

    def __init__(self, path: Path) -> None:
        self.watch = DatabaseWatch(str(path))
        self.cache = ResponseCache(self.watch)
        self.found: list[str] = []

    async def ask(self, path: str = "/", *, size: int = 1, **more: Any) -> bytes:
        def find() -> bytes:
            self.found.append(path)
            if path == "/bad":
                raise IntegrityError("a bad row")
            return b"x" * size

        key = CacheKey(path=path, query=b"", fleet_id=1, **more)
        return (await self.cache.get(lambda: key, find)).body


def asked(path: Path, story: Callable[[Asking], Coroutine[Any, Any, None]]) -> list[str]:
    """What was looked for in the course of ``story``."""
    asking = Asking(path)

    async def told() -> None:
        try:
            await story(asking)
        finally:
            asking.watch.end()

    run(told())
    return asking.found


def test_a_question_is_looked_into_once_for_each_change(own_copy: Path) -> None:
    async def story(asking: Asking) -> None:
        for _ in range(3):
            await asyncio.gather(*(asking.ask() for _ in range(50)))
            await asking.ask()
            commit(own_copy)

    assert asked(own_copy, story) == ["/"] * 3


def test_what_differs_in_anything_is_another_question(own_copy: Path) -> None:
    async def story(asking: Asking) -> None:
        for _ in range(2):
            await asking.ask("/a")
            await asking.ask("/b")
            await asking.ask("/b", beside=(1,))
            await asking.ask("/b", beside=(2,))

    assert asked(own_copy, story) == ["/a", "/b", "/b", "/b"]


def test_a_failure_is_told_to_all_who_asked_and_is_not_kept(own_copy: Path) -> None:
    async def story(asking: Asking) -> None:
        for _ in range(2):
            told = await asyncio.gather(
                *(asking.ask("/bad") for _ in range(5)), return_exceptions=True
            )
            assert [type(each) for each in told] == [IntegrityError] * 5

    assert asked(own_copy, story) == ["/bad"] * 2


def test_what_there_is_no_room_for_is_answered_all_the_same(own_copy: Path) -> None:
    async def story(asking: Asking) -> None:
        for _ in range(2):
            assert len(await asking.ask("/half", size=MOST_BYTES // 2)) == MOST_BYTES // 2
            assert len(await asking.ask("/more", size=MOST_BYTES)) == MOST_BYTES
            await asking.ask("/small")

    assert asked(own_copy, story) == ["/half", "/more", "/small", "/more"]


def test_nothing_is_kept_while_there_is_no_database(tmp_path: Path) -> None:
    async def story(asking: Asking) -> None:
        for _ in range(2):
            await asking.ask()

    assert asked(tmp_path / "nowhere.db", story) == ["/", "/"]


@pytest.fixture
def own_copy(database_at_head: Path, tmp_path: Path) -> Path:
    """A database at head without a row."""
    return Path(shutil.copyfile(database_at_head, tmp_path / "fleet.db"))
