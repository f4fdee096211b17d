"""What stands in front of every request: whose server this is, who asks, what a browser may do.

A page of another site can make a browser send requests here, and by rebinding its own name to
127.0.0.1 even read the answers. So a request must name this server as its host, and one that
changes something must not come from a page of another origin.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cafleet.web.replies import refusal

_OWN_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# RFC 9110, section 7.2: a name, an IPv4 address or an IPv6 address in brackets, then perhaps a port.
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:/@\s]+))(?::[0-9]*)?")
# RFC 9112, section 3.2.2: what a client sends to a proxy, and a server has to understand.
_ABSOLUTE = re.compile(r"http://([^/]*)(/.*)?", re.IGNORECASE)
# Fetch Metadata, section 2.3: what a browser says of the page that makes a request. A person who
# types an address is `none`.
_OWN_SITES = frozenset({"same-origin", "none"})
_CLOSE = {"Connection": "close"}
POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Passes to ``app`` what may pass, and adds the policy to every response.

    ``host`` is the name or address that the server was told to listen on.
    """

    def __init__(self, app: ASGIApp, *, host: str) -> None:
        self._app = app
        self._names = _OWN_NAMES | {host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in POLICY.items():
                    headers[name] = value
            await send(message)

        try:
            passed = self._passed(scope)
        except HTTPException as problem:
            refused = refusal(problem.status_code, problem.detail, headers=problem.headers)
            await refused(scope, receive, send_with_policy)
        else:
            await self._app(passed, receive, send_with_policy)

    def _passed(self, scope: Scope) -> Scope:
        """The request with a path as its target.

        Raises:
            HTTPException: 505, it is of another version of HTTP; 400, it is not for this server,
                or two readers of HTTP could disagree on what it says (RFC 9112, section 11.2); 403,
                a page of another origin sends it.
        """
        if not scope["http_version"].startswith("1."):
            raise HTTPException(505, "this server speaks version 1.1 of HTTP", headers=_CLOSE)
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0], scope):
            raise HTTPException(400, "this server does not answer to that host name")
        if "transfer-encoding" in headers and (
            "content-length" in headers or scope["http_version"] == "1.0"
        ):
            # Where the next request begins is as doubtful.
            raise HTTPException(
                400,
                "the request tells the length of its body in two ways",
                headers=_CLOSE,
            )
        if scope["method"] not in _SAFE_METHODS and not _is_same_origin(headers, hosts[0]):
            raise HTTPException(403, "this request comes from a page of another origin")
        target = scope["raw_path"]
        if target.startswith(b"/"):
            return scope
        match = _ABSOLUTE.fullmatch(target.decode("ascii"))
        if match is None or not self._is_own(match[1], scope):
            raise HTTPException(400, "the target of the request is not a path of this server")
        path = match[2] or "/"
        return {**scope, "path": unquote(path), "raw_path": path.encode("ascii")}

    def _is_own(self, host: str, scope: Scope) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = (match[1] or match[2]).lower()
        # On a wildcard address it answers to the one that the client has reached it by.
        return name in self._names or name == scope["server"][0].removeprefix("::ffff:")


def _is_same_origin(headers: Headers, host: str) -> bool:
    """Whether no browser sends it, or one for a page of this server."""
    own = f"http://{host}".lower()
    return all(origin.lower() == own for origin in headers.getlist("origin")) and all(
        site in _OWN_SITES for site in headers.getlist("sec-fetch-site")
    )
