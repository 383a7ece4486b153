"""Refusals as problem details (RFC 9457): `type`, `title`, `status`, and one sentence in `detail`."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"


def problem(status: int, detail: str, *, headers: Mapping[str, str] | None = None, **extra: Any) -> JSONResponse:
    """A refusal with one sentence that says what to do; `extra` are further members of the problem."""
    content = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **extra}
    return JSONResponse(content, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)
