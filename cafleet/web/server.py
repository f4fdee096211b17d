"""The process that serves: where it listens, and how it ends."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import uvicorn

from cafleet import settings
from cafleet.errors import CafleetError, internal
from cafleet.store.guard import open_database
from cafleet.web.app import build
from cafleet.web.changes import Changes
from cafleet.web.watch import Watch

# What has not ended by itself so long after a signal is cut off.
_GRACE_SECONDS = 1
# A page that is open asks at every heartbeat of a loop, and would have to connect again each time.
_KEEP_ALIVE_SECONDS = 30


class _OneLine(logging.Formatter):
    """What goes wrong in the server itself, for stderr. A traceback shows lines of text that may be
    a message's; a place in the code does not."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        return f"Error: {record.getMessage() if error is None else internal(error)}"


def serve(database: str, *, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until a signal; ``announce`` is told the address once requests are answered there.

    Raises:
        SchemaError, DatabaseError: the database is not one that this program can serve.
        SettingError: a variable that the loops of its fleets would read is unusable.
        CafleetError: it cannot listen there.
    """
    # Only a loop that a send may start uses them; a bad value is told before anything is stored.
    settings.max_text_len()
    settings.delivery_hold_timeout()
    settings.monitor_wake_interval()
    with closing(open_database(database)):
        pass
    listener = _listen(host, port)
    log = logging.StreamHandler()
    log.setFormatter(_OneLine())
    logging.basicConfig(level=logging.ERROR, handlers=[log])
    watch = Watch(database)
    changes = Changes(watch)
    config = uvicorn.Config(
        build(database, watch=watch, changes=changes, host=host),
        http="h11",
        ws="none",
        lifespan="off",
        loop="asyncio",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    shown = f"[{host}]" if ":" in host else host
    try:
        _Server(config, changes, lambda: announce(f"Serving http://{shown}:{port}/")).run(
            [listener]
        )
    finally:
        watch.end()


class _Server(uvicorn.Server):
    """uvicorn, with streams that end when it does, and a signal that ends it in success."""

    def __init__(
        self, config: uvicorn.Config, changes: Changes, announce: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._changes = changes
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._changes.begin()
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._changes.end()
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


def _listen(host: str, port: int) -> socket.socket:
    """A socket bound to the first address of ``host`` that can be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise CafleetError(
            f"the host {host!r} is not known ({error}); give another with --host"
        ) from error
    failure: OSError | None = None
    for family, kind, protocol, _, address in found:
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
        except OSError as error:
            listener.close()
            failure = failure or error
        else:
            return listener
    raise CafleetError(
        f"cannot listen on {host} port {port} ({failure}); give another with --host and --port"
    ) from failure
