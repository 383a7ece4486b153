"""Moves per second of an agent with search, by how its network is evaluated on a CPU.

The same search on the same positions after six random moves: with plain convolutions, as the player evaluates by
default (`networks.winograd`), and in 8 bits (`networks.int8`). The calls alternate, so that other work on the machine
slows all of them. CPU time, in all threads, is reported beside the wall clock: on a busy machine it says more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax

from tabia.benchmarks.search import positions
from tabia.games import make
from tabia.games.game import State
from tabia.networks.layers import without_points
from tabia.players.agents import read
from tabia.players.tree_player import SearchPlayer
from tabia.players.tree_search import AlphaZeroPlayer

METHOD = "shortest call of each kind, calls in turns, after compilation"
BATCHES = (1, 8, 32)
PLAIN = "plain convolutions"


@dataclass(frozen=True)
class MovesSpeed:
    """The result of one way to evaluate the network at one batch size."""

    evaluation: str
    batch: int  # positions per call
    moves: float  # per second
    cpu: float  # seconds of CPU time per move
    ratio: float  # of moves per second to those with plain convolutions
    cpu_ratio: float  # of CPU time with plain convolutions to this one
    agent: str
    simulations: int
    device: str

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return asdict(self)


def run(
    agent: str = "connect4", batches: Sequence[int] = BATCHES, *, simulations: int = 64, repeats: int = 7
) -> Iterator[MovesSpeed]:
    """Measure each batch size and yield its rows."""
    game = make(read(agent).game)
    player = AlphaZeroPlayer(game, agent, simulations=simulations)
    choosers: dict[str, Callable[[State, jax.Array], Any]] = {
        PLAIN: SearchPlayer(player.search, without_points(player.agent.parameters)).choose,
        "default": player.choose,
        "int8": AlphaZeroPlayer(game, player.agent, simulations=simulations, int8=True).choose,
    }
    for batch in batches:
        states = positions(game, batch)
        found = _shortest([partial(one, states, jax.random.key(1)) for one in choosers.values()], repeats)
        for name, (wall, cpu) in zip(choosers, found, strict=True):
            yield MovesSpeed(
                evaluation=name,
                batch=batch,
                moves=batch / wall,
                cpu=cpu / batch,
                ratio=found[0][0] / wall,
                cpu_ratio=found[0][1] / cpu,
                agent=agent,
                simulations=simulations,
                device=jax.devices()[0].device_kind,
            )


def _shortest(calls: Sequence[Callable[[], Any]], repeats: int) -> list[tuple[float, float]]:
    """The least wall time and the least CPU time of each call, in seconds."""
    taken: list[list[tuple[float, float]]] = [[] for _ in calls]
    for call in calls:
        jax.block_until_ready(call())
    for _ in range(repeats):
        for call, times in zip(calls, taken, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            jax.block_until_ready(call())
            times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return [(min(wall for wall, _ in times), min(cpu for _, cpu in times)) for times in taken]
