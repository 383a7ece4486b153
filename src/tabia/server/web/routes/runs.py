"""Learning: training runs listed, watched, compared, started and stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import StreamingResponse

from tabia.core.trust import names_code
from tabia.server.accounts.visitor import RUNS
from tabia.server.analysis.review import Event
from tabia.server.errors import Forbidden, Refused
from tabia.server.learn.runs import Runs
from tabia.server.web import context
from tabia.server.web.dependencies import OneStream
from tabia.server.web.models import GameId, NewRun, ResumeBody, RunName
from tabia.server.web.routes.analysis import events
from tabia.training.config import recipes as shelf

router = APIRouter(prefix="/api/v1")
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
_POLL_SECONDS = 0.5
PROVABLE = ("tictactoe", "connect3")
"""The games small enough to play out every line."""


@router.get("/runs")
async def listed(request: Request) -> dict[str, Any]:
    """All runs."""
    return {"runs": await asyncio.to_thread(context.of(request).runs.listed)}


@router.post("/runs", status_code=201)
async def start(request: Request, body: NewRun) -> dict[str, Any]:
    """Start a training."""
    parts = context.of(request)
    runs = await _allowed(request)
    game = parts.catalog.game(body.game).game.id
    _check_recipe(game, body.recipe)
    name = await asyncio.to_thread(
        lambda: runs.trainings.start(game, body.recipe, name=body.name, minutes=body.minutes, seed=body.seed)
    )
    return runs.trainings.describe(name)


@router.get("/runs/compare")
async def compare(request: Request, a: RunName, b: RunName) -> dict[str, Any]:
    """What differs between two runs."""
    return await asyncio.to_thread(context.of(request).runs.compare, a, b)


@router.get("/runs/estimate")
async def estimate(
    request: Request, game: GameId, recipe: Annotated[str, Query(min_length=1, max_length=100)]
) -> dict[str, Any]:
    """How long a training would take here."""
    parts = context.of(request)
    found = parts.catalog.game(game).game.id
    _check_recipe(found, recipe)
    return await (await _allowed(request)).trainings.estimate(found, recipe)


@router.get("/runs/{name}")
async def detail(request: Request, name: Name) -> dict[str, Any]:
    """Everything about a run."""
    return await asyncio.to_thread(context.of(request).runs.detail, name)


@router.get("/runs/{name}/live")
async def live(request: Request, name: Name, _: OneStream, after: Annotated[int, Query(ge=0)] = 0) -> StreamingResponse:
    """New lines of metrics after an iteration, and the state, as server-sent events."""
    runs = context.of(request).runs
    if not runs.trainings.is_active(name):
        await asyncio.to_thread(runs.read, name)
    return events(_changes(runs, name, after))


async def _changes(runs: Runs, name: str, after: int) -> AsyncIterator[Event]:
    sent: dict[str, Any] | None = None
    while True:
        is_new = name not in runs.names()
        state = runs.trainings.describe(name) if is_new else await asyncio.to_thread(runs.summary, name)
        for line in [] if is_new else runs.read(name).lines:
            if line["iteration"] > after:
                after = line["iteration"]
                yield "metrics", line
        shown = {key: state[key] for key in ("state", "problem", "checkpoints")}
        if shown != sent:
            yield "state", state
            sent = shown
        await asyncio.sleep(_POLL_SECONDS)


@router.get("/runs/{name}/games")
async def games(request: Request, name: Name, checkpoint: Annotated[int | None, Query(ge=0)] = None) -> dict[str, Any]:
    """Self-play games of a checkpoint."""
    return await asyncio.to_thread(context.of(request).runs.games, name, checkpoint)


@router.post("/runs/{name}/stop")
async def stop(request: Request, name: Name) -> dict[str, Any]:
    """Save and stop a training."""
    runs = await _allowed(request)
    await runs.trainings.stop(name)
    return await asyncio.to_thread(runs.summary, name)


@router.post("/runs/{name}/resume")
async def resume(request: Request, name: Name, body: ResumeBody | None = None) -> dict[str, Any]:
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
    runs.trainings.resume(name, game, recipe, minutes=minutes, own_file=names_code(game))
    return await asyncio.to_thread(runs.summary, name)


@router.get("/runs/{name}/proof")
async def proof(request: Request, name: Name) -> dict[str, Any]:
    """Whether any line of moves beats the newest network of a run."""
    parts = context.of(request)
    run = await asyncio.to_thread(parts.runs.read, name)
    game = parts.catalog.game(run.game).game.id
    if game not in PROVABLE:
        raise Refused(f"{game} has too many lines to play them all out; only {', '.join(PROVABLE)} can be proved.")
    return await (await _allowed(request)).trainings.prove(game, parts.runs.weights(name))


@router.get("/recipes")
async def recipes(request: Request, game: GameId) -> list[dict[str, Any]]:
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

    return await asyncio.to_thread(listed)


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
