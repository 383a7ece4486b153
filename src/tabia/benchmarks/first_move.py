"""How long people wait for the first move of each shipped agent, with an empty and with a warm compilation cache.

Every figure comes from a fresh process, clocked after its imports: from the spec of the agent and the start of its
game to a move that has arrived in Python. The cache is a temporary directory, so the user's own is neither read nor
written. CPU time is reported as well: on a machine with other work it says more than the clock.
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

from tabia.core.errors import TabiaError
from tabia.players import agents, runs

METHOD = "one fresh process per figure, clocked after imports; the warm one reads what the empty one has compiled"


@dataclass(frozen=True)
class Clocked:
    """What one process measured, in seconds."""

    load: float  # making the game and the player, reading the weights
    move: float  # the first move
    cpu: float  # of both, by all threads


@dataclass(frozen=True)
class Row:
    """One agent."""

    agent: str
    game: str
    empty: Clocked
    warm: Clocked
    device: str

    def fields(self) -> dict[str, Any]:
        return asdict(self)


def run(names: Sequence[str] | None = None) -> Iterator[Row]:
    """Measure these agents, or all that are shipped."""
    unknown = set(names or ()) - set(runs.shipped())
    if unknown:
        raise TabiaError(f"No agent is called {sorted(unknown)[0]!r}; shipped are {', '.join(runs.shipped())}.")
    import jax

    for name in names or runs.shipped():
        game = agents.read(name).game
        with tempfile.TemporaryDirectory() as cache:
            empty, warm = (_in_a_process(f"az:{name}", game, cache) for _ in range(2))
        yield Row(name, game, empty, warm, jax.default_backend())


def _in_a_process(spec: str, game: str, cache: str) -> Clocked:
    kept = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-m", "tabia.benchmarks.first_move", spec, game],
        check=False,
        env={**kept, "XDG_CACHE_HOME": cache},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise TabiaError(f"The first move of {spec} failed: {done.stderr.strip()[-500:]}")
    return Clocked(**json.loads(done.stdout))


def _clock(spec: str, game_id: str) -> Clocked:
    import jax
    import jax.numpy as jnp

    from tabia import games, players

    jax.block_until_ready(jnp.zeros(1))  # the device is started
    begun, cpu = time.perf_counter(), time.process_time()
    game = games.make(game_id)
    player = players.make(spec, game)
    loaded = time.perf_counter()
    start = jax.jit(lambda key: jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], game.init(key)))
    int(player.choose(start(jax.random.key(0)), jax.random.key(0), jnp.zeros(1, jnp.int32)).actions[0])
    moved = time.perf_counter()
    return Clocked(loaded - begun, moved - loaded, time.process_time() - cpu)


if __name__ == "__main__":
    print(json.dumps(asdict(_clock(*sys.argv[1:]))))
