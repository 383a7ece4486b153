"""Moves per second of an agent with search, by how its network is evaluated on a CPU.

The same consecutive moves of the same games, from positions after six random moves: with plain convolutions, as the
player evaluates by default (`networks.winograd`), and in 8 bits (`networks.int8`) without and with the cache of
evaluations, which starts empty. The kinds alternate, so that other work on the machine slows all of them. CPU time, in
all threads, is reported beside the wall clock: on a busy machine it says more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
from jax import Array

from tabia.benchmarks.first_move import check_known
from tabia.benchmarks.search import positions
from tabia.games import make
from tabia.games.game import State
from tabia.networks.int8 import Int8Network
from tabia.networks.layers import without_points
from tabia.players.agents import read
from tabia.players.player import Choice
from tabia.players.quantizing import measure_ranges
from tabia.players.tree_player import SearchPlayer
from tabia.players.tree_search import AlphaZeroPlayer
from tabia.search.evaluators import step

METHOD = "shortest time of each kind for the same consecutive moves, the kinds taking turns, after compilation"
BATCHES = (1, 8, 32)
PLAIN, DEFAULT, INT8, CACHED = "plain convolutions", "default", "int8, no cache", "int8"


@dataclass(frozen=True)
class MovesSpeed:
    """The result of one way to evaluate the network at one batch size."""

    evaluation: str
    batch: int  # games per call
    moves: float  # per second
    cpu: float  # seconds of CPU time per move
    ratio: float  # of moves per second to those with plain convolutions
    cpu_ratio: float  # of CPU time with plain convolutions to this one
    hits: float | None  # fraction of evaluations found in the cache
    agent: str
    simulations: int
    consecutive: int  # moves per game
    device: str

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return asdict(self)


def run(
    agent: str = "connect4",
    batches: Sequence[int] = BATCHES,
    *,
    simulations: int = 64,
    moves: int = 8,
    repeats: int = 7,
) -> Iterator[MovesSpeed]:
    """Measure each batch size and yield its rows."""
    check_known([agent])
    game = make(read(agent).game)
    player = AlphaZeroPlayer(game, agent, simulations=simulations)
    search = AlphaZeroPlayer(game, player.agent, simulations=simulations, int8=True).search
    quantize = partial(Int8Network, player.agent.network, player.agent.parameters, measure_ranges(game, player.agent))
    cached, uncached = quantize(), quantize(cache_bytes=0)
    choosers: dict[str, Callable[[State, Array], Choice]] = {
        PLAIN: SearchPlayer(player.search, without_points(player.agent.parameters)).choose,
        DEFAULT: player.choose,
        INT8: SearchPlayer(search, uncached.handle).choose,
        CACHED: SearchPlayer(search, cached.handle).choose,
    }
    for batch in batches:
        states = positions(game, batch)

        def play(choose: Callable[[State, Array], Choice], states: State = states) -> None:
            cached.cache.clear()
            for _ in range(moves):
                states = _step(game, states, choose(states, jax.random.key(1)).actions, jax.random.key(2))
            jax.block_until_ready(states)

        found = _shortest([partial(play, choose) for choose in choosers.values()], repeats)
        for name, (wall, cpu) in zip(choosers, found, strict=True):
            yield MovesSpeed(
                evaluation=name,
                batch=batch,
                moves=batch * moves / wall,
                cpu=cpu / (batch * moves),
                ratio=found[0][0] / wall,
                cpu_ratio=found[0][1] / cpu,
                hits=cached.cache.hits / cached.cache.lookups if name == CACHED else None,
                agent=agent,
                simulations=simulations,
                consecutive=moves,
                device=jax.devices()[0].device_kind,
            )


_step = jax.jit(step, static_argnums=0)


def _shortest(calls: Sequence[Callable[[], Any]], repeats: int) -> list[tuple[float, float]]:
    """The least wall time and the least CPU time of each call, in seconds."""
    taken: list[list[tuple[float, float]]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(repeats):
        for call, times in zip(calls, taken, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return [(min(wall for wall, _ in times), min(cpu for _, cpu in times)) for times in taken]
