"""Review and Explain: positions of any line, analyses, reviews as a stream of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from tabia.core.errors import TabiaError
from tabia.games.boards import position, view
from tabia.games.session import Session
from tabia.server.accounts.visitor import ANALYZE, Visitor
from tabia.server.analysis import asking, exact
from tabia.server.analysis.explain import explain as explained
from tabia.server.analysis.review import Event
from tabia.server.analysis.review import review as reviewed
from tabia.server.catalog.agents import SIMULATIONS, simulations_of, with_simulations
from tabia.server.errors import Refused, sentence
from tabia.server.play.lines import LONGEST_MOVES, line, player_name
from tabia.server.web import analysis_answers as answers
from tabia.server.web import context
from tabia.server.web.context import Context
from tabia.server.web.dependencies import OneAnalysis, while_connected
from tabia.server.web.models import AgentId, GameId

router = APIRouter(prefix="/api/v1")
Moves = Annotated[str, Query(max_length=LONGEST_MOVES)]
_TEXTS = {name: {"type": "string"} for name in ("event", "data")}
EVENTS = {"text/event-stream": {"schema": {"type": "object", "properties": _TEXTS, "required": list(_TEXTS)}}}
"""Server-sent events: a name, and JSON as text."""
Simulations = Annotated[int | None, Query(ge=1, le=SIMULATIONS[-1])]


@router.get("/position", response_model=answers.PositionOfLineAnswer)
async def show(request: Request, game: GameId, moves: Moves = "") -> Response:
    """A position of any line."""
    session = await _line(context.of(request), game, moves)
    shown = await asyncio.to_thread(position, session)
    played = [
        {"move": word, "action": action, "seat": int(session.positions[ply].mover)}
        for ply, (word, action) in enumerate(zip(session.moves, session.actions, strict=True))
    ]
    return JSONResponse({"board": view(session.game).board_dict(), "position": shown, "moves": played})


@router.get("/analyze", response_model=answers.AnalysisAnswer)
async def analyze(
    request: Request,
    _: OneAnalysis,
    game: GameId,
    moves: Moves = "",
    agent: AgentId | None = None,
    simulations: Simulations = None,
    exact_too: Annotated[int, Query(alias="exact", ge=0, le=1)] = 0,
) -> Response:
    """What `tabia analyze --json` says, and the truth about every move where a solver knows it."""
    parts, asker = context.of(request), await _asker(request)
    session = await _line(parts, game, moves)
    spec = _spec(parts, session, agent, simulations)
    parts.limits.simulations(asker, simulations_of(spec))
    return JSONResponse(await while_connected(request, _analyzed(parts, session, spec, exact_too=bool(exact_too))))


async def _analyzed(parts: Context, session: Session, spec: str, *, exact_too: bool) -> dict[str, Any]:
    game = session.game.id
    found = await asyncio.wrap_future(parts.worker.analyze(player_name(game, spec), session))
    shown = asking.to_dict(found)
    if exact_too and parts.catalog.game(game).is_exact and not session.over:
        name = player_name(game, exact.PERFECT)
        shown["exact"] = exact.fields(await asyncio.wrap_future(parts.worker.evaluate(name, session)))
    return shown


@router.get("/review", response_class=StreamingResponse, responses={200: {"content": EVENTS}})
async def review(
    request: Request, _: OneAnalysis, game: GameId, moves: Moves = "", agent: AgentId | None = None
) -> StreamingResponse:
    """Every position of a game, then the moves that mattered, as server-sent events."""
    parts, asker = context.of(request), await _asker(request)
    session = await _line(parts, game, moves)
    spec = _spec(parts, session, agent, None)
    cost = simulations_of(spec)
    found = reviewed(parts, session, spec, afford=lambda: parts.limits.afford(asker, cost))
    return events(found, report=parts.report)


@router.get("/explain", response_model=answers.ExplanationAnswer)
async def explain(
    request: Request,
    _: OneAnalysis,
    game: GameId,
    moves: Moves = "",
    agent: AgentId | None = None,
    simulations: Simulations = 64,
) -> Response:
    """One position three ways."""
    parts, asker = context.of(request), await _asker(request)
    session = await _line(parts, game, moves)
    spec = _spec(parts, session, agent, simulations)
    parts.limits.simulations(asker, simulations_of(spec))
    return JSONResponse(await while_connected(request, explained(parts, session, spec, simulations or 64)))


async def _asker(request: Request) -> Visitor:
    visitor = await context.visitor(request)
    visitor.require(ANALYZE)
    return visitor


async def _line(parts: Context, game: str, moves: str) -> Session:
    return await asyncio.to_thread(line, parts.catalog, game, moves)


def _spec(parts: Context, session: Session, agent: str | None, simulations: int | None) -> str:
    """The player that is asked; only a few sizes of search are compiled."""
    entry = parts.catalog.game(session.game.id)
    spec = parts.catalog.agent(session.game, agent or entry.analyst).spec
    if simulations is None:
        return spec
    if simulations not in SIMULATIONS:
        raise Refused(f"simulations is one of {', '.join(map(str, SIMULATIONS))}, not {simulations}.")
    return with_simulations(spec, simulations)


def events(found: AsyncIterator[Event], *, report: Callable[[Exception], str] = sentence) -> StreamingResponse:
    """Server-sent events; a refusal on the way is an event `error`, and ends the stream."""

    async def lines() -> AsyncIterator[str]:
        try:
            async for name, content in found:
                yield f"event: {name}\ndata: {json.dumps(content)}\n\n"
        except TabiaError as error:
            yield f"event: error\ndata: {json.dumps({'error': report(error)})}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})
