"""Clients that are half open, slow or greedy: each is ended in time, and all others are answered."""

from __future__ import annotations

import json
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.waiting import wait_for
from tests.harness.web import Stream, WebServer, serving

SECONDS = 0.4
LIMITS = {"request_seconds": SECONDS, "rest_seconds": 1, "linger_seconds": 0.3}
HOST = b"Host: localhost\r\n"
READ = b"GET /api/fleets HTTP/1.1\r\n" + HOST
SEND = (
    b"POST /api/messages/send HTTP/1.1\r\n"
    + HOST
    + b"X-Fleet-Id: 1\r\nContent-Type: application/json\r\n"
)
WAKE = b"POST /api/monitor/wake HTTP/1.1\r\n" + HOST + b"X-Fleet-Id: 1\r\n"


@pytest.fixture(scope="module")
def strict(program: Program) -> Iterator[WebServer]:
    """A server whose limits are short."""
    with serving(program, limits=LIMITS) as server:
        yield server
        assert server.stop() == (0, "")


def connected(server: WebServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=20)


def to_the_end(connection: socket.socket) -> bytes:
    """Everything that comes until the server ends the connection, by a reset perhaps."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


def send_on(connection: socket.socket, piece: bytes, *, pieces: int, seconds: float = 0) -> int:
    """How many pieces of a body the server takes before it ends the connection."""
    for number in range(pieces):
        try:
            connection.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            return number
        time.sleep(seconds)
    return pieces


HALF_OPEN = [
    b"",
    b"G",
    READ,
    READ + b"X-A: b",
    READ + b"Content-Length: 5\r\n\r\n",
    b"\r\n\r\n",
    SEND + b"Content-Length: 100\r\n\r\n",
    SEND + b"Content-Length: 100\r\n\r\n{",
    SEND + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    SEND + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n",
    SEND + b"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n",
    WAKE + b"Content-Length: 7\r\n\r\n",
    WAKE + b"Transfer-Encoding: chunked\r\n\r\n",
    b"GET /api/changes HTTP/1.1\r\n" + HOST + b"Content-Length: 7\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 7\r\n\r\n",
    READ + b"\r\n" + READ,
    READ + b"\r\n",
]


def test_what_never_ends_is_ended(strict: WebServer, registry: Registry) -> None:
    """Each kind twice, all at once; none is an error of the server's."""
    registry.crew("ann")
    with ExitStack() as stack:
        opened = [
            (sent, stack.enter_context(connected(strict))) for sent in HALF_OPEN for _ in range(2)
        ]
        for sent, connection in opened:
            connection.sendall(sent)
        assert strict.get("/api/fleets").ok()
        began = time.monotonic()
        for sent, connection in opened:
            answer = to_the_end(connection)
            assert b"HTTP/1.1 500" not in answer, sent
            if (
                sent.startswith((b"POST", b"G"))
                and sent != READ + b"\r\n"
                and b"/changes" not in sent
            ):
                statuses = (b"408 ", b"400 ", b"200 ") if b"GET" in sent else (b"408 ",)
                last = answer[answer.rindex(b"HTTP/1.1 ") :]
                assert last.startswith(tuple(b"HTTP/1.1 " + each for each in statuses)), sent
        assert time.monotonic() - began < 10
    assert registry.rows("SELECT count(*) FROM messages") == [(0,)]


@pytest.mark.parametrize("sent", [READ + b"X-A: ", SEND + b"Content-Length: 999999\r\n\r\n"])
def test_a_trickle_is_not_progress(strict: WebServer, registry: Registry, sent: bytes) -> None:
    registry.crew("ann")
    with connected(strict) as connection:
        connection.sendall(sent)
        assert send_on(connection, b"x", pieces=500, seconds=0.02) < 250
    assert strict.get("/api/fleets").ok()


def test_a_connection_at_rest_is_kept_and_then_closed(
    strict: WebServer, registry: Registry
) -> None:
    with connected(strict) as connection:
        for _ in range(2):
            connection.sendall(READ + b"\r\n")
            answer = connection.recv(65536)
            while not answer.endswith(b"[]"):
                answer += connection.recv(65536)
            time.sleep(SECONDS * 1.5)
        assert to_the_end(connection) == b""


def test_pipelined_requests_are_all_answered_in_order(web: WebServer, registry: Registry) -> None:
    with connected(web) as connection:
        connection.sendall(
            (READ + b"\r\n" + WAKE + b"\r\n") * 50 + READ + b"Connection: close\r\n\r\n"
        )
        answer = to_the_end(connection)
    statuses = [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"404"] * 50 + [b"200"]


def large_fleet(registry: Registry) -> int:
    """A fleet with a large timeline, and how many bytes its messages have."""
    _, _, ann, bob = registry.crew("ann", "bob")
    for _ in range(10):
        registry.message(ann, bob, "x" * 2**20)
    return 10 * 2**20


def slow_read(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    connection.sendall(
        b"GET /api/timeline HTTP/1.1\r\n" + HOST + b"X-Fleet-Id: 1\r\nConnection: close\r\n\r\n"
    )


def test_who_does_not_read_a_large_answer_is_cut_off(strict: WebServer, registry: Registry) -> None:
    size = large_fleet(registry)
    with connected(strict) as connection:
        slow_read(connection)
        connection.recv(1)
        wait_for(lambda: connections(strict) == 0, "the server has ended it")
        assert len(to_the_end(connection)) < size


def test_who_reads_a_large_answer_slowly_gets_all_of_it(
    strict: WebServer, registry: Registry
) -> None:
    size = large_fleet(registry)
    with connected(strict) as connection:
        slow_read(connection)
        began = time.monotonic()
        found = 0
        while part := connection.recv(2**18):
            found += len(part)
            time.sleep(0.005)
        assert found > size
        assert time.monotonic() - began > SECONDS


def connections(server: WebServer) -> int:
    """How many connections the server has open, as the system counts them."""
    wanted = f":{server.port:04X}"
    with open("/proc/net/tcp") as table:
        lines = [line.split() for line in table][1:]
    return sum(
        1
        for line in lines
        if line[1].endswith(wanted) and line[3] not in {"0A", "06"} and line[9] != "0"
    )


BIG = 80 * 2**20


@pytest.mark.parametrize(
    "head",
    [
        SEND + b"Content-Length: %d\r\n\r\n" % BIG,
        SEND + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % BIG,
        WAKE + b"Content-Length: %d\r\n\r\n" % BIG,
        b"PUT /api/fleets HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % BIG,
        b"POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: %d\r\n\r\n" % BIG,
        READ + b"Content-Length: %d\r\n\r\n" % BIG,
    ],
)
def test_a_body_that_nobody_wants_is_not_read_to_its_end(
    web: WebServer, registry: Registry, head: bytes
) -> None:
    registry.crew("ann")
    with connected(web) as connection:
        connection.sendall(head)
        piece = b"x" * 2**16
        assert send_on(connection, piece, pieces=BIG // len(piece)) * len(piece) < 40 * 2**20


def test_a_refusal_is_read_before_the_connection_closes(web: WebServer, registry: Registry) -> None:
    registry.crew("ann")
    with connected(web) as connection:
        connection.sendall(SEND + b"Content-Length: 1500000\r\n\r\n" + b"x" * 500_000)
        answer = to_the_end(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close\r\n" in answer.lower()


NOT_HTTP = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/9\r\n\r\n",
    b"GET /api/fleets\r\n\r\n",
    b"GET  / HTTP/1.1\r\n\r\n",
    b"G\x00T / HTTP/1.1\r\n\r\n",
    READ + b"X A: b\r\n\r\n",
    READ + b"X-A : b\r\n\r\n",
    READ + b"X-A: \x00\r\n\r\n",
    READ + b"X-A: " + b"x" * 100_000,
    READ + b"X-A: b\r\n" * 20_000 + b"\r\n",
    SEND + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    SEND + b"Content-Length: 1, 2\r\n\r\nxx",
    SEND + b"Content-Length: -1\r\n\r\n",
    SEND + b"Content-Length: +1\r\n\r\nx",
    SEND + b"Content-Length: 0x1\r\n\r\nx",
    SEND + b"Content-Length: " + b"9" * 21 + b"\r\n\r\n",
    SEND + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    SEND + b"Transfer-Encoding: identity\r\n\r\n",
    SEND + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    SEND + b"Transfer-Encoding: xchunked\r\n\r\n",
    SEND + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    SEND + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
    SEND + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    SEND.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\n .evil.example\r\n\r\n",
]


@pytest.mark.parametrize("sent", NOT_HTTP, ids=lambda sent: repr(sent[:60] + sent[-60:])[2:-1])
def test_what_is_not_http_or_could_be_read_in_two_ways_is_bad(
    web: WebServer, registry: Registry, sent: bytes
) -> None:
    registry.crew("ann")
    with connected(web) as connection:
        connection.sendall(sent)
        answer = to_the_end(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    status = b"505 " if b"HTTP/2" in sent else b"400 "
    assert head.startswith(b"HTTP/1.1 " + status), answer
    assert b"x-content-type-options: nosniff" in head.lower()
    assert list(json.loads(body)) == ["detail"]
    assert answer.count(b"HTTP/1.1 ") == 1


def test_garbage_in_the_middle_of_a_body_or_of_an_answer_is_no_fault(
    strict: WebServer, registry: Registry
) -> None:
    registry.crew("ann")
    stream = b"GET /api/changes HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    for head in (SEND + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", stream):
        with connected(strict) as connection:
            connection.sendall(head)
            if head is stream:
                connection.recv(10)
            else:
                strict.get("/api/fleets").ok()
            connection.sendall(b"no chunk\r\n\r\n")
            to_the_end(connection)
    assert strict.get("/api/fleets").ok()


TARGETS: list[tuple[bytes, bytes]] = [
    (b"http://localhost/api/fleets", b"200"),
    (b"HTTP://127.0.0.1:1/api/fleets?x", b"200"),
    (b"http://[::1]/api/members", b"200"),
    (b"http://localhost", b"200"),
    (b"http://evil.example/api/fleets", b"400"),
    (b"http://localhost@evil.example/api/fleets", b"400"),
    (b"https://localhost/api/fleets", b"400"),
    (b"ftp://localhost/", b"400"),
    (b"http:///api/fleets", b"400"),
    (b"localhost:80", b"400"),
    (b"*", b"400"),
    (b"api/fleets", b"400"),
]


@pytest.mark.parametrize(("target", "status"), TARGETS)
def test_the_target_is_a_path_or_an_address_of_the_server(
    web: WebServer, registry: Registry, target: bytes, status: bytes
) -> None:
    registry.crew("ann")
    rest = b" HTTP/1.1\r\n" + HOST + b"X-Fleet-Id: 1\r\nConnection: close\r\n\r\n"
    with connected(web) as connection:
        connection.sendall(b"GET " + target + rest)
        answer = to_the_end(connection)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert (b"application/json" in answer) == (b"/api/" in target or status == b"400")
    for method in (b"CONNECT", b"OPTIONS", b"TRACE"):
        with connected(web) as connection:
            connection.sendall(method + b" " + target + rest)
            assert not to_the_end(connection).startswith(b"HTTP/1.1 2")


@contextmanager
def many(server: WebServer, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(connected(server))) for _ in range(count)]
        for connection in opened:
            connection.sendall(sent)
        yield opened


@pytest.mark.parametrize("sent", [b"", READ, READ + b"\r\n", SEND + b"Content-Length: 9\r\n\r\n"])
def test_a_thousand_connections_keep_nobody_out(
    program: Program, registry: Registry, sent: bytes
) -> None:
    registry.crew("ann")
    limits = {
        "connections": 50,
        "request_seconds": 60,
        "rest_seconds": 60,
        "spared_seconds": 0.05,
    }
    with serving(program, limits=limits) as server, many(server, 1000, sent):
        assert server.get("/api/fleets").ok()
        wait_for(lambda: connections(server) <= 51, "the others are closed")
        assert server.stop() == (0, "")


def test_streams_leave_room_for_others(program: Program, registry: Registry) -> None:
    registry.crew("ann")
    with serving(program, "--connections", "9") as server:
        streams = [Stream(server) for _ in range(5)]
        assert "streams" in server.ask("GET", "/api/changes").detail(503)
        assert server.get("/api/fleets").ok()
        streams.pop().close()
        again = wait_for(lambda: _stream(server), "a stream is free again")
        for stream in [*streams, again]:
            stream.close()
        assert server.stop() == (0, "")


def _stream(server: WebServer) -> Stream | None:
    try:
        return Stream(server)
    except AssertionError:
        return None


def limit_descriptors(server: WebServer, count: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (count, hard))


def test_connections_leave_descriptors_for_the_database(
    program: Program, registry: Registry
) -> None:
    registry.crew("ann")
    with serving(program, limits={"spared_seconds": 0.05}) as server:
        limit_descriptors(server, 40)
        with many(server, 100, READ + b"X-A: b"):
            assert server.get("/api/fleets").ok()
            assert connections(server) <= 20
        assert server.stop() == (0, "")


def test_out_of_file_descriptors_it_waits_and_says_so_once(
    program: Program, registry: Registry
) -> None:
    registry.crew("ann")
    with serving(program) as server:
        stream = Stream(server)
        count = stream.next()
        limit_descriptors(server, 9)
        with many(server, 20, READ + b"\r\n"):
            before = server.cpu_seconds()
            time.sleep(2.2)
            assert server.cpu_seconds() - before < 0.5
            limit_descriptors(server, 1024)
            assert server.get("/api/fleets").ok()
        registry.crew("bob")
        assert stream.next() > count
        stream.close()
        code, stderr = server.stop()
    assert code == 0
    lines = stderr.splitlines()
    assert len(lines) == 1, lines
    assert "Too many open files" in lines[0]


@pytest.mark.slow
def test_the_limits_of_the_installed_program(program: Program, registry: Registry) -> None:
    """Ten seconds, and 256 connections."""
    registry.crew("ann")
    with serving(program) as server:
        began = time.monotonic()
        with many(server, 400, READ + b"X-A: b") as opened:
            assert server.get("/api/fleets").ok()
            # One more is there while it takes the place of another.
            wait_for(lambda: connections(server) <= 257, "no more are open than are allowed")
            answers = [to_the_end(each) for each in opened]
        assert 9 < time.monotonic() - began < 30
        assert any(answer.startswith(b"HTTP/1.1 408 ") for answer in answers)
        assert server.stop() == (0, "")
