"""What routes depend on: the limits of a visitor, and an asker that is still there."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from tabia.server.web import context
from tabia.server.web.limits import Limits
from tabia.server.web.problems import problem

Found = TypeVar("Found")


class AddressLimit:
    """Counts the API requests of an address, before anyone looks up who asks; a plain ASGI middleware."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wait = 0.0
        if scope["type"] in ("http", "websocket") and scope["path"].startswith("/api"):
            wait = self._limits.from_address((scope.get("client") or ("",))[0])
        if not wait:
            await self._app(scope, receive, send)
            return
        sentence, seconds = "Too many requests come from your address; try again later.", math.ceil(wait)
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4429, "reason": sentence})
        else:
            await problem(429, sentence, headers={"retry-after": str(seconds)})(scope, receive, send)


async def limited(connection: HTTPConnection) -> AsyncIterator[None]:
    """Count a request of a visitor, and a WebSocket as long as it is open."""
    limits, visitor = context.of(connection).limits, await context.visitor(connection)
    limits.request(visitor)
    if connection.scope["type"] == "websocket":
        with limits.socket(visitor):
            yield
    else:
        yield


async def one_analysis(request: Request) -> AsyncIterator[None]:
    """Let a visitor ask for one analysis at a time."""
    async with context.of(request).limits.analysis(await context.visitor(request)):
        yield


async def one_stream(request: Request) -> AsyncIterator[None]:
    """Count a stream of events among the open connections of a visitor."""
    with context.of(request).limits.socket(await context.visitor(request)):
        yield


OneAnalysis = Annotated[None, Depends(one_analysis)]
OneStream = Annotated[None, Depends(one_stream)]


async def while_connected(request: Request, work: Coroutine[Any, Any, Found]) -> Found:
    """The result of some work, which is canceled when the client has left."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
