"""The application: endpoints, changes and page behind the guard, and what each failure becomes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from cafleet.broker import fleets
from cafleet.errors import (
    CafleetError,
    DatabaseError,
    IntegrityError,
    RefusedError,
    UnknownIdError,
    UsageError,
)
from cafleet.store.guard import open_database
from cafleet.web.changes import Changes
from cafleet.web.database_watch import DatabaseWatch
from cafleet.web.endpoints import ENDPOINTS, Endpoint
from cafleet.web.guard import Guard
from cafleet.web.replies import has_already, json_reply, refusal
from cafleet.web.requests import Call, read_call
from cafleet.web.response_cache import CacheKey, ResponseCache
from cafleet.web.shipped import Page

# The first that fits; what fits none is the server's own fault.
_STATUSES: list[tuple[type[CafleetError], int]] = [
    (UnknownIdError, 404),
    (RefusedError, 409),
    (UsageError, 422),
    (IntegrityError, 500),
    (DatabaseError, 503),
]


def build(
    database: str, *, watch: DatabaseWatch, changes: Changes, host: str, is_local: bool
) -> ASGIApp:
    """The application on a database file.

    ``host`` is where the server listens, ``is_local`` whether it is reached from this machine alone.
    """
    cache = ResponseCache(watch)
    routes = [
        *(Route(path, _Resource(database, cache, methods)) for path, methods in ENDPOINTS.items()),
        Route("/api/changes", changes),
        Route("/{path:path}", Page(is_local=is_local)),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers=dict.fromkeys((HTTPException, CafleetError, Exception), _reply),
    )
    app.router.redirect_slashes = False
    return Guard(app, host=host)


class _Resource:
    """One path of the API."""

    def __init__(
        self, database: str, cache: ResponseCache, methods: Mapping[str, Endpoint]
    ) -> None:
        self._database = database
        self._cache = cache
        self._methods = dict(methods)
        if "GET" in methods:
            self._methods["HEAD"] = methods["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._methods.get(scope["method"])
        if endpoint is None:
            allowed = {"Allow": ", ".join(sorted(self._methods))}
            raise HTTPException(405, "Method not allowed", headers=allowed)
        request = Request(scope, receive)
        call = await read_call(request, needs_fleet=endpoint.needs_fleet, body=endpoint.body)
        if scope["method"] in {"GET", "HEAD"}:
            response = await self._read(request, endpoint, call)
        else:
            response = json_reply(await run_in_threadpool(self._answer, endpoint, call))
        await response(scope, receive, send)

    async def _read(self, request: Request, endpoint: Endpoint, call: Call) -> Response:
        """A kept answer where there is one, and only what the client does not have yet."""
        scope = request.scope
        answer = await self._cache.get(
            lambda: CacheKey(
                path=scope["path"],
                query=scope["query_string"],
                fleet_id=call.fleet_id,
                beside=endpoint.beside(call),
            ),
            lambda: self._answer(endpoint, call),
        )
        headers = {"ETag": answer.etag}
        if has_already(request, answer.etag):
            return Response(status_code=304, headers={"Cache-Control": "no-store", **headers})
        return json_reply(answer.body, headers=headers)

    def _answer(self, endpoint: Endpoint, call: Call) -> bytes:
        """Encoded. A connection for each call is cheap, and finds the file that is there now."""
        with closing(open_database(self._database)) as conn:
            if endpoint.needs_fleet:
                try:
                    fleets.get_living(conn, fleet_id=call.fleet_id)
                except UnknownIdError:
                    raise HTTPException(404, "Fleet not found") from None
            return msgspec.json.encode(endpoint.answer(conn, call))


async def _reply(_: Request, error: Exception) -> Response:
    """The response to a request that ended in ``error``."""
    if isinstance(error, HTTPException):
        return refusal(error.status_code, error.detail, headers=error.headers)
    if isinstance(error, CafleetError):
        status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
        return refusal(status, str(error))
    return refusal(500, "internal error; please report it")
