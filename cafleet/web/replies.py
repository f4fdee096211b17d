"""Responses: JSON, and the one shape of every refusal."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.responses import Response


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, as text."""

    detail: str


def json_reply(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A response of encoded JSON; what it says is out of date at once."""
    return Response(
        body,
        status_code=status,
        headers={"Cache-Control": "no-store", **(headers or {})},
        media_type="application/json",
    )


def refusal(status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """The response to a request that is not answered: ``{"detail": "<text>"}``."""
    return json_reply(msgspec.json.encode(Problem(detail=detail)), status=status, headers=headers)
