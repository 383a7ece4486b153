"""Ratings: the leaderboard, one's own rating, the next rated game, and public profiles."""

from __future__ import annotations

import asyncio
import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse

from tabia.evaluation.glicko import Rating
from tabia.server.accounts import names
from tabia.server.accounts.visitor import PLAY, READ, Visitor
from tabia.server.errors import NotFound, Refused
from tabia.server.play.seats import AGENT, HUMAN, Seat
from tabia.server.ratings import matching, rated_games, reading
from tabia.server.ratings.leaderboard import Row
from tabia.server.ratings.rated_games import RatedGame
from tabia.server.ratings.reading import OwnRating
from tabia.server.ratings.scoring import is_provisional
from tabia.server.web import answers, context, models, rating_answers
from tabia.server.web.context import Context
from tabia.server.web.models import GameId

router = APIRouter(prefix="/api/v1")
Name = Annotated[str, Path(min_length=1, max_length=40)]


@router.get("/ratings", response_model=rating_answers.LeaderboardAnswer)
async def leaderboard(request: Request, game: GameId) -> Response:
    """The people of a game by rating, and its agents."""
    parts, reader = context.of(request), await _reader(request)
    rated = rated_games.get(parts.catalog, game)
    return JSONResponse(await asyncio.to_thread(_table, parts, rated, reader.person))


def _table(parts: Context, rated: RatedGame, person: str | None) -> dict[str, Any]:
    with parts.store.database.transaction() as connection:
        rows = reading.table(connection, rated.id, parts.clock.stamp())
    agents = [
        {"id": agent.id, "name": agent.name, "rating": agent.elo, "error": agent.error or 0.0} for agent in rated.agents
    ]
    return {"game": rated.id, "people": [_rank(owner, row, person) for owner, row in rows], "agents": agents}


def _rank(id: str, row: Row, person: str | None) -> dict[str, Any]:
    own = row.standing
    return {
        "rank": row.place,
        "best": row.best,
        "worst": row.worst,
        "name": own.name,
        **_numbers(own.rating),
        "error": round(own.rating.error),
        "games": own.games,
        "you": id == person,
    }


def _numbers(rating: Rating) -> dict[str, Any]:
    return {
        "rating": round(rating.rating),
        "deviation": round(rating.deviation),
        "provisional": is_provisional(rating),
    }


@router.get("/ratings/me", response_model=rating_answers.OwnRatingsAnswer)
async def mine(request: Request) -> Response:
    """One's own rating in every rated game, how far the placement is, and the next opponent."""
    parts, reader = context.of(request), await _reader(request)
    return JSONResponse({"ratings": await asyncio.to_thread(_mine, parts, reader.person)})


def _mine(parts: Context, person: str | None) -> list[dict[str, Any]]:
    found = (rated_games.find(parts.catalog, game) for game in parts.catalog.entries)
    with parts.store.database.transaction() as connection:
        return [
            _own(rated, reading.own(connection, rated, person, parts.clock.stamp(), draw=lambda _: 0))
            for rated in found
            if rated is not None
        ]


def _own(rated: RatedGame, own: OwnRating) -> dict[str, Any]:
    known, opponent = own.known, own.next.opponent
    fixed = rated.agent_rating(opponent.agent)
    numbers = {"rating": None, "deviation": None, "provisional": True} if known is None else _numbers(known.rating)
    return {
        "game": own.game,
        **numbers,
        "games": 0 if known is None else known.games,
        "placement": None if own.placement.done else _placement(own.placement),
        "next": {
            "agent": opponent.agent,
            "name": opponent.name,
            "rating": opponent.elo,
            "deviation": 0.0 if fixed is None else round(fixed.deviation, 1),
            "why": own.next.why,
        },
    }


def _placement(state: matching.Placement) -> dict[str, int]:
    return {"played": state.games, "at_least": matching.LEAST_GAMES, "of": matching.MOST_GAMES}


@router.get("/people/{name}", response_model=rating_answers.ProfileAnswer)
async def person(request: Request, name: Name) -> Response:
    """What everybody may see of a player: ratings and finished rated games."""
    await _reader(request)
    return JSONResponse(await asyncio.to_thread(_profile, context.of(request), name))


def _profile(parts: Context, name: str) -> dict[str, Any]:
    with parts.store.database.transaction() as connection:
        found = reading.profile(connection, parts.catalog, names.key(name), parts.clock.stamp())
    if found is None:
        raise NotFound("There is nobody with this name here.")
    ratings = [{"game": game, **_numbers(known.rating), "games": known.games} for game, known in found.ratings]
    return {**vars(found), "ratings": ratings}


@router.post(
    "/rated",
    status_code=201,
    response_model=answers.StateAnswer,
    responses={200: {"model": answers.StateAnswer, "description": "The rated game that is not over yet."}},
)
async def rated(request: Request, body: models.RatedBody) -> Response:
    """Start the next rated game; a rated game with an agent that is not over comes first."""
    parts, answer = context.of(request), Response()
    game = rated_games.get(parts.catalog, body.game)
    (await context.visitor(request)).require(PLAY)
    if parts.accounts is None:
        raise Refused("Rated games need a server that was started with `tabia serve`.")
    player = await context.player(request, answer)
    async with parts.hub.rated_lock(player):
        running, seats = await asyncio.to_thread(_next, parts, game, player.person or "")
        if running is not None:
            return JSONResponse(await parts.hub.state(player, running))
        state = await parts.hub.create(player, game.id, seats, rated=True)
    sent = JSONResponse(state, 201)
    sent.raw_headers += [pair for pair in answer.raw_headers if pair[0] == b"set-cookie"]
    return sent


def _next(parts: Context, game: RatedGame, person: str) -> tuple[str | None, tuple[Seat, ...]]:
    """The game under way, or the seats of the next one."""
    with parts.store.database.transaction() as connection:
        running = reading.running(connection, person, game.id)
        found = reading.own(connection, game, person, parts.clock.stamp(), draw=secrets.randbelow).next
    seats = (Seat(HUMAN) if seat == found.seat else Seat(AGENT, found.opponent.agent) for seat in range(game.seats))
    return running, tuple(seats)


async def _reader(request: Request) -> Visitor:
    visitor = await context.visitor(request)
    visitor.require(READ)
    return visitor
