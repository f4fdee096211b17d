"""The header that names the fleet, and the order in which faults are told."""

from __future__ import annotations

import pytest

from tests.harness.registry import THEN, Registry
from tests.harness.web import WebServer

READS = [
    "/api/members",
    "/api/monitor",
    "/api/timeline",
    "/api/members/3/inbox",
    "/api/members/3/sent",
    "/api/messages/1/why",
]
WRITES = [("PATCH", "/api/monitor"), ("POST", "/api/messages/send")]
NOT_INTEGERS = ["x", "1.0", "+1", "1_0", "0x1", "01", "1 2", "1,1", "--1", "-", "1e0", "²", "true"]


@pytest.mark.parametrize("value", [None, "", "   ", "\t", *NOT_INTEGERS])
def test_without_an_integer_every_request_is_bad(
    web: WebServer, registry: Registry, value: str | None
) -> None:
    registry.crew("ann")
    for path in READS:
        assert "X-Fleet-Id" in web.get(path, fleet=value).detail(400)
    for method, path in WRITES:
        # Told before anything that is wrong with the body.
        assert "X-Fleet-Id" in web.ask(method, path, fleet=value, body=b"{").detail(400)
    assert "X-Fleet-Id" in web.ask("POST", "/api/monitor/wake", fleet=value).detail(400)


def test_two_of_them_are_bad(web: WebServer, registry: Registry) -> None:
    registry.crew("ann")
    answer = web.send_raw(
        b"GET /api/members HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"X-Fleet-Id: 1\r\nX-Fleet-Id: 1\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_blanks_around_a_header_are_no_part_of_it(web: WebServer, registry: Registry) -> None:
    """RFC 9110, section 5.5: the server has taken them off before anybody reads the value."""
    registry.crew("ann")
    assert web.get("/api/members", fleet="  1 ").ok()


@pytest.mark.parametrize("value", ["99", "0", "-1", "-0", str(2**63), "9" * 5000, "2"])
def test_no_such_fleet(web: WebServer, registry: Registry, value: str) -> None:
    registry.crew("ann")
    registry.fleet(deleted_at=THEN)
    for path in READS:
        assert web.get(f"{path}?limit=bad", fleet=value).detail(404) == "Fleet not found"
    for method, path in WRITES:
        web.send_json(method, path, b"{", fleet=value).detail(422)
    body = {"from_member_id": 99, "to_member_id": 99, "text": "hi"}
    assert web.post("/api/messages/send", body, fleet=value).detail(404) == "Fleet not found"
    wake = web.ask("POST", "/api/monitor/wake", fleet=value, body=b"{")
    assert wake.detail(404) == "Fleet not found"
    interval = web.send_json("PATCH", "/api/monitor", {"wake_interval_seconds": 5}, fleet=value)
    assert interval.detail(404) == "Fleet not found"


def test_paths_and_methods_come_before_the_header(web: WebServer) -> None:
    for path in ("/api", "/api/", "/api/x", "/api/fleets/", "/api/members/1", "/api/docs"):
        for method in ("GET", "POST", "DELETE"):
            web.ask(method, path).detail(404)
    for path in ("/docs", "/openapi.json", "/redoc"):
        assert b"openapi" not in web.ask("GET", path).body.lower()
    for method, path, allowed in [
        ("POST", "/api/members", {"GET", "HEAD"}),
        ("DELETE", "/api/monitor", {"GET", "HEAD", "PATCH"}),
        ("GET", "/api/messages/send", {"POST"}),
        ("HEAD", "/api/messages/send", {"POST"}),
        ("GET", "/api/monitor/wake", {"POST"}),
        ("OPTIONS", "/api/fleets", {"GET", "HEAD"}),
        ("BREW", "/api/timeline", {"GET", "HEAD"}),
        ("POST", "/api/changes", {"GET", "HEAD"}),
        ("POST", "/", {"GET", "HEAD"}),
        ("PUT", "/fleets/1", {"GET", "HEAD"}),
    ]:
        reply = web.ask(method, path)
        assert set(reply.headers["allow"].split(", ")) == allowed
        if method != "HEAD":
            reply.detail(405)
