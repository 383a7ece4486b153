"""What the routes need: the parts of one server, made together and closed together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from fastapi import FastAPI, Request, Response, WebSocket
from starlette.requests import HTTPConnection

from tabia.players import Player
from tabia.players import make as make_player
from tabia.server import faults
from tabia.server.accounts.accounts import AccountOptions, Accounts
from tabia.server.accounts.visitor import Visitor, owner
from tabia.server.analysis.int8 import make_int8
from tabia.server.analysis.worker import Worker
from tabia.server.catalog.catalog import EVERYTHING, Allowed, Catalog
from tabia.server.clock import Clock
from tabia.server.database.store import Store
from tabia.server.errors import StoreError
from tabia.server.learn.runs import Runs
from tabia.server.play.hub import Hub
from tabia.server.ratings.book import Ratings
from tabia.server.web.limits import Limits, NoLimits

_DAY = 86400.0  # seconds


@dataclass(frozen=True, eq=False)
class Context:
    """The parts of a server; `accounts` is None in local mode."""

    catalog: Catalog
    worker: Worker
    store: Store
    hub: Hub
    runs: Runs
    ratings: Ratings
    accounts: Accounts | None = None
    clock: Clock = field(default_factory=Clock)
    limits: Limits = field(default_factory=NoLimits)

    @property
    def mode(self) -> str:
        """What the page shows: `local` is one person at this computer, `shared` a server with accounts."""
        return "local" if self.accounts is None else "shared"

    def report(self, error: Exception) -> str:
        """The sentence about an error for a screen of this server."""
        return faults.report(error, shared=self.mode == "shared")

    @property
    def sign_up(self) -> str | None:
        """Who may create an account: anyone (`open`), or only those with an invitation (`invite`)."""
        if self.accounts is None:
            return None
        return "invite" if self.accounts.options.invite_only else "open"


def make_context(
    games: tuple[str, ...],
    *,
    data: Path | str,
    runs: Path,
    sizes: tuple[int, ...] | None = None,
    training: bool = True,
    people: AccountOptions | None = None,
    clock: Clock | None = None,
    limits: Limits | None = None,
    allowed: Allowed = EVERYTHING,
    int8: bool = False,
) -> Context:
    """The parts for the games an operator allows; `data` is a directory or the URL of a database.

    With `people` the server is shared; without, it is for the person at this computer. With `int8` networks are
    evaluated in 8 bits where they can be.
    """
    directory = Runs(runs, allowed=training)
    catalog = Catalog(games, runs=directory, allowed=allowed)

    def make(name: str) -> Player:
        game, _, spec = name.partition("\t")
        return (make_int8 if int8 else make_player)(spec, catalog.game(game).game)

    worker = Worker(make) if sizes is None else Worker(make, sizes=sizes)
    store, clock = Store(data), clock or Clock()
    ratings = Ratings(catalog, store.database)
    return Context(
        catalog=catalog,
        worker=worker,
        store=store,
        hub=Hub(catalog, worker, store, clock=clock, shared=people is not None, ratings=ratings),
        runs=directory,
        ratings=ratings,
        accounts=None if people is None else Accounts(store.database, people, clock),
        clock=clock,
        limits=limits or NoLimits(),
    )


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Close everything when the server stops; running trainings save and stop."""
    context = cast(Context, app.state.context)
    cleaning = asyncio.create_task(_clean_daily(context))
    yield
    cleaning.cancel()
    context.worker.close()
    await context.hub.close()
    await context.runs.close()
    if context.accounts is not None:
        context.accounts.close()
    context.store.close()


async def _clean_daily(context: Context) -> None:
    """Remove what nobody can use any more, at the start and once a day."""
    while context.accounts is not None:
        with suppress(StoreError):  # tried again tomorrow
            await asyncio.to_thread(context.accounts.clean)
        await asyncio.sleep(_DAY)


def of(connection: HTTPConnection) -> Context:
    """The parts of the server that got a request."""
    return cast(Context, connection.app.state.context)


def of_socket(socket: WebSocket) -> Context:
    """The parts of the server that a WebSocket is connected to."""
    return cast(Context, socket.app.state.context)


async def visitor(connection: HTTPConnection) -> Visitor:
    """Who sent a request or opened a WebSocket: the owner in local mode, otherwise by cookie or token; asked once."""
    found: Visitor | None = getattr(connection.state, "visitor", None)
    if found is None:
        found = connection.state.visitor = await _visitor(connection)
    return found


async def _visitor(connection: HTTPConnection) -> Visitor:
    accounts = of(connection).accounts
    if accounts is None:
        return owner()
    address = connection.client.host if connection.client is not None else ""
    often = connection.url.path.startswith("/api/v1/games/")
    return await accounts.visitor(connection.cookies, connection.headers.get("authorization"), address, recent=often)


async def player(request: Request, response: Response) -> Visitor:
    """Who sent a request, as somebody who can hold a seat: a stranger becomes a guest, whose cookie is set."""
    accounts, found = of(request).accounts, await visitor(request)
    if accounts is None:
        return found
    found, cookie = await accounts.ensure_person(found)
    if cookie is not None:
        cookie.put(response)
        request.state.visitor = found
    return found
