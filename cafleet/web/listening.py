"""Where the server listens, and how it takes connections."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import Callable, Collection
from ipaddress import IPv6Address, ip_address

from cafleet.errors import CafleetError
from cafleet.web.connections import Connection, Limits

_BACKLOG = 1024
_POLL_SECONDS = 0.1
# After an error that would come again at once, such as too many open files.
_PAUSE_SECONDS = 1.0

_logger = logging.getLogger(__name__)


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to the first address of ``host`` that can be had.

    Raises:
        CafleetError: the host is not known, or none of its addresses can be had.
    """
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
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            failure = failure or error
        else:
            listener.setblocking(False)
            return listener
    raise CafleetError(
        f"cannot listen on {host} port {port} ({failure}); give another with --host and --port"
    ) from failure


def is_loopback(listener: socket.socket) -> bool:
    """Whether only programs of this machine can reach it."""
    address = ip_address(listener.getsockname()[0].partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


async def accept(
    listener: socket.socket,
    make: Callable[[], Connection],
    connections: Collection[Connection],
    limits: Limits,
) -> None:
    """Take connections for ever, as many as ``limits`` say at once. The others wait in the system's queue."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            client, _ = await loop.sock_accept(listener)
            while len(connections) >= min(limits.connections, _half_of_descriptors()):
                has_room = _make_room(connections, limits.spared_seconds)
                await asyncio.sleep(0 if has_room else _POLL_SECONDS)
            await loop.connect_accepted_socket(make, client)
        except ConnectionAbortedError:
            continue
        except OSError as error:
            _logger.log(
                logging.ERROR, "cannot accept a connection (%s); trying again every second", error
            )
            await asyncio.sleep(_PAUSE_SECONDS)


def _half_of_descriptors() -> int:
    """The other half is for the database, which each request opens."""
    return max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2, 1)


def _make_room(connections: Collection[Connection], spared_seconds: float) -> bool:
    """End the connection whose client has let the server wait longest; false if all are spared."""
    longest = max(connections, key=Connection.waited_seconds)
    if longest.waited_seconds() < spared_seconds:
        return False
    longest.transport.abort()
    return True
