"""Playing: the catalog, games, their moves, and the WebSocket that sends every change."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response, WebSocket, WebSocketDisconnect

from tabia import __version__
from tabia.server.errors import ServerError
from tabia.server.play import hints, importing
from tabia.server.play.lines import player_name
from tabia.server.play.live import Seat
from tabia.server.web import context
from tabia.server.web.models import GameId, ImportBody, LevelBody, MoveBody, NewGame, PlyBody, RematchBody, ResignBody

router = APIRouter(prefix="/api/v1")
Id = Annotated[str, Path(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9_-]+$")]
State = dict[str, Any]


@router.get("/catalog")
async def catalog(request: Request) -> dict[str, Any]:
    """The games, their boards and agents."""
    parts = context.of(request)

    def listed() -> list[dict[str, Any]]:
        return parts.catalog.to_dict(lambda game, spec: parts.worker.is_ready(player_name(game.id, spec)))

    return {
        "version": __version__,
        "games": await asyncio.to_thread(listed),
        "default": parts.catalog.default,
        "mode": parts.mode,
        "sign_up": parts.sign_up,
        "runs_allowed": parts.runs.allowed,
    }


@router.post("/games", status_code=201)
async def create(request: Request, body: NewGame) -> State:
    """Start a game."""
    seats = tuple(Seat(seat.kind, seat.agent) for seat in body.seats)
    return await context.of(request).hub.create(body.game, seats, body.moves)


@router.get("/games")
async def listed(
    request: Request,
    finished: bool | None = None,
    game: GameId | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """The newest games."""
    return {"games": await context.of(request).hub.listed(finished=finished, game=game, limit=limit)}


@router.get("/games/{id}")
async def show(request: Request, id: Id) -> State:
    """A game as it is now."""
    return await context.of(request).hub.state(id)


@router.post("/games/{id}/moves")
async def move(request: Request, id: Id, body: MoveBody) -> State:
    """A person's move."""
    return await context.of(request).hub.move(id, body.ply, body.action)


@router.post("/games/{id}/undo")
async def undo(request: Request, id: Id, body: PlyBody) -> State:
    """Back to the last turn of a person."""
    return await context.of(request).hub.undo(id, body.ply)


@router.post("/games/{id}/resign")
async def resign(request: Request, id: Id, body: ResignBody) -> State:
    """A person gives up."""
    return await context.of(request).hub.resign(id, body.ply, body.seat)


@router.post("/games/{id}/rematch", status_code=201)
async def rematch(request: Request, id: Id, body: RematchBody) -> State:
    """A new game of the same seats."""
    return await context.of(request).hub.rematch(id, swap=body.swap)


@router.post("/games/{id}/level")
async def level(request: Request, id: Id, body: LevelBody) -> State:
    """Another opponent."""
    return await context.of(request).hub.change_agent(id, body.seat, body.agent)


@router.post("/games/{id}/now")
async def now(request: Request, id: Id, body: PlyBody) -> State:
    """Serve this game's search first."""
    return await context.of(request).hub.hurry(id, body.ply)


@router.get("/games/{id}/hint")
async def hint(request: Request, id: Id, ply: Annotated[int, Query(ge=0, le=1_000_000)]) -> dict[str, Any]:
    """A good move and why."""
    parts = context.of(request)
    return await hints.hint(parts, await parts.hub.live(id), ply)


@router.get("/games/{id}/record")
async def record(request: Request, id: Id) -> Response:
    """The game as a text that reads back exactly."""
    parts = context.of(request)
    game = await parts.hub.live(id)
    text = importing.text(parts.catalog, game)
    headers = {"content-disposition": f'attachment; filename="tabia-{id}.txt"'}
    return Response(text, media_type="text/plain; charset=utf-8", headers=headers)


@router.post("/import")
async def import_text(request: Request, body: ImportBody) -> dict[str, Any]:
    """The game and the moves of a record or a line of moves."""
    return await asyncio.to_thread(importing.parse, context.of(request).catalog, body.text, body.game)


@router.websocket("/games/{id}/live")
async def live(socket: WebSocket, id: str) -> None:
    """The state at once and after every change; messages from the client are ignored."""
    hub = context.of_socket(socket).hub
    try:
        watcher = await hub.watch(id[:64])
    except ServerError as error:
        await socket.close(code=4404, reason=str(error)[:100])
        return
    await socket.accept()
    reading = asyncio.create_task(_until_closed(socket))
    try:
        while not reading.done():
            waiting = asyncio.create_task(watcher.get())
            done, _ = await asyncio.wait({waiting, reading}, return_when=asyncio.FIRST_COMPLETED)
            if waiting not in done:
                waiting.cancel()
                break
            await socket.send_json({"type": "state", "state": waiting.result()})
    except (WebSocketDisconnect, RuntimeError):
        pass  # the screen has gone
    finally:
        hub.unwatch(id, watcher)
        reading.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await reading


async def _until_closed(socket: WebSocket) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
