"""Who is answered, what a browser may do with it, and what no path leads to."""

from __future__ import annotations

import json
import socket

import pytest

from tests.harness.program import Program
from tests.harness.registry import Registry
from tests.harness.web import Reply, WebServer, serving

FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "localhost@evil.example",
    "evil.example#localhost",
    "0.0.0.0",
    "127.0.0.2",
    "10.0.0.1:{port}",
    "[::2]",
    "[::1",
    "::1",
    "local host",
    "localhost:port",
    "localhost:1:2",
    "http://localhost",
    "",
]
OWN_HOSTS = ["127.0.0.1", "127.0.0.1:{port}", "localhost:{port}", "LocalHost:9", "[::1]:{port}"]


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_another_host_name_gets_nothing(web: WebServer, registry: Registry, host: str) -> None:
    registry.crew("ann")
    headers = {"Host": host.format(port=web.port)}
    for method, path in [
        ("GET", "/api/fleets"),
        ("GET", "/api/changes"),
        ("GET", "/"),
        ("GET", "/api/nothing"),
        ("POST", "/api/monitor/wake"),
    ]:
        assert "host" in web.ask(method, path, fleet=1, headers=headers).detail(400)


def test_a_request_without_a_host_gets_nothing(web: WebServer) -> None:
    for version in (b"1.0", b"1.1"):
        answer = web.send_raw(b"GET /api/fleets HTTP/" + version + b"\r\nConnection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"fleet_id" not in answer
    twice = b"GET /api/fleets HTTP/1.0\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
    assert web.send_raw(twice).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("host", OWN_HOSTS)
def test_its_own_host_names_are_answered(web: WebServer, registry: Registry, host: str) -> None:
    assert web.ask("GET", "/api/fleets", headers={"Host": host.format(port=web.port)}).ok() == []


FOREIGN_ORIGINS = [
    "http://evil.example",
    "null",
    "",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "http://localhost:{port}",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1:{port}.evil.example",
    "http://127.0.0.1:{port}/",
    "file://",
]


FOREIGN_SITES = ["cross-site", "same-site", "Same-Origin", "none, same-origin", "x", ""]


@pytest.mark.parametrize(
    "foreign",
    [
        *({"Origin": origin} for origin in FOREIGN_ORIGINS),
        *({"Sec-Fetch-Site": site} for site in FOREIGN_SITES),
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:{port}"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
    ],
)
def test_a_page_of_another_origin_changes_nothing(
    web: WebServer, registry: Registry, foreign: dict[str, str]
) -> None:
    _, _, ann = registry.crew("ann")
    registry.rows("INSERT INTO monitor_runtime (fleet_id) VALUES (1)")
    before = registry.dump()
    headers = {name: value.format(port=web.port) for name, value in foreign.items()}
    headers["Content-Type"] = "application/json"
    message = json.dumps({"from_member_id": ann, "to_member_id": ann, "text": "hi"}).encode()
    for method, path, body in [
        ("POST", "/api/messages/send", message),
        ("PATCH", "/api/monitor", b'{"wake_interval_seconds":1}'),
        ("POST", "/api/monitor/wake", b""),
    ]:
        reply = web.ask(method, path, fleet=1, body=body, headers=headers)
        assert "origin" in reply.detail(403)
    assert registry.dump() == before
    assert web.ask("GET", "/api/fleets", headers=headers).ok()


def test_a_page_of_its_own_sends(web: WebServer, registry: Registry) -> None:
    _, _, ann = registry.crew("ann")
    message = json.dumps({"from_member_id": ann, "to_member_id": ann, "text": "hi"}).encode()
    for host in (f"127.0.0.1:{web.port}", f"localhost:{web.port}", "localhost:9"):
        headers = {"Host": host, "Origin": f"http://{host}", "Content-Type": "application/json"}
        for site in ({}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
            web.ask(
                "POST", "/api/messages/send", fleet=1, body=message, headers=headers | site
            ).ok()


def test_every_response_carries_the_policy(web: WebServer, registry: Registry) -> None:
    registry.crew("ann")
    registry.rows("UPDATE fleets SET director_member_id = 'x'")
    replies = [
        web.ask("GET", "/"),
        web.ask("GET", "/nowhere"),
        web.ask("POST", "/"),
        web.ask("HEAD", "/api/changes"),
        web.get("/api/members"),
        web.get("/api/members", fleet=None),
        web.get("/api/nothing"),
        web.ask("GET", "/api/fleets", headers={"Host": "evil.example"}),
        web.ask("POST", "/api/monitor/wake", headers={"Origin": "null"}),
    ]
    assert {reply.status for reply in replies} >= {400, 403, 404, 405, 500}
    for reply in replies:
        _check_policy(reply)


def _check_policy(reply: Reply) -> None:
    policy = dict(
        directive.strip().split(" ", 1)
        for directive in reply.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] in {"no-store", "no-cache"}
    assert "server" not in reply.headers
    assert "access-control-allow-origin" not in reply.headers


ESCAPES = [
    "/../../../../../../etc/passwd",
    "/static/../../../../../../etc/passwd",
    "/static/..%2f..%2f..%2f..%2f..%2f..%2fetc/passwd",
    "/static/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/static/..%5c..%5cetc%5cpasswd",
    "/static//etc/passwd",
    "//etc/passwd",
    "/static/%00",
    "/static/../server.py",
    "/static/%2e%2e/app.py",
    "/static/__init__.py",
    "/cafleet/web/app.py",
    "/static/index.html%00.js",
    "/etc/passwd",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_leads_to_a_file_that_is_not_shipped(web: WebServer, path: str) -> None:
    reply, page = web.ask("GET", path), web.ask("GET", "/")
    assert (reply.status, reply.body) == (page.status, page.body)
    assert b"root:" not in reply.body
    assert b"import" not in reply.body.split(b"<body", 1)[0]


def test_a_request_in_absolute_form_is_judged_by_its_host(web: WebServer) -> None:
    answer = web.send_raw(
        b"GET http://evil.example/api/fleets HTTP/1.1\r\nHost: evil.example\r\n"
        b"Connection: close\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_the_host_that_it_was_bound_to_is_its_own(program: Program, registry: Registry) -> None:
    with serving(program, "--host", "127.0.0.9") as server:
        with socket.create_connection(("127.0.0.9", server.port), timeout=20) as connection:
            connection.sendall(
                b"GET /api/fleets HTTP/1.0\r\nHost: 127.0.0.9:%d\r\n\r\n" % server.port
            )
            assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
        assert server.stop() == (0, "")


def test_on_every_address_it_answers_to_the_one_it_is_reached_by(
    program: Program, registry: Registry
) -> None:
    with serving(program, "--host", "0.0.0.0") as server:
        for own, status in [(b"127.0.0.3", b"200"), (b"127.0.0.4", b"400"), (b"0.0.0.0", b"200")]:
            with socket.create_connection(("127.0.0.3", server.port), timeout=20) as connection:
                connection.sendall(b"GET /api/fleets HTTP/1.0\r\nHost: " + own + b"\r\n\r\n")
                assert connection.recv(100).startswith(b"HTTP/1.1 " + status)


EXPOSED = ["0.0.0.0", "::", "0", "::ffff:0.0.0.0"]


@pytest.mark.parametrize("host", EXPOSED)
@pytest.mark.parametrize("way", ["option", "variable"])
def test_who_can_be_reached_by_other_machines_says_so(
    program: Program, registry: Registry, host: str, way: str
) -> None:
    options = ["--host", host] if way == "option" else []
    env = {"CAFLEET_BROKER_HOST": host} if way == "variable" else {}
    with serving(program, *options, env=env) as server:
        page = server.ask("GET", "/").body
        assert b"<aside" in page
        assert b'id="exposed" hidden' not in page
        code, stderr = server.stop()
    assert code == 0
    assert stderr.startswith("Warning: ")
    assert f"listens on {host}," in stderr
    assert stderr.count("\n") == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_who_cannot_does_not(program: Program, registry: Registry, host: str) -> None:
    with serving(program, "--host", host) as server:
        if host in {"127.0.0.1", "localhost"}:
            assert b'id="exposed" hidden' in server.ask("GET", "/").body
        assert server.stop() == (0, "")
