"""A server that stops: answers are finished, streams and WebSockets are closed with a reason.

Uvicorn waits for open answers when it stops, but a stream of events has no end of its own. Clients of a WebSocket get
code 1012 with the reason `restarting`, on which they connect again; Uvicorn itself would close them without a reason,
so it is stopped after them.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

RESTARTING = 1012
_STREAMS = (b"text/event-stream", b"application/x-ndjson")


class Stopping(asyncio.Event):
    """Set once the server stops; knows how many WebSockets are still open."""

    def __init__(self) -> None:
        super().__init__()
        self.sockets = 0

    async def drain(self, seconds: float) -> None:
        """Stop, and wait until the WebSockets are closed, at most this long."""
        self.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.sockets:
                    await asyncio.sleep(0.01)


class Draining:
    """Ends streams and WebSockets once `stopping` is set, in the event loop; a plain ASGI middleware."""

    def __init__(self, app: ASGIApp, stopping: Stopping) -> None:
        self._app, self._stopping = app, stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        accepted = closed = False

        async def sending(message: Message) -> None:
            nonlocal accepted, closed
            if closed:
                return
            accepted |= message["type"] == "websocket.accept"
            closed |= message["type"] == "websocket.close"
            await send(message)

        async def receiving() -> Message:
            message = await self._until_stopping(receive) if accepted else await receive()
            if message is not None:
                return message
            await sending({"type": "websocket.close", "code": RESTARTING, "reason": "restarting"})
            return {"type": "websocket.disconnect", "code": RESTARTING, "reason": "restarting"}

        self._stopping.sockets += 1
        try:
            await self._app(scope, receiving, sending)
        finally:
            self._stopping.sockets -= 1

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_stream = is_ended = False

        async def sending(message: Message) -> None:
            nonlocal is_stream, is_ended
            if message["type"] == "http.response.start":
                kind = dict(message.get("headers", [])).get(b"content-type", b"")
                is_stream = kind.startswith(_STREAMS)
            is_ended |= message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        async def receiving() -> Message:
            message = await self._until_stopping(receive)
            while message is None and not is_stream:  # an ordinary answer is finished
                message = await receive()
            return message or {"type": "http.disconnect"}

        await self._app(scope, receiving, sending)
        if is_stream and not is_ended:
            with suppress(OSError):  # the client has gone
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _until_stopping(self, receive: Receive) -> Message | None:
        """The next message, or None once the server stops."""
        if self._stopping.is_set():
            return None
        getting = asyncio.ensure_future(receive())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({getting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return getting.result() if getting.done() else None
        finally:
            for task in (getting, stopping):
                task.cancel()
