"""The self-play actor: plays chunks with the weights it is given, on the device of its process.

It keeps nothing between two chunks but compiled programs and the newest weights, so any actor can play any task, and
one that dies loses nothing but the chunk it was playing.
"""

from __future__ import annotations

import json
import os
import time
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tabia import __version__
from tabia.cluster.chunks import Chunk, Task, pack, unpack
from tabia.core import devices
from tabia.core.errors import TabiaError
from tabia.games import identity, make
from tabia.networks import Variables
from tabia.training.config.toml import from_toml
from tabia.training.plan import Plan
from tabia.training.selfplay.openings import Lanes, Revisits
from tabia.training.selfplay.play import SelfPlay


class Identity(NamedTuple):
    """What must be the same on all nodes, and where an actor runs."""

    tabia: str  # version
    games: tuple[str, ...]  # JSON: id, version and definition of each board
    process: int = 0

    def difference(self, other: Identity) -> str | None:
        """How another one differs, in words; None if both fit together."""
        if other.tabia != self.tabia:
            return f"it has Tabia {other.tabia}, this machine {self.tabia}: install the same version on both"
        for mine, its in zip(self.games, other.games, strict=True):
            if mine != its:
                return f"its game is {its}, on this machine {mine}: install the same version, or copy the game's file"
        return None


class SelfPlayActor:
    """Plays chunks on a platform of JAX; the empty name is the best one. `sharing` actors share the node."""

    def __init__(self, platform: str = "", sharing: int = 1) -> None:
        use_platform(platform, sharing)
        self._version, self._weights = -1, Variables({}, {})

    def hello(self, games: tuple[str, ...]) -> Identity:
        """Who this actor is; the first call."""
        return identify(games)

    def play(self, task: Task, weights: bytes) -> Chunk:
        """Play the chunk of a task; the same task gives the same chunk."""
        started = time.monotonic()
        selfplay = _selfplay(task.config)
        lanes_like, weights_like = _shapes(selfplay)
        if task.version != self._version:
            self._weights = jax.device_put(unpack(weights, weights_like))
            self._version = task.version
        key = jax.random.wrap_key_data(jnp.asarray(np.frombuffer(task.random, np.uint32)))
        lanes, plies = selfplay.play(
            self._weights, jax.device_put(unpack(task.lanes, lanes_like)), key, _revisits(task, lanes_like)
        )
        return Chunk(task.key, task.version, pack(lanes), pack(plies), time.monotonic() - started)


def use_platform(platform: str, sharing: int = 1) -> None:
    """Make JAX in this process use a platform, or with the empty name the best one; call it before JAX starts.

    On a CPU, the process uses its share of the cores if `sharing` processes compute on the machine.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # actors and the learner may share a GPU
    if platform:
        jax.config.update("jax_platforms", platform)
    if platform == "cpu" and sharing > 1:
        # The size of XLA's thread pool.
        os.environ.setdefault("NPROC", str(max(1, devices.cores() // sharing)))


def identify(games: tuple[str, ...]) -> Identity:
    """The identity of this process; a game that cannot be made here is described by its error."""
    return Identity(__version__, tuple(map(_game_text, games)), os.getpid())


def _game_text(id: str) -> str:
    try:
        return json.dumps(identity.fields(make(id)))
    except (TabiaError, ImportError, OSError) as error:
        return f"missing ({error})"


@lru_cache(maxsize=32)
def _selfplay(config: str) -> SelfPlay:
    return Plan(from_toml(config, "the task's configuration")).selfplay


@lru_cache(maxsize=32)
def _shapes(selfplay: SelfPlay) -> tuple[Lanes, Variables]:
    """The shapes of lanes and weights."""
    key = jax.random.key(0)
    return jax.eval_shape(selfplay.begin, key), jax.eval_shape(selfplay.network.init, key)


def _revisits(task: Task, lanes: Lanes) -> Revisits | None:
    if task.revisits is None:
        return None
    like = Revisits(lanes.states, lanes.ply, chosen=lanes.never_resign)  # of the same shape and type
    return jax.device_put(unpack(task.revisits, like))
