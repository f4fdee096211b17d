"""What the server costs while many pages are open and nothing happens but the loop's heartbeat.

python -m tests.bench.open_pages --pages 50 --seconds 60
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from tests.bench.budget import Result
from tests.faults.crowd import Crowd, gather
from tests.faults.kinds import KINDS
from tests.faults.staging import new_stage
from tests.harness.loops import wait_for_owner
from tests.harness.registry import Registry
from tests.harness.web import WebServer, serving

# What a view of a fleet asks for whenever the database has changed (fleet.js).
_PATHS = ("/api/timeline?limit=200", "/api/members", "/api/monitor")
_MESSAGES = 200
_TEXT = "The suite is green on main; have a look at the report of the slow tests. " * 4
_SETTLING_SECONDS = 8.0


@dataclass(frozen=True)
class Cost:
    """``cpu`` is the share of one CPU; ``statuses`` counts the answers of each status."""

    cpu: float
    events: int
    statuses: Counter[int]


class _Connection:
    """A connection to the server, opened anew when the server has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def ask(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
        """Send a GET; the status and the headers of the answer, whose body is left to be read."""
        lines = [f"GET {path} HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        request = "\r\n".join([*lines, "", ""]).encode()
        try:
            head = await self._exchange(request)
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.open()
            head = await self._exchange(request)
        first, *rest = head.decode().split("\r\n")
        pairs = (line.partition(":") for line in rest if line)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    async def _exchange(self, request: bytes) -> bytes:
        self._writer.write(request)
        return await self._reader.readuntil(b"\r\n\r\n")

    async def body(self, headers: dict[str, str]) -> bytes:
        return await self._reader.readexactly(int(headers.get("content-length", 0)))

    async def event(self) -> None:
        """Wait for the next event of a stream that was asked for."""
        while not (await self._reader.readline()).startswith(b"data:"):
            pass

    def close(self) -> None:
        self._writer.close()


@dataclass
class _Page:
    """Does what a page does, with a connection for each part as a browser opens them."""

    port: int
    fleet_id: int
    events: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    _etags: dict[str, str] = field(default_factory=dict)

    async def live(self) -> None:
        """Ask again at every event, until it is cancelled."""
        stream = _Connection(self.port)
        parts = {path: _Connection(self.port) for path in _PATHS}
        for connection in (stream, *parts.values()):
            await connection.open()
        try:
            await stream.ask("/api/changes", {})
            while True:
                await stream.event()
                self.events += 1
                await asyncio.gather(*(self._refresh(*part) for part in parts.items()))
        finally:
            for connection in (stream, *parts.values()):
                connection.close()

    async def _refresh(self, path: str, connection: _Connection) -> None:
        headers = {"X-Fleet-Id": str(self.fleet_id)}
        if path in self._etags:
            headers["If-None-Match"] = self._etags[path]
        status, found = await connection.ask(path, headers)
        if status != 304:
            await connection.body(found)
        if "etag" in found:
            self._etags[path] = found["etag"]
        self.statuses[status] += 1


def idle_pages(pages: int, seconds: float) -> Cost:
    """Serve so many pages of one fleet of five with a live loop for so long."""
    with new_stage() as here:
        kinds = [KINDS["plain"]]
        crowd = gather(here.cafleet, here.registry, here.server, here.recorders, kinds, 3)
        _fill(here.registry, crowd)
        wait_for_owner(here.registry)
        with serving(here.cafleet) as server:
            watched = [_Page(server.port, crowd.fleet_id) for _ in range(pages)]
            return asyncio.run(_watch(watched, server, seconds))


async def _watch(pages: list[_Page], server: WebServer, seconds: float) -> Cost:
    tasks = [asyncio.create_task(page.live()) for page in pages]
    await asyncio.sleep(_SETTLING_SECONDS)
    for page in pages:
        page.events = 0
        page.statuses.clear()
    before, began = server.cpu_seconds(), time.monotonic()
    ended, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in ended:
        task.result()
    used, passed = server.cpu_seconds() - before, time.monotonic() - began
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    statuses = sum((page.statuses for page in pages), Counter[int]())
    return Cost(used / passed, sum(page.events for page in pages), statuses)


def _fill(registry: Registry, crowd: Crowd) -> None:
    """A timeline as long as the page asks for, with nothing left to do."""
    sender, recipient = crowd.agents[0].member_id, crowd.agents[1].member_id
    with closing(registry.connect()) as conn:
        conn.execute("BEGIN IMMEDIATE")
        for number in range(_MESSAGES):
            conn.execute(_INSERT, (recipient, sender, recipient, f"{number}: {_TEXT}"))
        conn.execute("COMMIT")


_INSERT = """
INSERT INTO messages (owner_member_id, from_member_id, to_member_id, type, created_at, status_state,
    status_timestamp, text, delivery_state)
VALUES (?, ?, ?, 'unicast', '2026-05-05T05:42:11.123456+00:00', 'completed',
    '2026-05-05T05:42:11.123456+00:00', ?, 'submitted')
"""


def measure(seconds: float) -> Iterator[Result]:
    """The budget of the pages."""
    found = idle_pages(50, seconds)
    yield Result(
        what="50 open pages of a fleet where nothing happens: of one CPU",
        value=found.cpu * 100,
        limit=5.0,
        unit="%",
        detail=f"{found.statuses.total() / seconds:.0f} requests/s",
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.open_pages")
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    wanted = parser.parse_args()
    found = idle_pages(wanted.pages, wanted.seconds)
    print(f"{found.cpu:.2%} of one CPU, {found.events} events, answers {dict(found.statuses)}")


if __name__ == "__main__":
    main()
