"""Logs of a shared server: one JSON object per line, without names, addresses, ids or texts of people.

A request is its method, the template of its route, status, milliseconds and the role of who asked. An exception is its
type and where it was raised; its message may quote what a person typed, so it is left out.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_log = logging.getLogger("tabia.requests")
_QUIET = ("/healthz", "/readyz")  # asked every few seconds; logged only when they fail
_FRAMES = 6


class Lines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info is not None and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])[-_FRAMES:]
            line["exception"] = record.exc_info[0].__name__
            line["where"] = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(line)


def configure(stream: TextIO | None = None) -> None:
    """Send all logs to a stream, as lines of JSON."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Lines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("tabia").setLevel(logging.INFO)


class RequestLog:
    """Logs every request once it is answered; a plain ASGI middleware, so that it sees streams to their end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        started, status = time.monotonic(), 101 if scope["type"] == "websocket" else 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "websocket.close":
                status = message.get("code", 1000)
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            _write(scope, status, time.monotonic() - started)


def _write(scope: Scope, status: int, seconds: float) -> None:
    route = getattr(scope.get("route"), "path", None)
    if route in _QUIET and status < 400:
        return
    visitor = scope.get("state", {}).get("visitor")
    fields = {
        "method": scope.get("method", "WEBSOCKET"),
        "route": route,  # None: nothing is at this address, or it was refused before
        "status": status,
        "ms": round(1000 * seconds, 1),
        "role": None if visitor is None else str(visitor.role),
    }
    _log.info("request", extra={"fields": fields})
