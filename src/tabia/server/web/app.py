"""The web application: routes, refusals in one sentence, and the page's files."""

from __future__ import annotations

import hashlib
import logging
import math
import mimetypes
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from importlib import resources
from pathlib import Path

from fastapi import Depends, FastAPI, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection

from tabia.core.errors import TabiaError
from tabia.core.text import printable
from tabia.games.errors import RulesError
from tabia.server.errors import NotFound, ServerError, sentence
from tabia.server.web import openapi
from tabia.server.web.context import Context, lifespan, of
from tabia.server.web.dependencies import AddressLimit, limited
from tabia.server.web.draining import Draining, Stopping
from tabia.server.web.edge import BehindProxy, Edge
from tabia.server.web.logs import RequestLog
from tabia.server.web.problems import problem
from tabia.server.web.routes import accounts, agents, analysis, engine, events, games, health, ratings, runs
from tabia.server.web.security import LOCAL, Guard

_log = logging.getLogger("tabia.server")
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
_WORDS = {404: "There is nothing at this address.", 405: "This address does not take that method."}


def create_app(
    context: Context, *, hosts: Iterable[str] = LOCAL, edge: Edge | None = None, page: Path | None = None
) -> FastAPI:
    """The application over the parts of a server, answered by these names in `Host`.

    `edge` says what lies between it and the web; `page` is the folder of the page's files.
    """
    app = FastAPI(title="Tabia", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.context = context
    app.state.stopping = Stopping()
    app.state.page = page or Path(str(resources.files("tabia.server") / "page"))
    _add_edge(app, context, tuple(hosts), edge or Edge())
    for routes in (games, events, accounts, ratings, agents, engine, analysis, runs):
        app.include_router(routes.router, dependencies=[Depends(limited)])
    app.include_router(health.router)
    openapi.add(app)
    for path, file in _FILES.items():
        app.add_api_route(path, file, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_exception_handler(TabiaError, _refused)
    app.add_exception_handler(RulesError, _faulty)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ClientDisconnect, _left)
    app.add_exception_handler(Exception, _failed)
    return app


def _add_edge(app: FastAPI, context: Context, hosts: tuple[str, ...], edge: Edge) -> None:
    """What a request passes before the routes; what is added last comes first."""
    app.add_middleware(AddressLimit, limits=context.limits)
    app.add_middleware(Guard, hosts=hosts, secure=edge.secure, address=edge.address)
    app.add_middleware(Draining, stopping=app.state.stopping)
    if edge.logged:
        app.add_middleware(RequestLog)
    if edge.proxies is not None:
        app.add_middleware(BehindProxy, proxies=edge.proxies)


# The page's files.


async def _index(request: Request) -> Response:
    return _file(request, "index.html")


async def _service_worker(request: Request) -> Response:
    """At the root, so that it may serve the whole page."""
    return _file(request, "sw.js")


async def _icon(request: Request) -> Response:
    return _file(request, "icons/icon.svg")


async def _asset(request: Request, path: str) -> Response:
    return _file(request, path)


_FILES: dict[str, Callable[..., Awaitable[Response]]] = {
    "/": _index,
    "/sw.js": _service_worker,
    "/favicon.ico": _icon,
    "/assets/{path:path}": _asset,
}


def _file(request: Request, name: str) -> Response:
    folder: Path = request.app.state.page
    try:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        inside = False
    if not inside:
        raise NotFound(_WORDS[404])
    content = path.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


# Refusals.


async def _refused(connection: HTTPConnection, error: Exception) -> Response:
    status = error.status if isinstance(error, ServerError) else 422
    if isinstance(connection, WebSocket):
        await _close(connection, status, sentence(error))
        return Response()  # not sent
    extra = error.extra if isinstance(error, ServerError) else {}
    return problem(status, sentence(error), headers=_retry(error), **extra)


def _retry(error: Exception) -> dict[str, str]:
    """When to try again, in whole seconds."""
    seconds = error.retry_after if isinstance(error, ServerError) else None
    return {} if seconds is None else {"retry-after": str(max(1, math.ceil(seconds)))}


async def _faulty(connection: HTTPConnection, error: Exception) -> Response:
    """The rules of a game failed: nobody's request is at fault, and the game is as it was."""
    text = of(connection).report(error)
    if isinstance(connection, WebSocket):
        await _close(connection, 500, text)
        return Response()  # not sent
    return problem(500, text)


async def _close(socket: WebSocket, status: int, reason: str) -> None:
    """A WebSocket is refused with 4000 plus the status."""
    with suppress(RuntimeError, WebSocketDisconnect):  # it has closed already
        await socket.close(code=4000 + status, reason=reason[:100])


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    message = printable(str(first["msg"]))[:200]
    return problem(422, f"{printable(place)[:80] or 'The message'}: {message}.")


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = _WORDS.get(error.status_code) or printable(str(error.detail))[:200]
    return problem(error.status_code, sentence, headers=error.headers or {})


async def _left(request: Request, error: Exception) -> Response:
    """Nobody reads this; the log shows the status."""
    return Response(status_code=499)


async def _failed(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "Something went wrong here; the log of the server says what.")
