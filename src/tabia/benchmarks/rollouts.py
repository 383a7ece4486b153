"""Rollouts per second of our MCTS, which searches a batch, and of OpenSpiel's C++ bot, which searches one by one.

Both search the same Connect 4 positions, each after six random moves, with UCT (c = 1.4), the same number of
simulations per move, and one random game per simulation. A simulation that reaches the end of the game counts on both
sides, and OpenSpiel's solver is off, so that each side runs all its simulations.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.benchmarks.search import seconds
from tabia.evaluation.rounds import Opening, draw_openings
from tabia.games import make
from tabia.games.game import Game, State
from tabia.search import Search, Uct
from tabia.search.evaluators import Rollout

METHOD = "median of 5 calls per side after compilation, the sides taking turns"
SIMULATIONS = (100, 400, 800)
_THEIRS = 32  # positions per call of OpenSpiel, whose speed does not depend on their number
_EXPLORATION = 1.4


@dataclass(frozen=True)
class RolloutSpeed:
    """The result for one number of simulations, in rollouts per second."""

    simulations: int
    batch: int
    cores: int
    ours: float
    open_spiel: float | None  # on one core
    ratio: float | None
    device: str

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return asdict(self)


def confine(cores: int) -> int:
    """Restrict this process to this many cores, and return how many it has.

    The threads of XLA stay on the cores where they start, so call this before the first array is made.
    """
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    os.sched_setaffinity(0, allowed)
    return len(allowed)


def run(
    *, batch: int = 256, cores: int = 1, simulations: Sequence[int] = SIMULATIONS, repeats: int = 5
) -> Iterator[RolloutSpeed]:
    """Measure each number of simulations and yield its row."""
    game = make("connect4")
    openings = draw_openings(game, batch, moves=6)
    states = _states(game, openings)
    for budget in simulations:
        search = Search(game, Rollout(game), budget, Uct(_EXPLORATION))
        took = seconds([partial(_ours, search, states), *_open_spiel(openings[:_THEIRS], budget)], repeats)
        ours = batch * budget / took[0]
        theirs = min(_THEIRS, batch) * budget / took[1] if len(took) > 1 else None
        ratio = ours / theirs if theirs else None
        yield RolloutSpeed(
            simulations=budget,
            batch=batch,
            cores=cores,
            ours=ours,
            open_spiel=theirs,
            ratio=ratio,
            device=jax.devices()[0].device_kind,
        )


@partial(jax.jit, static_argnums=0)
def _ours(search: Search, states: State) -> Array:
    return search.run_unchecked(None, states, jax.random.key(1)).visits


def _states(game: Game, openings: Sequence[Opening]) -> State:
    states = jax.vmap(game.init)(jax.random.split(jax.random.key(0), len(openings)))
    for actions in np.array([opening.actions for opening in openings], np.int32).T:
        states = jax.vmap(game.step)(states, jnp.asarray(actions))
    return states


def _open_spiel(openings: Sequence[Opening], budget: int) -> list[Callable[[], Any]]:
    """A call that searches each position with OpenSpiel's bot; empty if OpenSpiel is not installed."""
    try:
        import pyspiel
    except ImportError:
        return []
    game = pyspiel.load_game("connect_four")
    states = []
    for opening in openings:
        state = game.new_initial_state()
        for action in opening.actions:
            state.apply_action(action)
        states.append(state)
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 1), _EXPLORATION, budget, 1000, False, 1, False)
    return [lambda: [bot.mcts_search(state).explore_count for state in states]]
