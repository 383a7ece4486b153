"""SIGKILL under load: every move and every rating that was acknowledged is there afterward, once.

People play rated and casual games of Connect 4. The server is killed and started again on the same database; or
PostgreSQL is killed while the server runs. `tools/load.py` has the players.
"""

from __future__ import annotations

import asyncio
import importlib.util
import random
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tabia.server.catalog.catalog import Catalog
from tabia.server.database.engines import open_database
from tabia.server.ratings.recount import recount
from tests.server.databases import Postgres
from tests.server.running import run

PLAYERS = 10
_NEWEST = 3  # games of each person that are read after a kill; all are read at the end
OPTIONS = ["--address-limit", "100000", *(f"--agents={agent}" for agent in ("level:first-steps", "level:hobby"))]


def _load() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "load.py"
    spec = importlib.util.spec_from_file_location("tabia_load", path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


load = _load()


class RatedPlayer(load.Player):  # type: ignore[misc, name-defined]
    """A person whose games are rated."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.changes: dict[str, int] = {}  # the acknowledged rating after each finished game

    async def start(self) -> dict[str, Any]:
        return await self._asked("POST", "rated", {"game": load.GAME}, (200, 201))

    def _check(self, state: dict[str, Any]) -> None:
        super()._check(state)
        after = _rating_after(state)
        if after is not None:
            self.changes[state["id"]] = after

    async def verify(self, newest: int = sys.maxsize) -> int:
        """Ratings too; the newest may be of a later game, whose end was stored but not acknowledged."""
        found = await super().verify(newest)
        for name, after in list(self.changes.items())[-newest:]:
            state = await self._asked("GET", f"games/{name}", None)
            assert _rating_after(state) == after, "an acknowledged rating was lost"
        return int(found)


def _rating_after(state: dict[str, Any]) -> int | None:
    changes = state["rating_change"]
    own = changes[state["you"][0]] if changes is not None and state["you"] else None
    return None if own is None else int(own["after"])


class Town:
    """People who go on playing across restarts of the server."""

    def __init__(self) -> None:
        self.counts = load.Counts()
        agents = ["level:first-steps", "level:hobby"]
        kinds = [RatedPlayer if seed % 2 else load.Player for seed in range(PLAYERS)]
        self.players = [kind(0, agents, self.counts, seed=seed, think=(0.1, 0.6)) for seed, kind in enumerate(kinds)]

    async def play(self, port: int, disturb: Any) -> None:
        """Play while something happens, and stop."""
        for player in self.players:
            player.http.close()
            player.http.port = port
        playing = [asyncio.create_task(player.play(float("inf"))) for player in self.players]
        try:
            await disturb()
        finally:
            for task in playing:
                task.cancel()
            for task in playing:
                with suppress(asyncio.CancelledError):
                    await task

    async def leave(self) -> None:
        """Close all connections."""
        for player in self.players:
            player.http.close()
        await asyncio.sleep(0.1)  # asyncio closes sockets in its next turns

    async def verify(self, port: int, newest: int = sys.maxsize) -> int:
        """Compare what was acknowledged in the newest games of each, or all, with the server; the number of moves."""
        wrong = [error for error in self.counts.errors if error.startswith("Failed") and "refused" not in error]
        assert not wrong, wrong
        found = 0
        for player in self.players:
            player.http.close()
            player.http.port = port
            found += await player.verify(newest)
        return found


async def kill_server(kills: int, data: Path, where: Path | str) -> int:
    """Kill the server and start it again, so many times; the number of moves that were acknowledged and kept."""
    town, rng = Town(), random.Random(11)
    options = [*OPTIONS, *([] if isinstance(where, Path) else ["--db", where])]
    for _ in range(kills):
        server = load.ServerProcess(data, *options)
        try:
            port = await server.ready()
            await town.verify(port, newest=_NEWEST)
            await town.play(port, lambda server=server: _kill_soon(server, rng.uniform(1.0, 3.0)))
        finally:
            if server.process.poll() is None:
                server.kill()
            await town.leave()
    server = load.ServerProcess(data, *options)
    try:
        return await town.verify(await server.ready())
    finally:
        server.kill()
        await town.leave()


async def _kill_soon(server: Any, seconds: float) -> None:
    await asyncio.sleep(seconds)
    server.kill()
    await asyncio.sleep(0.1)


async def kill_postgresql(kills: int, data: Path, postgres: Postgres, where: str) -> int:
    """Kill PostgreSQL under a server that goes on; the number of moves that were acknowledged and kept."""
    town, rng = Town(), random.Random(13)
    server = load.ServerProcess(data, *OPTIONS, "--db", where)

    async def disturb() -> None:
        for _ in range(kills):
            await asyncio.sleep(rng.uniform(1.0, 3.0))
            await asyncio.to_thread(postgres.kill)
            await asyncio.sleep(rng.uniform(0.0, 1.0))
            await asyncio.to_thread(postgres.start)
        await asyncio.sleep(3.0)  # games go on

    try:
        port = await server.ready()
        await town.play(port, disturb)
        kept = await town.verify(port)
        assert server.stop() == 0
    finally:
        if server.process.poll() is None:
            server.kill()
        await town.leave()
    return kept


def check_ratings(where: Path | str) -> None:
    """The stored ratings are what the finished games make of them."""
    database = open_database(where)
    try:
        found = recount(Catalog((load.GAME,)), database)
    finally:
        database.close()
    assert not found.differences


def test_two_kills_of_the_server_lose_nothing(tmp_path: Path) -> None:
    assert run(kill_server(2, tmp_path, tmp_path)) > 10
    check_ratings(tmp_path)


@pytest.mark.long
def test_a_kill_of_postgresql_loses_nothing(tmp_path: Path) -> None:
    postgres = Postgres(fsync=True)
    try:
        where = postgres.create()
        assert run(kill_postgresql(1, tmp_path, postgres, where)) > 10
        check_ratings(where)
    finally:
        postgres.close()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_hundred_kills_of_the_server_lose_nothing(tmp_path: Path, kind: str) -> None:
    postgres = Postgres(fsync=True) if kind == "postgresql" else None
    try:
        where: Path | str = tmp_path if postgres is None else postgres.create()
        assert run(kill_server(100, tmp_path, where)) > 1000
        check_ratings(where)
    finally:
        if postgres is not None:
            postgres.close()


@pytest.mark.long
def test_twenty_kills_of_postgresql_lose_nothing(tmp_path: Path) -> None:
    postgres = Postgres(fsync=True)
    try:
        where = postgres.create()
        assert run(kill_postgresql(20, tmp_path, postgres, where)) > 200
        check_ratings(where)
    finally:
        postgres.close()
