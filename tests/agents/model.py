"""A model for coding agents that answers by a script, on loopback, and remembers what it was asked.

It speaks the three protocols that the agents speak: Anthropic's Messages, OpenAI's Responses (Codex)
and OpenAI's Chat Completions (opencode). What differs between them is in :mod:`tests.agents.dialects`.
"""

from __future__ import annotations

import json
import select
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.agents.dialects import dialect_of
from tests.agents.script import Asked, Conduct, Fail, Reply, Say

# For a test that forgets to let its agent go on.
_LONGEST_SECONDS = 300.0


@dataclass
class Exchange:
    """One question of an agent and how it was answered.

    ``finished`` says that the agent was still listening when the answer was ready; a turn that was
    interrupted never is.
    """

    at: float
    asked: Asked
    reply: Reply
    finished: bool = False


class Model:
    """The endpoint. ``rules`` may be replaced at any time; what none is about gets a plain answer.

    No answer is held back for more than ``longest`` seconds.
    """

    def __init__(self, longest: float = _LONGEST_SECONDS) -> None:
        self.longest = longest
        self.unplugged = False
        self.rules: Sequence[Conduct] = ()
        self._exchanges: list[Exchange] = []
        self._lock = threading.Lock()
        self._server = self._listening(0)

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator[Model]:
        self._serve()
        try:
            yield self
        finally:
            if not self.unplugged:
                self._end()

    def unplug(self) -> None:
        """Refuse all connections from now on, as if nobody served here."""
        self.unplugged = True
        self._end()

    def plug(self) -> None:
        """Serve again at the same place."""
        self._server = self._listening(self._server.server_address[1])
        self.unplugged = False
        self._serve()

    def _listening(self, port: int) -> ThreadingHTTPServer:
        return ThreadingHTTPServer(("127.0.0.1", port), _handler(self))

    def _serve(self) -> None:
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _end(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def begin(self, asked: Asked) -> Exchange:
        """Note a question and choose the answer to it."""
        exchange = Exchange(at=time.time(), asked=asked, reply=self._choose(asked))
        with self._lock:
            self._exchanges.append(exchange)
        return exchange

    def exchanges(self, opening: str = "") -> list[Exchange]:
        """The exchanges of the conversations whose first turn begins with ``opening``, oldest first.

        Questions beside the conversation, such as that for its title, are not among them.
        """
        with self._lock:
            noted = list(self._exchanges)
        return [
            each for each in noted if each.asked.turns and each.asked.turns[0].startswith(opening)
        ]

    def openings(self) -> set[str]:
        """The first turns of all conversations."""
        return {each.asked.turns[0] for each in self.exchanges()}

    def turns(self, opening: str = "") -> list[str]:
        """What the user has said in a conversation so far, one text a turn, in its order."""
        found = self.exchanges(opening)
        return list(found[-1].asked.turns) if found else []

    def _choose(self, asked: Asked) -> Reply:
        answers = (rule.answer(asked) for rule in self.rules)
        return next((answer for answer in answers if answer is not None), Say())


class _Handler(BaseHTTPRequestHandler):
    model: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        """Say nothing on stderr."""

    def do_HEAD(self) -> None:
        self._answer(b"", "text/plain")

    def do_GET(self) -> None:
        self._answer(b'{"object": "list", "data": [], "models": []}', "application/json")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.model.unplugged:
            self.close_connection = True
            return
        dialect = dialect_of(self.path)
        if dialect is None:
            self._answer(b'{"input_tokens": 1}', "application/json")
            return
        request = json.loads(body)
        exchange = self.model.begin(dialect.read(request))
        if isinstance(exchange.reply, Say) and exchange.reply.until is not None:
            exchange.reply.until.wait(self.model.longest)
        exchange.finished = not self._left()
        if isinstance(exchange.reply, Fail):
            self._fail(exchange.reply)
        elif exchange.finished:
            said = exchange.reply if isinstance(exchange.reply, Say) else Say()
            self._answer(*dialect.write(request, exchange.reply), said.pause, said.headers)

    def _left(self) -> bool:
        """Whether the agent has hung up meanwhile; it sends nothing while it waits."""
        return bool(select.select([self.connection], [], [], 0)[0])

    def _answer(
        self,
        body: bytes,
        kind: str,
        pause: float = 0.0,
        headers: dict[str, str] | None = None,
    ) -> None:
        self._head(200, len(body), {"content-type": kind, **(headers or {})})
        if not pause:
            self.wfile.write(body)
            return
        try:
            for event in body.split(b"\n\n")[:-1]:
                self.wfile.write(event + b"\n\n")
                time.sleep(pause)
        except OSError:  # The agent has hung up.
            self.close_connection = True

    def _fail(self, failure: Fail) -> None:
        if not failure.status:
            self.close_connection = True
            return
        body = json.dumps(failure.body).encode()
        self._head(
            failure.status, len(body), {"content-type": "application/json", **failure.headers}
        )
        self.wfile.write(body)

    def _head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(length))
        self.end_headers()


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"model": model})
