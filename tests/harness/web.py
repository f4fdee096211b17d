"""The web server as a process, driven by an HTTP client of its own."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests.harness.program import Program

_SECONDS = 20.0
_LIMITED = """\
import json, sys
from cafleet import settings
from cafleet.cli.output import say, warn
from cafleet.web.connections import Limits
from cafleet.web.server import serve
limits = Limits(**json.loads(sys.argv[2]))
path, port = settings.database_path(), int(sys.argv[1])
serve(path, host="127.0.0.1", port=port, announce=say, warn=warn, limits=limits)
"""


@dataclass(frozen=True)
class Reply:
    """One response; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The decoded body, which must be compact UTF-8."""
        assert self.headers["content-type"] == "application/json", self
        value = json.loads(self.body)
        compact = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        assert self.body == compact, self
        return value

    def ok(self) -> Any:
        """The payload of a request that must have succeeded."""
        assert self.status == 200, self
        return self.json()

    def detail(self, status: int) -> str:
        """The text of a refusal with this status."""
        assert self.status == status, self
        value = self.json()
        assert list(value) == ["detail"], self
        assert isinstance(value["detail"], str), self
        assert value["detail"], self
        return str(value["detail"])


@dataclass(frozen=True)
class WebServer:
    """A running server on the loopback address."""

    process: Popen[bytes]
    port: int

    def ask(
        self,
        method: str,
        path: str,
        *,
        fleet: int | str | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request on a connection of its own; ``fleet`` is the header that names the fleet."""
        sent = {} if fleet is None else {"X-Fleet-Id": str(fleet)}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        with closing(connection):
            connection.request(method, path, body=body, headers={**sent, **(headers or {})})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())

    def get(self, path: str, *, fleet: int | str | None = 1) -> Reply:
        return self.ask("GET", path, fleet=fleet)

    def send_json(
        self, method: str, path: str, value: Any, *, fleet: int | str | None = 1
    ) -> Reply:
        """A request whose body is ``value``, encoded unless it is bytes."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.ask(
            method, path, fleet=fleet, body=body, headers={"Content-Type": "application/json"}
        )

    def post(self, path: str, value: Any, *, fleet: int | str | None = 1) -> Reply:
        return self.send_json("POST", path, value, fleet=fleet)

    def send_raw(self, request: bytes) -> bytes:
        """Whatever comes back for ``request``, byte for byte, until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=_SECONDS) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def cpu_seconds(self) -> float:
        """What all of its threads have used, those that have ended too."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """End it by a signal; its exit code and what it has complained of."""
        self.process.send_signal(number)
        _, stderr = self.process.communicate(timeout=_SECONDS)
        return self.process.returncode, stderr.decode()


def free_port() -> int:
    """A port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def serving(
    cafleet: Program,
    *options: str,
    port: int | None = None,
    env: Mapping[str, str | None] | None = None,
    limits: Mapping[str, float] | None = None,
) -> Iterator[WebServer]:
    """The program's server once it has said where; killed at the end if it still runs.

    ``limits`` are some of :class:`cafleet.web.connections.Limits`, so that a test need not wait long.
    """
    port = port or free_port()
    if limits is None:
        process = cafleet.start("server", "--port", str(port), *options, env=env)
    else:
        process = cafleet.start_script(_LIMITED, str(port), json.dumps(limits), env=env)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        if not line:
            _, stderr = process.communicate(timeout=_SECONDS)
            raise AssertionError(f"the server has ended: {stderr.decode()}")
        assert re.fullmatch(rf"Serving http://.+:{port}/\n", line), line
        yield WebServer(process, port)
    finally:
        process.kill()
        process.communicate()


class Stream:
    """An open `GET /api/changes`, read event by event."""

    def __init__(self, server: WebServer) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=_SECONDS)
        self.connection.request("GET", "/api/changes")
        self.response = self.connection.getresponse()
        assert self.response.status == 200

    def next(self) -> int:
        """The counter of the next event."""
        lines = [b":\n"]
        # A comment is a sign of life, and no event.
        while lines[0] == b":\n":
            lines = [self.response.readline(), self.response.readline()]
        assert lines[1] == b"\n", lines
        match = re.fullmatch(rb"data: (\d+)\n", lines[0])
        assert match, lines
        return int(match[1])

    def close(self) -> None:
        self.connection.close()
