"""The files of the page: where each is served, as what, and that nothing is sent twice."""

from __future__ import annotations

from importlib.resources import files

import pytest

from tests.harness.web import WebServer

SHIPPED = sorted(entry.name for entry in files("cafleet.web").joinpath("page").iterdir())
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_file_is_served_as_what_it_is(web: WebServer, name: str) -> None:
    path = "/" if name == "index.html" else f"/static/{name}"
    reply = web.ask("GET", path)
    assert reply.status == 200
    assert reply.body == files("cafleet.web").joinpath("page", name).read_bytes()
    assert reply.headers["content-type"] == TYPES[name.rpartition(".")[2]]
    assert reply.headers["cache-control"] == "no-cache"
    etag = reply.headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = web.ask("GET", path, headers={"If-None-Match": known})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
    for other in ('"other"', etag.strip('"'), ""):
        assert web.ask("GET", path, headers={"If-None-Match": other}).status == 200


def test_every_other_path_is_the_page(web: WebServer) -> None:
    page = web.ask("GET", "/")
    for path in ("/index.html", "/fleets/1", "/static/", "/static/nothing.js", "/apis", "/favicon"):
        reply = web.ask("GET", path)
        assert (reply.status, reply.body) == (200, page.body)
        assert reply.headers["content-type"] == TYPES["html"]
    assert web.ask("HEAD", "/fleets/1").headers["content-length"] == str(len(page.body))
