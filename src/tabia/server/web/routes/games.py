"""Playing: the catalog, games and their moves. Following a game is in `events`."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from tabia import __version__
from tabia.server.accounts.visitor import PLAY, READ, Visitor
from tabia.server.errors import NotFound, Refused
from tabia.server.play import hints, importing
from tabia.server.play.clocks import TimeControl
from tabia.server.play.lines import player_name
from tabia.server.play.seats import AGENT, Seat
from tabia.server.web import answers, context, models
from tabia.server.web.dependencies import OneAnalysis, while_connected
from tabia.server.web.models import GameId

router = APIRouter(prefix="/api/v1")
_TEXT = {"text/plain": {"schema": {"type": "string"}}}
Id = Annotated[str, Path(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9_-]+$")]


@router.get("/catalog", response_model=answers.CatalogAnswer)
async def catalog(request: Request) -> Response:
    """The games, their boards and agents."""
    parts = context.of(request)

    def listed() -> list[dict[str, Any]]:
        return parts.catalog.to_dict(lambda game, spec: parts.worker.is_ready(player_name(game.id, spec)))

    return JSONResponse(
        {
            "version": __version__,
            "games": await asyncio.to_thread(listed),
            "default": parts.catalog.default,
            "mode": parts.mode,
            "runs_allowed": parts.runs.allowed,
            "sign_up": parts.sign_up,
        }
    )


@router.post("/games", status_code=201, response_model=answers.StateAnswer)
async def create(request: Request, body: models.NewGame) -> Response:
    """Start a game."""
    seats = tuple(Seat(seat.kind, seat.agent, name=seat.name) for seat in body.seats)
    if any(seat.name is not None and seat.kind != "open" for seat in seats):
        raise Refused("Only an open seat is kept for somebody by name.")
    if body.rated and any(seat.kind == AGENT for seat in seats):
        raise Refused("The agent of a rated game is chosen by your rating: POST /api/v1/rated.")
    answer = Response()
    player = await _player(request, answer)
    state = await context.of(request).hub.create(
        player,
        body.game,
        seats,
        body.moves,
        rated=body.rated,
        clock=None if body.clock is None else TimeControl(body.clock.initial_s, body.clock.increment_s),
        visibility=body.visibility,
    )
    return _sent(state, answer, status=201)


@router.get("/games", response_model=answers.ListAnswer)
async def listed(
    request: Request,
    finished: bool | None = None,
    game: GameId | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """The newest games: one's own, or all of this computer."""
    reader = await _reader(request)
    found = await context.of(request).hub.listed(reader, finished=finished, game=game, limit=limit)
    return JSONResponse({"games": found})


@router.get("/games/join", response_model=answers.InvitationAnswer)
async def invitation(request: Request, code: models.Code) -> Response:
    """What a secret link leads to."""
    await _reader(request)
    game = await context.of(request).hub.invited(code)
    if game.status != "waiting":
        raise NotFound("Nobody else can join this game; start one of your own.")
    by = game.seats[game.people[0]].name
    clock = None if game.clocks is None else game.clocks.control.to_dict()
    seat = game.open_seats[0]
    return JSONResponse(
        {"game": game.session.game.id, "by": by or "", "clock": clock, "rated": game.rated, "seat": seat}
    )


@router.post("/games/join", response_model=answers.StateAnswer)
async def join(request: Request, body: models.JoinBody) -> Response:
    """Take the open seat that a secret link leads to."""
    hub, answer = context.of(request).hub, Response()
    await hub.invited(body.code)  # nobody becomes a guest for a link that leads nowhere
    return _sent(await hub.join(await _player(request, answer), body.code), answer)


@router.get("/games/{id}", response_model=answers.StateAnswer)
async def show(request: Request, id: Id) -> Response:
    """A game as it is now."""
    return _sent(await context.of(request).hub.state(await _reader(request), id))


@router.post("/games/{id}/moves", response_model=answers.StateAnswer)
async def move(request: Request, id: Id, body: models.MoveBody) -> Response:
    """A person's move; a repeat of the last one gets the same answer."""
    return _sent(await context.of(request).hub.move(await _actor(request), id, body.ply, body.action))


@router.post("/games/{id}/undo", response_model=answers.StateAnswer)
async def undo(request: Request, id: Id, body: models.PlyBody) -> Response:
    """Back to the last turn of a person."""
    return _sent(await context.of(request).hub.undo(await _actor(request), id, body.ply))


@router.post("/games/{id}/resign", response_model=answers.StateAnswer)
async def resign(request: Request, id: Id, body: models.ResignBody) -> Response:
    """A person gives up, or cancels a game that waits for somebody."""
    return _sent(await context.of(request).hub.resign(await _actor(request), id, body.ply, body.seat))


@router.post("/games/{id}/draw", response_model=answers.StateAnswer)
async def draw(request: Request, id: Id, body: models.PlyBody) -> Response:
    """Offer a draw, or accept the other's offer."""
    return _sent(await context.of(request).hub.draw(await _actor(request), id, body.ply))


@router.post("/games/{id}/rematch", status_code=201, response_model=answers.StateAnswer)
async def rematch(request: Request, id: Id, body: models.RematchBody) -> Response:
    """A new game of the same seats; another person must accept it."""
    return _sent(await context.of(request).hub.rematch(await _actor(request), id, swap=body.swap), status=201)


@router.post("/games/{id}/level", response_model=answers.StateAnswer)
async def level(request: Request, id: Id, body: models.LevelBody) -> Response:
    """Another opponent."""
    return _sent(await context.of(request).hub.change_agent(await _actor(request), id, body.seat, body.agent))


@router.post("/games/{id}/now", response_model=answers.StateAnswer)
async def now(request: Request, id: Id, body: models.PlyBody) -> Response:
    """Serve this game's search first."""
    return _sent(await context.of(request).hub.hurry(await _actor(request), id, body.ply))


@router.get("/games/{id}/hint", response_model=answers.HintAnswer)
async def hint(request: Request, id: Id, _: OneAnalysis, ply: Annotated[int, Query(ge=0, le=1_000_000)]) -> Response:
    """A good move and why."""
    parts, player = context.of(request), await _actor(request)
    game = await parts.hub.live(player, id)
    parts.limits.simulations(player, hints.cost(parts.catalog, game))
    return JSONResponse(await while_connected(request, hints.hint(parts, game, ply, player.person)))


@router.get(
    "/games/{id}/record",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def record(request: Request, id: Id) -> Response:
    """The game as a text that reads back exactly."""
    parts = context.of(request)
    game = await parts.hub.live(await _reader(request), id)
    text = importing.text(parts.catalog, game)
    headers = {"content-disposition": f'attachment; filename="tabia-{id}.txt"'}
    return Response(text, media_type="text/plain; charset=utf-8", headers=headers)


@router.post("/import", response_model=answers.LineAnswer)
async def import_text(request: Request, body: models.ImportBody) -> Response:
    """The game and the moves of a record or a line of moves."""
    await _reader(request)
    return JSONResponse(await asyncio.to_thread(importing.parse, context.of(request).catalog, body.text, body.game))


def _sent(state: dict[str, Any], answer: Response | None = None, *, status: int = 200) -> Response:
    """A state as it is, with the cookie of a new guest."""
    sent = JSONResponse(state, status)
    sent.raw_headers += [] if answer is None else [pair for pair in answer.raw_headers if pair[0] == b"set-cookie"]
    return sent


async def _player(request: Request, answer: Response) -> Visitor:
    """Who takes a seat: a stranger becomes a guest."""
    (await context.visitor(request)).require(PLAY)
    return await context.player(request, answer)


async def _actor(request: Request) -> Visitor:
    visitor = await context.visitor(request)
    visitor.require(PLAY)
    return visitor


async def _reader(request: Request) -> Visitor:
    visitor = await context.visitor(request)
    visitor.require(READ)
    return visitor
