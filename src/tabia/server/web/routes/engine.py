"""The engine: the move of an agent in any position, and analyses as a stream of lines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from tabia.core.errors import TabiaError
from tabia.games.session import Session
from tabia.players import Analysis
from tabia.server.accounts.visitor import ANALYZE, Visitor
from tabia.server.analysis import asking, katago
from tabia.server.catalog.agents import SIMULATIONS, simulations_of, with_simulations
from tabia.server.catalog.versions import Chosen
from tabia.server.errors import Refused
from tabia.server.play.lines import line, player_name
from tabia.server.web import context, engine_answers
from tabia.server.web.context import Context
from tabia.server.web.dependencies import OneAnalysis, while_connected
from tabia.server.web.models import AnalyzeBody, ChooseBody, EngineBody

router = APIRouter(prefix="/api/v1")
_DURING = (16, 128)  # the sizes of search that are reported on the way to a larger one
_LINES = {
    "application/x-ndjson": {
        "schema": {"type": "string"},
        "x-line-schema": engine_answers.AnalysisLine.model_json_schema(),
    }
}


@router.post("/choose", response_model=engine_answers.ChoiceAnswer)
async def choose(request: Request, body: ChooseBody) -> Response:
    """The move of an agent in a position; the same request gets the same move."""
    parts, asker = context.of(request), await _asker(request)
    session = await asyncio.to_thread(line, parts.catalog, body.game, body.moves)
    if session.over:
        raise Refused("The game is over after these moves, so there is no move to choose.")
    chosen, spec = await asyncio.to_thread(_chosen, parts, session, body)
    parts.limits.simulations(asker, simulations_of(spec))
    found = await while_connected(request, _choice(parts, session, spec))
    assert found.move is not None
    return JSONResponse(
        {
            "move": found.move,
            "action": asking.action(session, found.move),
            "agent": chosen.agent.id,
            "version": chosen.version,
            "note": chosen.note,
            "winrate": None if found.expected is None else round((found.expected[session.mover] + 1.0) / 2.0, 4),
        }
    )


async def _choice(parts: Context, session: Session, spec: str) -> Analysis:
    return await asyncio.wrap_future(parts.worker.choose_alone(player_name(session.game.id, spec), session))


@router.post("/analyze", response_class=StreamingResponse, responses={200: {"content": _LINES}})
async def analyze(request: Request, body: AnalyzeBody, _: OneAnalysis) -> StreamingResponse:
    """Positions of a line as lines of JSON, with the fields of KataGo's analysis engine."""
    parts, asker = context.of(request), await _asker(request)
    session = await asyncio.to_thread(line, parts.catalog, body.game, body.moves)
    turns = [session.ply] if body.turns is None else body.turns
    if any(turn > session.ply for turn in turns):
        raise Refused(f"The line has {session.ply} moves, so the turns are from 0 to {session.ply}.")
    spec = (await asyncio.to_thread(_chosen, parts, session, body))[1]
    lines = _lines(parts, asker, body, [session.at(turn) for turn in turns], spec)
    return StreamingResponse(lines, media_type="application/x-ndjson", headers={"x-accel-buffering": "no"})


async def _lines(
    parts: Context, asker: Visitor, body: AnalyzeBody, positions: list[Session], spec: str
) -> AsyncIterator[str]:
    """One line per position, or several if the search is reported on its way; a refusal is a line too."""
    size = simulations_of(spec)
    before = [with_simulations(spec, few) for few in _DURING if few < size] if body.during_search else []
    try:
        for session in positions:
            for asked in [spec] if session.over else [*before, spec]:
                await parts.limits.afford(asker, simulations_of(asked))
                name = player_name(session.game.id, asked)
                found = await asyncio.wrap_future(parts.worker.analyze(name, session))
                yield json.dumps(katago.line(body.id, session, found, during_search=asked != spec)) + "\n"
    except TabiaError as error:
        yield json.dumps({"id": body.id, "error": parts.report(error)}) + "\n"


def _chosen(parts: Context, session: Session, body: EngineBody) -> tuple[Chosen, str]:
    """The agent in the version that answers, and its spec with the simulations asked for."""
    agent = body.agent or parts.catalog.game(session.game.id).analyst
    chosen = parts.catalog.choose(session.game, agent, body.version)
    if body.simulations is None:
        return chosen, chosen.agent.spec
    if body.simulations not in SIMULATIONS:
        raise Refused(f"simulations is one of {', '.join(map(str, SIMULATIONS))}, not {body.simulations}.")
    return chosen, with_simulations(chosen.agent.spec, body.simulations)


async def _asker(request: Request) -> Visitor:
    visitor = await context.visitor(request)
    visitor.require(ANALYZE)
    return visitor
