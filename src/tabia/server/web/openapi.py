"""The description of the API at /api/v1/openapi.json: made from the routes, with refusals as problem details.

Answers are sent as they are, without a check against their models; Schemathesis compares both in the tests.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from tabia import __version__
from tabia.server.web.problems import MEDIA_TYPE

PATH = "/api/v1/openapi.json"
ABOUT = (
    "Play, analyze and rate board games. Moves are text or the number of an action; seats count from 0. A request that "
    "is refused gets problem details (RFC 9457), whose `detail` is one sentence that says what to do; 429 and 503 also "
    "carry `Retry-After`. People sign in by cookie on the page; programs send a token."
)
_METHODS = ("get", "post", "put", "patch", "delete")


class Problem(BaseModel):
    """A refusal (RFC 9457); a stale move (409) also carries the current `state` of the game."""

    type: str
    title: str
    status: int
    detail: str
    state: dict[str, Any] | None = None


def add(app: FastAPI) -> None:
    """Serve the description of an application's API."""
    app.add_api_route(PATH, lambda: JSONResponse(description(app)), methods=["GET"], include_in_schema=False)


def description(app: FastAPI) -> dict[str, Any]:
    """The API as an OpenAPI document, made once."""
    if app.openapi_schema is None:
        app.openapi_schema = _described(app)
    return app.openapi_schema


def _described(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(title="Tabia", version=__version__, description=ABOUT, routes=app.routes)
    found["paths"] = {path: operations for path, operations in found["paths"].items() if _is_listed(path)}
    components = found.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    components["responses"] = {
        "Refused": {
            "description": "Refused; `detail` says what to do.",
            "headers": {"Retry-After": {"description": "Seconds; with 429 and 503.", "schema": {"type": "string"}}},
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    }
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "__Host-tabia"},
    }
    found["security"] = [{}, {"token": []}, {"cookie": []}]
    for path, operations in found["paths"].items():
        for method in _METHODS:
            if method in operations:
                _describe(path, operations[method])
    return found


def _is_listed(path: str) -> bool:
    """Whether a path belongs to the API; the page's files do not."""
    return path.startswith("/api/") or path in ("/healthz", "/readyz")


def _describe(path: str, operation: dict[str, Any]) -> None:
    """Refusals as they are; FastAPI describes its own, which are never sent."""
    responses: dict[str, Any] = operation["responses"]
    responses.pop("422", None)
    for status in ("4XX", "503", "507"):
        responses.setdefault(status, {"$ref": "#/components/responses/Refused"})
