"""What the routes need: the parts of one server, made together and closed together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from fastapi import FastAPI, Request, WebSocket

from tabia.players import Player
from tabia.players import make as make_player
from tabia.server.analysis.worker import Worker
from tabia.server.catalog.catalog import EVERYTHING, Allowed, Catalog
from tabia.server.database.store import Store
from tabia.server.learn.runs import Runs
from tabia.server.play.hub import Hub
from tabia.server.web.limits import Limits, NoLimits


@dataclass(frozen=True, eq=False)
class Context:
    """The parts of a server."""

    catalog: Catalog
    worker: Worker
    store: Store
    hub: Hub
    runs: Runs
    limits: Limits = NoLimits()


def make_context(
    games: tuple[str, ...],
    *,
    data: Path,
    runs: Path,
    sizes: tuple[int, ...] | None = None,
    training: bool = True,
    limits: Limits | None = None,
    allowed: Allowed = EVERYTHING,
) -> Context:
    """The parts for the games an operator allows."""
    directory = Runs(runs, allowed=training)
    catalog = Catalog(games, runs=directory, allowed=allowed)

    def make(name: str) -> Player:
        game, _, spec = name.partition("\t")
        return make_player(spec, catalog.game(game).game)

    worker = Worker(make) if sizes is None else Worker(make, sizes=sizes)
    store = Store(data)
    hub = Hub(catalog, worker, store)
    return Context(
        catalog=catalog, worker=worker, store=store, hub=hub, runs=directory, limits=limits or NoLimits()
    )


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Close everything when the server stops; running trainings save and stop."""
    yield
    context = cast(Context, app.state.context)
    context.worker.close()
    await context.runs.close()
    context.store.close()


def of(request: Request) -> Context:
    """The parts of the server that got a request."""
    return cast(Context, request.app.state.context)


def of_socket(socket: WebSocket) -> Context:
    """The parts of the server that a WebSocket is connected to."""
    return cast(Context, socket.app.state.context)
