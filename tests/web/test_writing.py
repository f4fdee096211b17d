"""What can be changed: messages are sent, the monitor is asked; and what bodies are refused."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

import pytest

from tests.harness.registry import Registry
from tests.harness.web import WebServer
from tests.web.conftest import OwnServer

SEND = "/api/messages/send"


def message(sender: Any, recipient: Any, text: Any = "hi") -> dict[str, Any]:
    return {"from_member_id": sender, "to_member_id": recipient, "text": text}


@pytest.fixture
def crowd(registry: Registry) -> Registry:
    """Fleet 1 of Director 1, monitor 2, ann 3, bob 4 and the deregistered cid 5; fleet 2 of 6, 7
    and eve 8."""
    *_, cid = registry.crew("ann", "bob", "cid")
    registry.crew("eve")
    registry.rows("UPDATE members SET status = 'deregistered' WHERE member_id = ?", cid)
    return registry


def test_a_message_is_stored_as_it_is_given(web: WebServer, crowd: Registry) -> None:
    text = " <b>\x00\x1b[0m\u202e ünï 💥\r\n" + "x" * 10_000
    assert web.post(SEND, message(3, 4, text)).ok() == {
        "message_id": 1,
        "status": "input_required",
    }
    [stored] = crowd.rows("SELECT owner_member_id, from_member_id, type, text FROM messages")
    assert stored == (4, 3, "unicast", text)
    assert web.get("/api/members/4/inbox").ok()["messages"][0]["body"] == text


def test_a_broadcast_answers_with_its_summary(web: WebServer, crowd: Registry) -> None:
    reply = web.post(SEND, message(3, "*"))
    assert reply.ok() == {"message_id": 1, "status": "completed"}
    assert reply.body == b'{"message_id":1,"status":"completed"}'
    assert crowd.rows("SELECT owner_member_id, type FROM messages ORDER BY message_id") == [
        (3, "broadcast_summary"),
        (1, "unicast"),
        (2, "unicast"),
        (4, "unicast"),
    ]
    assert len(web.get("/api/timeline").ok()["messages"]) == 3


@pytest.mark.parametrize(
    ("sender", "recipient", "status", "who"),
    [
        (5, 4, 400, "sender"),
        (8, 4, 400, "sender"),
        (99, 4, 400, "sender"),
        (0, "*", 400, "sender"),
        (-(2**63), 4, 400, "sender"),
        (8, 8, 400, "sender"),
        (3, 5, 404, "recipient"),
        (3, 8, 404, "recipient"),
        (3, 99, 404, "recipient"),
        (3, -1, 404, "recipient"),
        (3, 2**63 - 1, 404, "recipient"),
    ],
)
def test_both_ends_must_be_active_members_of_the_fleet(
    web: WebServer, crowd: Registry, sender: int, recipient: int | str, status: int, who: str
) -> None:
    before = crowd.dump()
    assert who in web.post(SEND, message(sender, recipient)).detail(status)
    assert crowd.dump() == before


BAD_BODIES: list[Any] = [
    b"",
    b"{",
    b"\xff\xfe",
    b"not json",
    b'{"from_member_id":3,"to_member_id":4,"text":"hi"} {}',
    b'{"from_member_id":3,"to_member_id":4,"text":"\xff"}',
    b'{"from_member_id":3,"to_member_id":4,"text":"\\ud800"}',
    b"[" * 100_000,
    b'{"a":' * 100_000,
    None,
    [],
    "text",
    {},
    {"from_member_id": 3, "to_member_id": 4},
    {"to_member_id": 4, "text": "hi"},
    message(3, 4) | {"urgent": True},
    *(message(bad, 4) for bad in ("3", 3.0, True, None, [3], 2**63, 10**400, "*", -(2**63) - 1)),
    *(message(3, bad) for bad in ("4", 4.0, True, None, [4], 2**63, "**", "", " * ")),
    *(message(3, 4, bad) for bad in (None, 5, ["hi"], "", " ", "\n\t", "\u200b\ufeff", "\u3000")),
]


def test_a_bad_body_is_refused_before_anything_is_looked_up(
    web: WebServer, crowd: Registry
) -> None:
    before = crowd.dump()
    for body in BAD_BODIES:
        for fleet in (1, 99):
            web.post(SEND, body, fleet=fleet).detail(422)
    assert crowd.dump() == before


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"from_member_id":3,"to_member_id":4,"text":"\\ud800"}', "not Unicode"),
        (b'{"from_member_id":3,"to_member_id":4,"text":"\\udc00 hi"}', "not Unicode"),
        (b'{"from_member_id":3,"to_member_id":4,"text":"\\ud83dA"}', "not Unicode"),
        (b'{"from_member_id":3,"to_member_id":4,"text":"\\ud800', "not JSON"),
        (b'{"from_member_id":3,"to_member_id":NaN,"text":"hi"}', "not JSON"),
        (message(3, "5"), 'neither an integer nor "*"'),
        (message(3, "**"), 'neither an integer nor "*"'),
        (message(3, 4.0), "int"),
        (message("3", 4), "int"),
        (message(3, 4, " "), "blank"),
    ],
)
def test_a_refusal_names_what_is_wrong_with_a_body(
    web: WebServer, crowd: Registry, body: Any, words: str
) -> None:
    assert words in web.post(SEND, body).detail(422)


def test_a_body_is_at_most_a_mebibyte(web: WebServer, crowd: Registry) -> None:
    def sized(size: int) -> bytes:
        body = json.dumps(message(3, 4, "")).encode()
        return body[:-2] + b"x" * (size - len(body)) + b'"}'

    assert web.post(SEND, sized(2**20)).ok()["message_id"] == 1
    for size in (2**20 + 1, 5 * 2**20):
        assert "1048576" in web.post(SEND, sized(size)).detail(413)
    assert web.post(SEND, sized(2**21), fleet=99).status == 413


@pytest.mark.parametrize("size", [2**20 + 1, 10**19])
def test_a_body_that_is_announced_as_too_long_is_not_waited_for(web: WebServer, size: int) -> None:
    with socket.create_connection(("127.0.0.1", web.port), timeout=20) as connection:
        connection.sendall(head(web, "POST", SEND, size))
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")


def head(web: WebServer, method: str, path: str, size: int) -> bytes:
    """What comes before a body of so many bytes."""
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{web.port}",
        "X-Fleet-Id: 1",
        "Content-Type: application/json",
        f"Content-Length: {size}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize(("method", "path"), [("POST", SEND), ("PATCH", "/api/monitor")])
@pytest.mark.parametrize("sent", [b"", b'{"from_member_id":'])
def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_fault(
    own: OwnServer, method: str, path: str, sent: bytes
) -> None:
    before = own.registry.dump()
    for linger in (False, True):
        with socket.create_connection(("127.0.0.1", own.web.port), timeout=20) as connection:
            if linger:
                # A reset, as of a client that was killed.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(head(own.web, method, path, 100) + sent)
            # It has begun to read the body once it answers another.
            own.web.get("/api/members")
    own.web.get("/api/members")
    assert own.web.stop() == (0, "")
    assert own.registry.dump() == before


@pytest.mark.parametrize(
    "media_type", [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"]
)
def test_a_body_must_say_that_it_is_json(
    web: WebServer, crowd: Registry, media_type: str | None
) -> None:
    headers = {} if media_type is None else {"Content-Type": media_type}
    body = json.dumps(message(3, 4)).encode()
    web.ask("POST", SEND, fleet=1, body=body, headers=headers).detail(415)
    web.ask("PATCH", "/api/monitor", fleet=1, body=body, headers=headers).detail(415)


def test_the_charset_of_json_may_be_named(web: WebServer, crowd: Registry) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    body = json.dumps(message(3, 4)).encode()
    assert web.ask("POST", SEND, fleet=1, body=body, headers=headers).ok()["message_id"] == 1


@pytest.mark.parametrize("seconds", [0, 1, 600, 2**63 - 1])
def test_the_interval_is_set(web: WebServer, crowd: Registry, seconds: int) -> None:
    body = {"wake_interval_seconds": seconds}
    assert "never run" in web.send_json("PATCH", "/api/monitor", body).detail(404)
    crowd.rows("INSERT INTO monitor_runtime (fleet_id) VALUES (1)")
    assert web.send_json("PATCH", "/api/monitor", body).ok() == body
    assert crowd.rows("SELECT fleet_id, wake_interval_seconds FROM monitor_runtime") == [
        (1, seconds)
    ]
    assert web.get("/api/monitor").ok()["wake_interval_seconds"] == seconds


@pytest.mark.parametrize("bad", ["5", 1.0, 1e3, True, None, -1, 2**63, [5], {}])
def test_the_interval_is_a_json_integer(web: WebServer, crowd: Registry, bad: Any) -> None:
    crowd.rows("INSERT INTO monitor_runtime (fleet_id) VALUES (1)")
    before = crowd.rows("SELECT * FROM monitor_runtime")
    web.send_json("PATCH", "/api/monitor", {"wake_interval_seconds": bad}).detail(422)
    assert crowd.rows("SELECT * FROM monitor_runtime") == before


def test_a_monitor_that_does_not_run_is_not_woken(web: WebServer, crowd: Registry) -> None:
    assert "does not run" in web.ask("POST", "/api/monitor/wake", fleet=1).detail(404)
    crowd.rows(
        "INSERT INTO monitor_runtime (fleet_id, pid, last_tick_at) VALUES (1, 1, '2026-01-01')"
    )
    assert "does not run" in web.ask("POST", "/api/monitor/wake", fleet=1).detail(404)
    assert crowd.value("SELECT wake_requested_at FROM monitor_runtime") is None
