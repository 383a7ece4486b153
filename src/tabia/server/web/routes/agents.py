"""Agents: those of a game, their versions, and the one closest above a rating."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from tabia.server.accounts.visitor import READ
from tabia.server.catalog.catalog import Catalog
from tabia.server.ratings import matching, rated_games
from tabia.server.web import context, engine_answers
from tabia.server.web.models import GameId

router = APIRouter(prefix="/api/v1")
AgentPath = Annotated[str, Path(min_length=1, max_length=200)]
Points = Annotated[float, Query(ge=-100_000, le=100_000, allow_inf_nan=False)]


@router.get("/agents", response_model=engine_answers.AgentsAnswer)
async def listed(request: Request, game: GameId) -> Response:
    """The agents of a game: levels, classical players, the solver, shipped networks and runs."""
    catalog = await _catalog(request)
    rules = catalog.game(game).game
    found = await asyncio.to_thread(catalog.families, rules)
    shown = [
        {
            "id": agent.id,
            "name": agent.name,
            "about": agent.about,
            "technical": agent.technical,
            "elo": agent.elo,
            "error": agent.error,
            "group": agent.group,
        }
        for agent in found
    ]
    return JSONResponse({"game": rules.id, "agents": shown})


@router.get("/agents/closest", response_model=engine_answers.ClosestAnswer)
async def closest(request: Request, game: GameId, rating: Points) -> Response:
    """The agent with the smallest rating at or above a rating; the strongest if there is none."""
    rated = rated_games.get(await _catalog(request), game)
    found = matching.closest_higher(rated.opponents, rating)
    return JSONResponse(
        {
            "game": rated.id,
            "agent": found.agent,
            "name": found.name,
            "rating": found.elo,
            "higher": found.elo >= rating,
        }
    )


@router.get("/agents/{id}/versions", response_model=engine_answers.VersionsAnswer)
async def versions(request: Request, id: AgentPath, game: GameId) -> Response:
    """The versions of an agent."""
    catalog = await _catalog(request)
    rules = catalog.game(game).game
    found = await asyncio.to_thread(catalog.versions, rules, id)
    return JSONResponse({"game": rules.id, "agent": id, "versions": [asdict(version) for version in found]})


async def _catalog(request: Request) -> Catalog:
    (await context.visitor(request)).require(READ)
    return context.of(request).catalog
