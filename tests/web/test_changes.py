"""The stream of changes: what it tells and how soon, what it costs, and how it ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for
from tests.harness.web import Stream, WebServer, serving
from tests.web.conftest import OwnServer


def test_every_stream_is_told_of_a_commit(web: WebServer, registry: Registry) -> None:
    _, _, ann, bob = registry.crew("ann", "bob")
    time.sleep(0.6)
    streams = [Stream(web) for _ in range(3)]
    first = {stream.next() for stream in streams}
    assert len(first) == 1
    registry.message(ann, bob)
    assert {stream.next() for stream in streams} == {first.pop() + 1}
    sent = web.post("/api/messages/send", {"from_member_id": ann, "to_member_id": bob, "text": "x"})
    assert sent.status == 200
    counts = {stream.next() for stream in streams}
    assert len(counts) == 1
    for stream in streams:
        stream.close()


def test_a_database_that_takes_the_place_of_another_is_a_change(
    own: OwnServer, database_at_head: Path
) -> None:
    path = own.registry.path
    stream = Stream(own.web)
    count = stream.next()
    path.unlink()
    assert stream.next() == count + 1
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    shutil.copyfile(database_at_head, path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)
    assert stream.next() == count + 2
    own.registry.crew("ann")
    assert stream.next() > count + 2
    stream.close()


def test_streams_end_with_the_server_at_once(program: Program, registry: Registry) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with serving(program) as server:
            streams = [Stream(server) for _ in range(5)]
            for stream in streams:
                stream.next()
            # Streams that had to be cut off after the grace of a second would be complained of.
            assert server.stop(number) == (0, "")
            for stream in streams:
                assert stream.response.read() == b""
                stream.close()


def test_a_stream_that_is_closed_leaves_nothing_open(program: Program, registry: Registry) -> None:
    with serving(program) as server:
        descriptors = Path(f"/proc/{server.process.pid}/fd")
        with closing(Stream(server)) as stream:
            stream.next()
            before = len(list(descriptors.iterdir()))
        streams = [Stream(server) for _ in range(20)]
        assert len(list(descriptors.iterdir())) >= before + 19
        for stream in streams:
            stream.close()
        wait_for(lambda: len(list(descriptors.iterdir())) < before, "the sockets are closed")
        assert server.get("/api/fleets").ok() == []


def test_fifty_streams_cost_next_to_nothing(program: Program, registry: Registry) -> None:
    """Under 5 % of one CPU; processor time does not depend on what else the machine does."""
    with serving(program) as server:
        streams = [Stream(server) for _ in range(50)]
        for stream in streams:
            stream.next()
        before, began = server.cpu_seconds(), time.monotonic()
        time.sleep(5)
        used = server.cpu_seconds() - before
        assert used / (time.monotonic() - began) < 0.05
        for stream in streams:
            stream.close()


def test_a_client_that_never_ends_its_request_keeps_nobody_from_stopping(
    program: Program, registry: Registry
) -> None:
    with (
        serving(program) as server,
        socket.create_connection(("127.0.0.1", server.port)) as slow,
    ):
        slow.sendall(
            b"POST /api/messages/send HTTP/1.1\r\nHost: localhost\r\nX-Fleet-Id: 1\r\n"
            b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        assert server.get("/api/fleets").ok() == []
        assert server.stop()[0] == 0


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\x02\x00", b"GARBAGE\r\n\r\n", b"GET /\r\n\r\n"])
def test_what_is_no_http_is_refused(web: WebServer, garbage: bytes) -> None:
    assert web.send_raw(garbage).startswith((b"HTTP/1.1 400 ", b""))
    assert web.ask("GET", "/api/fleets").status == 200
