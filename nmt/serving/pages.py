"""The page to translate on and the page about the routes: they consist of files that come with nmt alone."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # an extra brings it
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

KINDS = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "json": "application/json",
    "svg": "image/svg+xml",
}
# A page loads nothing from elsewhere, runs no script in its markup, and sends nothing but to this server.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",  # browsers ask each time, and get a file again only where it changed
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
NAMES = {"index.html": "/", "docs.html": "/docs", "spec.json": "/spec"}


def pages(url_prefix: str) -> "list[Route]":
    """Return the routes of all files of the page, below the prefix."""
    from starlette.routing import Route

    files = sorted(resources.files("nmt.serving").joinpath("page").iterdir(), key=lambda file: file.name)
    found = []
    for file in files:
        kind = KINDS.get(file.name.rpartition(".")[2])
        if kind is not None:
            content = file.read_bytes()
            if file.name == "spec.json":
                content = _with_prefix(content, url_prefix)
            path = NAMES.get(file.name, f"/{file.name}")
            found.append(Route(path, _sender(content, kind), methods=["GET"]))
    return found


def to_page(url_prefix: str) -> "Route":
    """Return the route that redirects from the prefix to the prefix with a slash, which relative addresses need."""
    from starlette.responses import RedirectResponse
    from starlette.routing import Route

    async def lead(request: "Request") -> "Response":
        return RedirectResponse(f"{url_prefix}/", headers=HEADERS)

    return Route(url_prefix, lead, methods=["GET"])


def _sender(content: bytes, kind: str) -> "Callable[[Request], Awaitable[Response]]":
    from starlette.responses import Response

    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**HEADERS, "ETag": tag}

    async def send(request: "Request") -> "Response":
        known = request.headers.get("if-none-match", "")
        # A proxy that compresses makes the tag a weak one, which begins with W/.
        if tag in (one.strip().removeprefix("W/") for one in known.split(",")):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)

    return send


def _with_prefix(content: bytes, url_prefix: str) -> bytes:
    spec = json.loads(content) | {"servers": [{"url": url_prefix or "/"}]}
    return json.dumps(spec, ensure_ascii=False).encode()
