"""One connection of a client, which may be slow, may stop in the middle or may never begin.

uvicorn limits the time between two requests, and nothing else. Here each part of a request and of
its answer has a limit, and the server closes the connection of a client that sends a body which
nobody wants.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import cast

import h11
import msgspec
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from cafleet.web.guard import POLICY
from cafleet.web.replies import refusal
from cafleet.web.requests import MOST_BODY_BYTES

_PIECE_BYTES = 64 * 1024
# A client that sends its whole body before it reads the refusal gets to read it, within reason.
_LINGER_BYTES = 8 * MOST_BODY_BYTES


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What clients may take of the server; times are in seconds.

    ``request_seconds`` is for the head of a request, for its body, and for each 64 KiB of an
    answer. ``rest_seconds`` is for the time between two requests. ``linger_seconds`` is for what a
    client still sends after an early answer. When all ``connections`` are open, whoever has let the
    server wait for ``spared_seconds`` makes room for the next.
    """

    connections: int = 256
    request_seconds: float = 10
    rest_seconds: int = 30
    linger_seconds: float = 2
    spared_seconds: float = 1


class Connection(H11Protocol):
    """uvicorn's connection within :class:`Limits`. The server calls :meth:`end_if_overdue` often."""

    def __init__(self, config: Config, state: ServerState, limits: Limits) -> None:
        super().__init__(config, state, {})
        self._application = self.app
        self.app = self._answer
        self._limits = limits
        self._is_refused = False
        self._wait: tuple[float | None, object] = (None, None)
        self._since = self.loop.time()

    def end_if_overdue(self) -> None:
        """Close it when the client has taken longer than it may."""
        waited = self.waited_seconds()
        allowed = self._wait[0]
        if allowed is None or waited < allowed:
            return
        if self._is_refused or self.transport.is_closing() or not self._has_part_of_head():
            self.transport.abort()
        else:
            self._refuse(408, f"the request has not come within {allowed:g} seconds")

    def waited_seconds(self) -> float:
        """How long the server has waited for the client; 0 while the application answers it."""
        wait = (self._allowed_seconds(), self.cycle)
        if wait[0] is None or wait != self._wait:
            self._wait = wait
            self._since = self.loop.time()
        return self.loop.time() - self._since

    def _allowed_seconds(self) -> float | None:
        """How long the client may take for what it does now; ``None`` while it is answered."""
        limits = self._limits
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if self._is_refused:
            return limits.linger_seconds
        if cycle is None or self.transport.is_closing():
            return limits.request_seconds
        if cycle.response_complete:
            is_at_rest = not (
                self._has_part_of_head() or self.transport.get_write_buffer_size() > 0
            )
            return limits.rest_seconds if is_at_rest else limits.request_seconds
        if self.conn.their_state is h11.SEND_BODY:
            # The application's own refusal comes first; see _Exchange.
            return limits.request_seconds + 2 * limits.linger_seconds
        return None

    def _has_part_of_head(self) -> bool:
        return bool(self.conn.trailing_data[0])

    # What uvicorn calls.

    def data_received(self, data: bytes) -> None:
        if not self._is_refused:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "this is not a request of HTTP/1.1")

    def _refuse(self, status: int, detail: str) -> None:
        """Answer what is no whole request. The client reads that before the connection ends."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.abort()
            return
        self._is_refused = True
        self.flow.resume_reading()
        response = refusal(status, detail, headers={**POLICY, "Connection": "close"})
        head = h11.Response(status_code=status, headers=response.raw_headers)
        for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.write_eof()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application for one request."""
        exchange = _Exchange(self, receive, send, self._limits)
        await self._application(scope, exchange.receive, exchange.send)


class _Exchange:
    """One request and its answer, between the application and a client that may be slow."""

    def __init__(
        self, connection: Connection, receive: Receive, send: Send, limits: Limits
    ) -> None:
        self._connection = connection
        self._receive = receive
        self._send = send
        self._limits = limits
        self._deadline = asyncio.get_running_loop().time() + limits.request_seconds
        self._is_begun = False
        self._is_early = False

    def _has_all(self) -> bool:
        """Whether the whole request is here."""
        return self._connection.conn.their_state is not h11.SEND_BODY

    async def receive(self) -> Message:
        """The next part of the body.

        Raises:
            HTTPException: 408, the body has not come in time.
        """
        if self._has_all():
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._receive()
        except TimeoutError:
            if self._is_begun:
                self._connection.transport.abort()
                return await self._receive()
            seconds = self._limits.request_seconds
            raise HTTPException(408, f"the body has not come within {seconds:g} seconds") from None

    async def send(self, message: Message) -> None:
        """Send a part of the answer in pieces, so that a slow client fills no memory.

        An answer that comes before the end of the body is the last one of its connection.
        """
        if message["type"] == "http.response.start":
            self._is_early = not self._has_all()
            self._is_begun = True
            if self._is_early:
                MutableHeaders(scope=message)["Connection"] = "close"
            await self._send(message)
            return
        body = message.get("body", b"")
        for start in range(0, len(body), _PIECE_BYTES):
            piece = {**message, "body": body[start : start + _PIECE_BYTES], "more_body": True}
            try:
                async with asyncio.timeout(self._limits.request_seconds):
                    await self._send(piece)
            except TimeoutError:
                self._connection.transport.abort()
        if message.get("more_body", False):
            return
        if self._is_early:
            await self._linger()
        await self._send({"type": "http.response.body"})

    async def _linger(self) -> None:
        """Read on for a moment: to close while the client sends could take the answer from it."""
        transport = self._connection.transport
        transport.write_eof()
        taken = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.linger_seconds):
                while taken < _LINGER_BYTES:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        return
                    taken += len(message["body"])
        transport.close()
        while (await self._receive())["type"] != "http.disconnect":
            pass
