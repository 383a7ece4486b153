"""Learning: training runs listed, watched, compared, started and stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from tabia.core.trust import names_code
from tabia.server.accounts.visitor import RUNS
from tabia.server.analysis.review import Event
from tabia.server.errors import Forbidden, Refused
from tabia.server.learn.runs import Runs
from tabia.server.web import context
from tabia.server.web import run_answers as answers
from tabia.server.web.dependencies import OneStream
from tabia.server.web.models import GameId, NewRun, ResumeBody, RunName
from tabia.server.web.routes.analysis import EVENTS, events
from tabia.training.config import recipes as shelf

router = APIRouter(prefix="/api/v1")
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
_POLL_SECONDS = 0.5
PROVABLE = ("tictactoe", "connect3")
"""The games small enough to play out every line."""


@router.get("/runs", response_model=answers.RunsAnswer)
async def listed(request: Request) -> Response:
    """All runs."""
    return JSONResponse({"runs": await asyncio.to_thread(context.of(request).runs.listed)})


@router.post("/runs", status_code=201, response_model=answers.RunAnswer)
async def start(request: Request, body: NewRun) -> Response:
    """Start a training."""
    parts = context.of(request)
    runs = await _allowed(request)
    game = parts.catalog.game(body.game).game.id
    _check_recipe(game, body.recipe)
    name = await asyncio.to_thread(
        lambda: runs.trainings.start(game, body.recipe, name=body.name, minutes=body.minutes, seed=body.seed)
    )
    return JSONResponse(runs.trainings.describe(name))


@router.get("/runs/compare", response_model=answers.ComparisonAnswer)
async def compare(request: Request, a: RunName, b: RunName) -> Response:
    """What differs between two runs."""
    return JSONResponse(await asyncio.to_thread(context.of(request).runs.compare, a, b))


@router.get("/runs/estimate", response_model=answers.EstimateAnswer)
async def estimate(
    request: Request, game: GameId, recipe: Annotated[str, Query(min_length=1, max_length=100)]
) -> Response:
    """How long a training would take here."""
    runs = await _allowed(request)
    found = context.of(request).catalog.game(game).game.id
    _check_recipe(found, recipe)
    return JSONResponse(await runs.trainings.estimate(found, recipe))


@router.get("/runs/{name}", response_model=answers.RunDetailAnswer)
async def detail(request: Request, name: Name) -> Response:
    """Everything about a run."""
    return JSONResponse(await asyncio.to_thread(context.of(request).runs.detail, name))


@router.get("/runs/{name}/live", response_class=StreamingResponse, responses={200: {"content": EVENTS}})
async def live(request: Request, name: Name, _: OneStream, after: Annotated[int, Query(ge=0)] = 0) -> StreamingResponse:
    """New lines of metrics after an iteration, and the state, as server-sent events."""
    runs = context.of(request).runs
    if not runs.trainings.is_active(name):
        await asyncio.to_thread(runs.read, name)
    return events(_changes(runs, name, after))


async def _changes(runs: Runs, name: str, after: int) -> AsyncIterator[Event]:
    sent: dict[str, Any] | None = None
    while True:
        state, lines = await asyncio.to_thread(runs.progress, name)
        for line in lines:
            if line["iteration"] > after:
                after = line["iteration"]
                yield "metrics", line
        shown = {key: state[key] for key in ("state", "problem", "checkpoints")}
        if shown != sent:
            yield "state", state
            sent = shown
        await asyncio.sleep(_POLL_SECONDS)


@router.get("/runs/{name}/games", response_model=answers.StoredGamesAnswer)
async def games(request: Request, name: Name, checkpoint: Annotated[int | None, Query(ge=0)] = None) -> Response:
    """Self-play games of a checkpoint."""
    return JSONResponse(await asyncio.to_thread(context.of(request).runs.games, name, checkpoint))


@router.post("/runs/{name}/stop", response_model=answers.RunAnswer)
async def stop(request: Request, name: Name) -> Response:
    """Save and stop a training."""
    runs = await _allowed(request)
    return JSONResponse(await runs.stop(name))


@router.post("/runs/{name}/resume", response_model=answers.RunAnswer)
async def resume(request: Request, name: Name, body: ResumeBody | None = None) -> Response:
    """Resume a run, for some more minutes if it has finished."""
    parts = context.of(request)
    runs = await _allowed(request)
    run = await asyncio.to_thread(runs.read, name)
    game = parts.catalog.game(run.game).game.id
    minutes = None if body is None else body.minutes
    if runs.state(run) == "finished" and minutes is None:
        raise Refused(f"{name} has finished; say how many more minutes to train it.")
    if runs.state(run) in ("starting", "training"):
        raise Refused(f"{name} is being trained already.")
    recipe = str(run.settings.get("recipe", ""))
    own_file = names_code(game)
    await asyncio.to_thread(runs.trainings.resume, name, game, recipe, minutes=minutes, own_file=own_file)
    return JSONResponse(await asyncio.to_thread(runs.summary, name))


@router.get("/runs/{name}/proof", response_model=answers.ProofAnswer)
async def proof(request: Request, name: Name) -> Response:
    """Whether any line of moves beats the newest network of a run."""
    runs = await _allowed(request)
    run = await asyncio.to_thread(runs.read, name)
    game = context.of(request).catalog.game(run.game).game.id
    if game not in PROVABLE:
        raise Refused(f"{game} has too many lines to play them all out; only {', '.join(PROVABLE)} can be proved.")
    return JSONResponse(await runs.trainings.prove(game, runs.weights(name)))


@router.get("/recipes", response_model=list[answers.RecipeAnswer])
async def recipes(request: Request, game: GameId) -> Response:
    """The recipes for a game, the one `tabia train` takes first."""
    found = context.of(request).catalog.game(game).game.id

    def listed() -> list[dict[str, Any]]:
        default = shelf.default(found).name
        every = sorted(shelf.for_game(found), key=lambda recipe: recipe.name != default)
        return [
            {
                "name": recipe.name,
                "about": recipe.about,
                "expect": recipe.expect,
                "device": recipe.device,
                "minutes": recipe.tables.get("minutes"),
            }
            for recipe in every
        ]

    return JSONResponse(await asyncio.to_thread(listed))


async def _allowed(request: Request) -> Runs:
    """The runs, for those who may start processes: the owner of this computer, or an operator."""
    runs = context.of(request).runs
    if not runs.allowed:
        raise Forbidden("This server does not start training runs.")
    (await context.visitor(request)).require(RUNS)
    return runs


def _check_recipe(game: str, recipe: str) -> None:
    known = [found.name for found in shelf.for_game(game)]
    if recipe not in known:
        raise Refused(f"{game} has no such recipe; choose one of {', '.join(known)}.")
