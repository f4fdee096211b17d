"""Requests of every kind: each is answered as the API promises, and none by a fault of the server."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness.registry import Registry
from tests.harness.web import WebServer

pytestmark = pytest.mark.slow

STATUSES = {200, 400, 404, 405, 413, 415, 422}

numbers = st.one_of(
    st.integers(-2, 8), st.integers(), st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**63), 2**64])
)
words = st.text(st.characters(codec="utf-8"), max_size=8)
parts = st.one_of(numbers.map(str), words)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.floats(), words, st.just("*")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=5,
)
bodies = st.one_of(
    st.binary(max_size=50),
    values.map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries(
        {},
        optional={
            "from_member_id": st.one_of(st.integers(1, 8), values),
            "to_member_id": st.one_of(st.integers(1, 8), st.just("*"), values),
            "text": st.one_of(words, values),
            "wake_interval_seconds": values,
        },
    ).map(lambda value: json.dumps(value).encode()),
)
paths = st.one_of(
    st.sampled_from(["/api/fleets", "/api/members", "/api/monitor", "/api/monitor/wake"]),
    st.sampled_from(["/api/timeline", "/api/messages/send", "/api", "/", "/static/main.js"]),
    st.builds("/api/members/{}/{}".format, parts.map(quote), st.sampled_from(["inbox", "sent"])),
    st.builds("/api/messages/{}/why".format, parts.map(quote)),
    st.builds("/api/{}".format, words.map(quote)),
    st.builds("/{}".format, words.map(quote)),
)
queries = st.dictionaries(st.sampled_from(["before", "limit", "other"]), parts, max_size=3).map(
    lambda found: "&".join(f"{name}={quote(value)}" for name, value in found.items())
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "X-Fleet-Id": st.one_of(st.just("1"), parts),
        "Content-Type": st.one_of(st.just("application/json"), words),
        "Origin": words,
        "Accept": words,
        "If-None-Match": words,
    },
).map(lambda found: {name: _header(value) for name, value in found.items()})
methods = st.sampled_from(["GET", "GET", "POST", "PATCH", "HEAD", "PUT", "DELETE", "OPTIONS"])


def _header(value: str) -> bytes:
    return "".join(each for each in value if each.isprintable()).encode()


@pytest.fixture
def crowd(registry: Registry) -> Registry:
    """Two fleets; in the first are two members with a message each."""
    _, _, ann, bob = registry.crew("ann", "bob")
    registry.crew("eve")
    registry.message(ann, bob)
    registry.message(bob, ann)
    registry.rows("INSERT INTO monitor_runtime (fleet_id) VALUES (1)")
    return registry


@given(method=methods, path=paths, query=queries, headers=headers, body=bodies)
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_every_request_is_answered(
    web: WebServer,
    crowd: Registry,
    method: str,
    path: str,
    query: str,
    headers: dict[str, bytes],
    body: bytes,
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=20)
    try:
        sent = {"X-Fleet-Id": b"1", "Content-Type": b"application/json"} | headers
        connection.request(method, f"{path}?{query}", body=body, headers=sent)
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    assert response.status in STATUSES | {304, 403}, (response.status, content)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    if method != "HEAD" and response.status not in {200, 304}:
        problem = json.loads(content)
        assert list(problem) == ["detail"]
        assert problem["detail"]
    if method != "HEAD" and path.startswith("/api/") and response.status == 200:
        json.loads(content)
