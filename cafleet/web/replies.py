"""Responses: JSON, the one shape of every refusal, and what a client has already."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, as text."""

    detail: str


def json_reply(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A response of encoded JSON, which no cache may write down: it holds people's messages."""
    return Response(
        body,
        status_code=status,
        headers={"Cache-Control": "no-store", **(headers or {})},
        media_type="application/json",
    )


def refusal(status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """The response to a request that is not answered: ``{"detail": "<text>"}``."""
    return json_reply(msgspec.json.encode(Problem(detail=detail)), status=status, headers=headers)


def has_already(request: Request, etag: str) -> bool:
    """Whether the client knows what the quoted ``etag`` stands for (RFC 9110, section 13.1.2)."""
    known = request.headers.get("if-none-match", "").split(",")
    return any(each.strip().removeprefix("W/") in {etag, "*"} for each in known)
