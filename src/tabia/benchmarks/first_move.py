"""Seconds to the first move of the agents in the package, with an empty and with a warm compilation cache.

Every figure comes from a fresh process and is measured after its imports: from the spec of the agent to the action in
Python. The cache is a temporary directory, so the user's cache is neither read nor written. CPU time is reported too:
on a busy machine it says more than wall time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tabia.core.errors import TabiaError, did_you_mean
from tabia.players import agents, runs

METHOD = "one fresh process per figure, measured after imports; the warm run reads what the empty run compiled"


@dataclass(frozen=True)
class Timing:
    """The times of one process, in seconds."""

    load: float  # make the game and the player, read the weights
    move: float  # the first move
    cpu: float  # of both, in all threads


@dataclass(frozen=True)
class FirstMove:
    """The result of one agent."""

    agent: str
    game: str
    empty: Timing
    warm: Timing
    device: str

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return asdict(self)


def run(names: Sequence[str] | None = None) -> Iterator[FirstMove]:
    """Measure these agents; by default all in the package."""
    check_known(names or ())
    import jax

    for name in names or runs.shipped():
        game = agents.read(name).game
        with tempfile.TemporaryDirectory() as cache:
            empty, warm = (_run_process(f"az:{name}", game, cache) for _ in range(2))
        yield FirstMove(agent=name, game=game, empty=empty, warm=warm, device=jax.default_backend())


def check_known(names: Sequence[str]) -> None:
    """Refuse names of agents that are not in the package; TabiaError lists those that are."""
    unknown = set(names) - set(runs.shipped())
    if unknown:
        name = sorted(unknown)[0]
        raise TabiaError(f"There is no agent {name!r}. {did_you_mean(name, runs.shipped())}")


def _run_process(spec: str, game: str, cache: str) -> Timing:
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-m", "tabia.benchmarks.first_move", spec, game],
        check=False,
        env={**environment, "XDG_CACHE_HOME": cache},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise TabiaError(f"The first move of {spec} failed: {done.stderr.strip()[-500:]}")
    return Timing(**json.loads(done.stdout))


def _measure(spec: str, game_id: str) -> Timing:
    import jax
    import jax.numpy as jnp

    from tabia import games, players

    jax.block_until_ready(jnp.zeros(1))  # starts the device
    start, cpu = time.perf_counter(), time.process_time()
    game = games.make(game_id)
    player = players.make(spec, game)
    loaded = time.perf_counter()
    first = jax.jit(lambda key: jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], game.init(key)))
    int(player.choose(first(jax.random.key(0)), jax.random.key(0), jnp.zeros(1, jnp.int32)).actions[0])
    moved = time.perf_counter()
    return Timing(load=loaded - start, move=moved - loaded, cpu=time.process_time() - cpu)


if __name__ == "__main__":
    print(json.dumps(asdict(_measure(*sys.argv[1:]))))
