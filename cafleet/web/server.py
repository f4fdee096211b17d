"""The process that serves: where it listens, and how it ends."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TextIO, cast

import uvicorn

from cafleet import settings
from cafleet.errors import internal
from cafleet.store.guard import open_database
from cafleet.web.app import build
from cafleet.web.changes import Changes
from cafleet.web.connections import Connection, Limits
from cafleet.web.database_watch import DatabaseWatch
from cafleet.web.listening import accept, is_loopback, listen

# So long after a signal the server cuts off every connection, and later every task that is left.
_GRACE_SECONDS = 1
_SAME_LINE_SECONDS = 60


class _OneLine(logging.Formatter):
    """What goes wrong in the server itself, for stderr. A traceback shows lines of text that may be
    a message's; a place in the code does not."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        return f"Error: {record.getMessage() if error is None else internal(error)}"


class _OncePerMinute(logging.StreamHandler[TextIO]):
    """Writes to stderr, and the same line once a minute: what fails may fail for every request."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(_OneLine())
        self._written: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        now = time.monotonic()
        self._written = {
            each: at for each, at in self._written.items() if now - at < _SAME_LINE_SECONDS
        }
        if line not in self._written:
            self._written[line] = now
            super().emit(record)


def serve(
    database: str,
    *,
    host: str,
    port: int,
    announce: Callable[[str], None],
    warn: Callable[[str], None],
    limits: Limits,
) -> None:
    """Serve until a signal; ``announce`` is told the address once requests are answered there.

    ``warn`` is told who can reach the server, if others than programs of this machine can.

    Raises:
        SchemaError, DatabaseError: the database is not one that this program can serve.
        SettingError: a variable that the couriers of its fleets would read is unusable.
        CafleetError: it cannot listen there.
    """
    # Only a courier that a send may start uses them; a bad value is told before anything is stored.
    settings.max_text_len()
    settings.delivery_hold_timeout()
    settings.monitor_wake_interval()
    with closing(open_database(database)):
        pass
    listener = listen(host, port)
    is_local = is_loopback(listener)
    if not is_local:
        warn(
            f"the server listens on {host}, so whoever reaches port {port} of this machine reads "
            "every message and sends as any member; without --host it listens on 127.0.0.1 alone"
        )
    logging.basicConfig(level=logging.ERROR, handlers=[_OncePerMinute()])
    watch = DatabaseWatch(database)
    changes = Changes(watch, most=(limits.connections + 1) // 2)
    config = uvicorn.Config(
        build(database, watch=watch, changes=changes, host=host, is_local=is_local),
        ws="none",
        lifespan="off",
        loop="asyncio",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        # A page that is open asks at every heartbeat of a courier: it need not connect each time.
        timeout_keep_alive=limits.rest_seconds,
        timeout_graceful_shutdown=2 * _GRACE_SECONDS,
    )
    shown = f"[{host}]" if ":" in host else host
    try:
        _Server(
            config, listener, changes, limits, lambda: announce(f"Serving http://{shown}:{port}/")
        ).run()
    finally:
        watch.end()


class _Server(uvicorn.Server):
    """uvicorn, with connections that have limits, streams that end when it does, and a signal that
    ends it in success."""

    def __init__(
        self,
        config: uvicorn.Config,
        listener: socket.socket,
        changes: Changes,
        limits: Limits,
        announce: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._listener = listener
        self._changes = changes
        self._limits = limits
        self._announce = announce
        self._accepting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        self._accepting = asyncio.create_task(
            accept(self._listener, self._connect, self._connections(), self._limits)
        )
        self._changes.begin()
        self._announce()

    def _connect(self) -> Connection:
        return Connection(self.config, self.server_state, self._limits)

    def _connections(self) -> set[Connection]:
        return cast("set[Connection]", self.server_state.connections)

    def _cut_off(self) -> None:
        for connection in self._connections():
            connection.transport.abort()

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second."""
        for connection in list(self._connections()):
            connection.end_if_overdue()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._accepting is not None:
            self._accepting.cancel()
        self._listener.close()
        self._changes.end()
        asyncio.get_running_loop().call_later(_GRACE_SECONDS, self._cut_off)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on SIGINT, SIGTERM and SIGHUP; one that is ignored, under nohup perhaps, stays so."""
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
