"""The web application: routes, refusals in one sentence, and the page's files."""

from __future__ import annotations

import hashlib
import logging
import math
import mimetypes
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from tabia.core.errors import TabiaError
from tabia.core.text import printable
from tabia.server.errors import NotFound, ServerError, sentence
from tabia.server.web.context import Context, lifespan
from tabia.server.web.problems import problem
from tabia.server.web.routes import accounts, analysis, games, runs
from tabia.server.web.security import LOCAL, Guard

_log = logging.getLogger("tabia.server")
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
_WORDS = {404: "There is nothing at this address.", 405: "This address does not take that method."}


def create_app(context: Context, *, hosts: Iterable[str] = LOCAL, page: Path | None = None) -> FastAPI:
    """The application over the parts of a server; `page` is the folder of the page's files."""
    app = FastAPI(title="Tabia", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.context = context
    app.state.page = page or Path(str(resources.files("tabia.server") / "page"))
    app.add_middleware(Guard, hosts=tuple(hosts))
    for router in (games.router, accounts.router, analysis.router, runs.router):
        app.include_router(router)
    app.add_api_route("/", _index, methods=["GET", "HEAD"])
    app.add_api_route("/sw.js", _service_worker, methods=["GET", "HEAD"])
    app.add_api_route("/favicon.ico", _icon, methods=["GET", "HEAD"])
    app.add_api_route("/assets/{path:path}", _asset, methods=["GET", "HEAD"])
    app.add_exception_handler(TabiaError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _failed)
    return app


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


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, ServerError) else 422
    extra = error.extra if isinstance(error, ServerError) else {}
    return problem(status, sentence(error), headers=_retry(error), **extra)


def _retry(error: Exception) -> dict[str, str]:
    """When to try again, in whole seconds."""
    seconds = error.retry_after if isinstance(error, ServerError) else None
    return {} if seconds is None else {"retry-after": str(max(1, math.ceil(seconds)))}


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


async def _failed(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "Something went wrong here; the terminal that runs `tabia play` says what.")
