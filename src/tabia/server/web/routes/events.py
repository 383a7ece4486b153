"""Following games: the WebSocket of a screen, the stream of a bot, and the events of a person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse

from tabia.server.accounts.visitor import PLAY, READ
from tabia.server.errors import ServerError
from tabia.server.play.watching import ENDED, SLOW, Follower
from tabia.server.web import context
from tabia.server.web.dependencies import OneStream
from tabia.server.web.routes.games import Id

router = APIRouter(prefix="/api/v1")
KEEP_ALIVE_SECONDS = 15.0
IDLE_SECONDS = 150.0
"""How long a screen may be silent; browsers let hidden pages send once a minute."""
SEND_SECONDS = 20.0
"""How long a screen may take to read one message."""
CHECK_SECONDS = 60.0
"""How often the session of a screen is looked up again."""
MESSAGES_PER_SECOND, BURST = 10.0, 20
FLOODING = 4429
_CODES = {401: ENDED, 403: 4403, 429: FLOODING}
_TEXT = {"text/event-stream": {"schema": {"type": "string"}}}
_LINES = {"application/x-ndjson": {"schema": {"type": "string"}}}


@router.websocket("/games/{id}/live")
async def live(socket: WebSocket, id: str) -> None:
    """The state at once and after every change; what the client sends only shows that it is there."""
    hub = context.of_socket(socket).hub
    try:
        visitor = await context.visitor(socket)
        visitor.require(READ)
        follower = await hub.watch(visitor, id[:64])
    except ServerError as error:
        await socket.close(code=_CODES.get(error.status, 4404), reason=str(error)[:100])
        return
    try:
        await socket.accept()
        code = await _exchange(socket, follower)
        if code is not None:
            await socket.close(code)
    except (WebSocketDisconnect, RuntimeError, OSError):
        pass  # the screen has gone
    finally:
        hub.unwatch(id, follower)


async def _exchange(socket: WebSocket, follower: Follower) -> int | None:
    """Read and send until one of them ends; the code to close with."""
    tasks = [asyncio.create_task(work(socket, follower)) for work in (_read, _send)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next((task.result() for task in tasks if task.done()), None)
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


async def _send(socket: WebSocket, follower: Follower) -> int | None:
    """Send every state until the follower is closed; the code to close with."""
    while (state := await follower.get()) is not None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await socket.send_json({"type": "state", "state": state})
        except TimeoutError:
            return SLOW
    return follower.closed


async def _read(socket: WebSocket, follower: Follower) -> int | None:
    """Read until the client leaves, is silent for too long, or sends too much; the code to close with.

    A session that another process has ended is noticed when the client says that it is still there.
    """
    loop, accounts = asyncio.get_running_loop(), context.of_socket(socket).accounts
    tokens, last = float(BURST), loop.time()
    checked = last
    while True:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                message = await socket.receive()
        except TimeoutError:
            return SLOW
        if message["type"] == "websocket.disconnect":
            return None
        now = loop.time()
        tokens, last = min(BURST, tokens + MESSAGES_PER_SECOND * (now - last)) - 1, now
        if tokens < 0:
            return FLOODING
        if accounts is not None and now - checked > CHECK_SECONDS:
            checked = now
            if not await accounts.is_current(follower.visitor):
                return ENDED


@router.get("/games/{id}/stream", response_class=StreamingResponse, responses={200: {"content": _LINES}})
async def stream(request: Request, id: Id, _: OneStream) -> StreamingResponse:
    """A game as lines of JSON: `gameFull` first, then `gameState` after every change, until it is over."""
    hub, visitor = context.of(request).hub, await context.visitor(request)
    visitor.require(READ)
    follower = await hub.watch(visitor, id)

    async def lines() -> AsyncIterator[str]:
        try:
            full = True
            async for state in _messages(follower):
                if state is None:
                    yield "\n"
                    continue
                yield json.dumps(_full(state) if full else _changed(state)) + "\n"
                full = False
                if state["status"] == "over":
                    return
        finally:
            hub.unwatch(id, follower)

    return StreamingResponse(lines(), media_type="application/x-ndjson", headers={"x-accel-buffering": "no"})


@router.get("/events", response_class=StreamingResponse, responses={200: {"content": _TEXT}})
async def events(request: Request, _: OneStream) -> StreamingResponse:
    """What happens to a person's games, as server-sent events: `gameStart`, `gameFinish` and `challenge`."""
    hub, visitor = context.of(request).hub, await context.visitor(request)
    visitor.require(PLAY)
    follower = await hub.follow(visitor)

    async def lines() -> AsyncIterator[str]:
        try:
            yield ": events\n\n"
            async for message in _messages(follower):
                if message is None:
                    yield ": still here\n\n"
                else:
                    yield f"event: {message['event']}\ndata: {json.dumps(message['data'])}\n\n"
        finally:
            hub.unfollow(follower)

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _messages(follower: Follower) -> AsyncIterator[dict[str, Any] | None]:
    """Every message until the follower is closed; None where there was none for some seconds."""
    while follower.closed is None:
        try:
            async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                message = await follower.get()
        except TimeoutError:
            yield None
            continue
        if message is None:
            return
        yield message


def _full(state: dict[str, Any]) -> dict[str, Any]:
    kept = {key: state[key] for key in ("id", "game", "rated", "clock", "seats", "you")}
    return {"type": "gameFull", **kept, "state": _changed(state)}


def _changed(state: dict[str, Any]) -> dict[str, Any]:
    kept = {key: state[key] for key in ("version", "status", "clocks", "draw_offer", "ended_by", "result")}
    position = state["position"]
    return {
        "type": "gameState",
        **kept,
        "moves": " ".join(move["move"] for move in state["moves"]),
        "actions": [move["action"] for move in state["moves"]],
        "ply": position["ply"],
        "mover": position["mover"],
        "your_move": state["status"] == "your move",
        "legal": [{"move": legal["move"], "action": legal["action"]} for legal in position["legal"]],
    }
