"""Reading a request: its fleet, its body, its page of history. Nothing is coerced."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from cafleet.broker.messages import TIMELINE_LIMIT, Page
from cafleet.settings import LARGEST_INTEGER, decimal

MOST_BODY_BYTES = 1024 * 1024
MOST_PER_PAGE = 1_000
FLEET_HEADER = "X-Fleet-Id"

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
# No id has more digits, and none is 0.
_MOST_DIGITS = 19
_NOBODY = 0


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What an endpoint is called with. ``fleet_id`` is 0 for those that need no fleet; ``subject``
    is the id in the path, 0 where there is none or it is no id; ``body`` is decoded."""

    fleet_id: int
    subject: int
    query: QueryParams
    body: Any


async def read_call(request: Request, *, needs_fleet: bool, body: type | None) -> Call:
    """Read a request in the order in which its faults are told: header, then body.

    Raises:
        HTTPException: 400 without an integer in the header, 408, 413, 415 or 422 by the body.
    """
    fleet_id = _fleet_id(request) if needs_fleet else _NOBODY
    return Call(
        fleet_id=fleet_id,
        subject=_identifier(request.path_params.get("subject", "")) or _NOBODY,
        query=request.query_params,
        body=await _body(request, body),
    )


def read_page(query: QueryParams) -> Page | None:
    """The page that ``before`` and ``limit`` ask for; ``None`` where neither is given.

    Raises:
        HTTPException: 422, one of them is not a whole number from 1 to 2**63 - 1.
    """
    if "before" not in query and "limit" not in query:
        return None
    return Page(
        before=_number(query, "before", LARGEST_INTEGER),
        limit=min(_number(query, "limit", TIMELINE_LIMIT), MOST_PER_PAGE),
    )


def _number(query: QueryParams, name: str, default: int) -> int:
    if name not in query:
        return default
    value = decimal(query[name], low=1)
    if value is None:
        raise HTTPException(422, f"{name} is not a whole number from 1 to {LARGEST_INTEGER}")
    return value


def _fleet_id(request: Request) -> int:
    values = request.headers.getlist(FLEET_HEADER)
    if not values or values == [""]:
        raise HTTPException(400, f"The header {FLEET_HEADER} is missing")
    fleet_id = _identifier(values[0]) if len(values) == 1 else None
    if fleet_id is None:
        raise HTTPException(400, f"The header {FLEET_HEADER} is not an integer")
    return fleet_id


def _identifier(text: str) -> int | None:
    """The integer that ``text`` is, whether or not it can be an id; ``None`` for anything else."""
    if _INTEGER.fullmatch(text) is None:
        return None
    return int(text) if len(text) <= _MOST_DIGITS else _NOBODY


async def _body(request: Request, shape: type | None) -> Any:
    """The decoded body; ``None`` where none is asked for, and what comes is read and ignored."""
    if shape is None:
        if request.method not in {"GET", "HEAD"}:
            await _read(request)
        return None
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise HTTPException(
            415, "The body must be JSON, and say so: Content-Type: application/json"
        )
    content = await _read(request)
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.ValidationError as wrong:
        raise HTTPException(422, str(wrong)) from wrong
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        if _has_lone_surrogate(content):
            detail = "A text of the body is not Unicode: half of a surrogate pair stands alone"
            raise HTTPException(422, detail) from wrong
        raise HTTPException(422, f"The body is not JSON: {wrong}") from wrong


def _has_lone_surrogate(content: bytes) -> bool:
    """Whether it is JSON, but for an escape such as ``\\ud800`` (RFC 8259, section 8.2)."""
    try:
        json.dumps(json.loads(content.decode()), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        pass
    return False


async def _read(request: Request) -> bytes:
    too_long = HTTPException(413, f"The body is longer than {MOST_BODY_BYTES} bytes")
    if int(request.headers.get("content-length", "0")) > MOST_BODY_BYTES:
        raise too_long
    content = bytearray()
    try:
        async for chunk in request.stream():
            content += chunk
            if len(content) > MOST_BODY_BYTES:
                raise too_long
    except ClientDisconnect as gone:
        raise HTTPException(400, "The connection has ended before the body") from gone
    return bytes(content)
