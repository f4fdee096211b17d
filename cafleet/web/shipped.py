"""The files of the page: read once, served from memory, so no path of a request reaches a disk."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cafleet.web.replies import has_already

_MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "woff2": "font/woff2",
}
_INDEX = "/"
# The banner of the page for a server that other machines can reach.
_SHOWN = b'id="exposed"'
_HIDDEN = _SHOWN + b" hidden"


class File(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the page; ``etag`` is the quoted validator of RFC 9110, section 8.8.3."""

    content: bytes
    media_type: str
    etag: str


def shipped_files(*, is_local: bool) -> dict[str, File]:
    """The files by the path that each is served at.

    A server that is not ``is_local`` can be reached from other machines, and its page says so.
    """
    folder = files("cafleet.web").joinpath("page")
    found: dict[str, File] = {}
    for entry in folder.iterdir() if folder.is_dir() else ():
        media_type = _MEDIA_TYPES.get(entry.name.rpartition(".")[2])
        if media_type is not None and entry.is_file():
            content = entry.read_bytes()
            path = f"/static/{entry.name}"
            if entry.name == "index.html":
                path = _INDEX
                content = content if is_local else content.replace(_HIDDEN, _SHOWN)
            etag = f'"{sha256(content).hexdigest()[:32]}"'
            found[path] = File(content=content, media_type=media_type, etag=etag)
    return found


class Page:
    """Serves the shipped files, and the page itself at every other path outside the API."""

    def __init__(self, *, is_local: bool) -> None:
        self._files = shipped_files(is_local=is_local)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            HTTPException: the path is one of the API's, which has nothing there; the method is not
                one for reading; this installation has no page.
        """
        path = scope["path"]
        if path == "/api" or path.startswith("/api/"):
            raise HTTPException(404, "Not found")
        if scope["method"] not in {"GET", "HEAD"}:
            raise HTTPException(405, "Method not allowed", headers={"Allow": "GET, HEAD"})
        file = self._files.get(path) or self._files.get(_INDEX)
        if file is None:
            raise HTTPException(404, "This installation has no page; install cafleet again")
        await _reply(file, Request(scope))(scope, receive, send)


def _reply(file: File, request: Request) -> Response:
    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
    if has_already(request, file.etag):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)
