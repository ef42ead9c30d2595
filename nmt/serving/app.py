"""The routes of the server as an ASGI application: what answers each path, and what every answer carries."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from nmt.serving.files import HEADERS, address_of
from nmt.serving.language_pairs import Asked, asked
from nmt.serving.limits import client_of
from nmt.serving.pages import pages, to_page
from nmt.serving.refusal import Refused
from nmt.serving.requests import Bodies, Fields, read_fields
from nmt.serving.service import Service

if TYPE_CHECKING:  # an extra brings it
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)

# Pages of other hosts may send requests.
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Expose-Headers": "Authorization",
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Max-Age": "1728000",
}

# As many bodies of the largest size may be there at a time, and far more of usual ones.
LARGE_BODIES = 16

T = TypeVar("T")


def make_app(service: Service) -> "ASGIApp":
    """Return the ASGI application that answers requests with a service."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Mount, Route

    settings, metrics = service.settings, service.metrics
    bodies = Bodies(LARGE_BODIES * settings.max_bytes)

    def post(path: str, work: Callable[[Fields], Coroutine[Any, Any, Any]]) -> Route:
        async def answer(request: "Request") -> "Response":
            take = asked.get().take
            fields = await read_fields(request, settings.max_bytes, settings.body_seconds, take)
            service.admit(fields, client_of(request, settings.proxies))
            return JSONResponse(await _while_there(request, work(fields)))

        return Route(path, counted(path, answer), methods=["POST"])

    def get(path: str, work: Callable[[], Awaitable[Any]]) -> Route:
        async def answer(request: "Request") -> "Response":
            return JSONResponse(await work())

        return Route(path, counted(path, answer), methods=["GET"])

    def counted(
        path: str, answer: Callable[["Request"], Awaitable["Response"]]
    ) -> Callable[["Request"], Awaitable["Response"]]:
        async def endpoint(request: "Request") -> "Response":
            try:
                with bodies.of_request() as take:
                    asked.set(Asked(take))
                    response = await answer(request)
            except Refused as refused:
                response = JSONResponse({"error": refused.text}, refused.status, refused.headers)
            except asyncio.CancelledError:  # uvicorn cancels what still runs when the time to stop is over
                response = JSONResponse({"error": "The server stops"}, 503)
            except Exception as error:  # its message may hold a client's text, which is private
                where = "".join(traceback.format_tb(error.__traceback__))
                logger.error("%s failed: %s\n%s", path, type(error).__name__, where)
                response = JSONResponse({"error": "Internal server error"}, 500)
            metrics.count_request(path, response.status_code)
            return response

        return endpoint

    async def languages() -> list[dict[str, Any]]:
        return service.languages.table()

    async def health() -> dict[str, str]:
        return {"status": "ok"}

    async def metrics_page(request: "Request") -> "Response":
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4")

    async def translate_file(request: "Request") -> "Response":
        address = address_of(request, settings.url_prefix, settings.proxies)
        take = asked.get().take
        fields = await read_fields(request, settings.max_bytes, settings.body_seconds, take, max_files=1)
        service.admit(fields, client_of(request, settings.proxies))
        name = await _while_there(request, service.translate_file(fields))
        return JSONResponse({"translatedFileUrl": address + name})

    async def download_file(request: "Request") -> "Response":
        name, content = service.held.get(request.path_params["name"])
        # Whatever the file is, no browser is to show it as a page of this server.
        disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="application/octet-stream", headers=HEADERS | disposition)

    async def refuse(request: "Request", error: Exception) -> "Response":
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    routes = [
        post("/translate", service.translate),
        post("/detect", service.detect),
        post("/suggest", service.suggest),
        Route("/translate_file", counted("/translate_file", translate_file), methods=["POST"]),
        Route("/download_file/{name}", counted("/download_file", download_file), methods=["GET"]),
        get("/languages", languages),
        get("/frontend/settings", service.frontend_settings),
        get("/health", health),
        Route("/metrics", metrics_page, methods=["GET"]),
        *pages(settings.url_prefix),
    ]
    if settings.url_prefix:
        routes = [to_page(settings.url_prefix), Mount(settings.url_prefix, routes=routes)]  # type: ignore[list-item]
    app = Starlette(routes=routes, exception_handlers={HTTPException: refuse})
    app.router.redirect_slashes = False
    return _with_cors(app)


async def _while_there(request: "Request", work: Coroutine[Any, Any, T]) -> T:
    """Return the result of work; cancel it when the client disconnects, as no answer can reach it."""
    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise Refused(499, "Client closed request")
        return doing.result()
    finally:
        doing.cancel()
        leaving.cancel()


def _with_cors(app: "ASGIApp") -> "ASGIApp":
    headers = [(name.lower().encode(), value.encode()) for name, value in CORS.items()]

    async def with_cors(scope: "Scope", receive: "Receive", send: "Send") -> None:
        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *headers]
            await send(message)

        if scope["type"] == "http" and scope["method"] == "OPTIONS":
            empty = [(b"content-length", b"0")]
            await send_with_headers({"type": "http.response.start", "status": 200, "headers": empty})
            await send({"type": "http.response.body"})
        else:
            await app(scope, receive, send_with_headers)

    return with_cors
