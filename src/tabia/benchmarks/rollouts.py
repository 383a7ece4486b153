"""Rollouts per second of our MCTS, many positions side by side, beside OpenSpiel's C++ MCTS bot, one after the other.

Both search the same Connect 4 positions, each after six random moves, with UCT (c = 1.4), as many simulations a
move, and one random game a simulation. A simulation that reaches the end of a game counts on both sides, and
OpenSpiel's proofs of won positions are off, so that each side does all of its simulations.
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
from tabia.evaluation.openings import Opening, draw
from tabia.games import make
from tabia.games.game import Game, State
from tabia.search import Search, Uct
from tabia.search.evaluators import Rollout

METHOD = "median of 5 calls a side after compilation, the sides taking turns"
SIMULATIONS = (100, 400, 800)
_THEIRS = 32  # positions a call of theirs; its rate does not depend on how many there are
_EXPLORES = 1.4


@dataclass(frozen=True)
class Row:
    """One budget's result, in rollouts per second."""

    simulations: int
    batch: int
    cores: int
    ours: float
    open_spiel: float | None  # on one core, which is all it uses
    ratio: float | None
    device: str

    def fields(self) -> dict[str, Any]:
        return asdict(self)


def confine(cores: int) -> int:
    """Keep this process on so many cores, if it has not begun to compute; returns how many it has.

    XLA's threads stay where they started, so this comes before the first array.
    """
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    os.sched_setaffinity(0, allowed)
    return len(allowed)


def run(
    *, batch: int = 256, cores: int = 1, simulations: Sequence[int] = SIMULATIONS, repeats: int = 5
) -> Iterator[Row]:
    """Measure each budget, yielding its row as soon as it is known."""
    game = make("connect4")
    openings = draw(game, batch, moves=6)
    states = _states(game, openings)
    for budget in simulations:
        search = Search(game, Rollout(game), budget, Uct(_EXPLORES))
        took = seconds([partial(_ours, search, states), *_open_spiel(openings[:_THEIRS], budget)], repeats)
        ours = batch * budget / took[0]
        theirs = min(_THEIRS, batch) * budget / took[1] if len(took) > 1 else None
        ratio = ours / theirs if theirs else None
        yield Row(budget, batch, cores, ours, theirs, ratio, jax.devices()[0].device_kind)


@partial(jax.jit, static_argnums=0)
def _ours(search: Search, states: State) -> Array:
    return search.run_unchecked(None, states, jax.random.key(1)).visits


def _states(game: Game, openings: Sequence[Opening]) -> State:
    states = jax.vmap(game.init)(jax.random.split(jax.random.key(0), len(openings)))
    for actions in np.array([opening.actions for opening in openings], np.int32).T:
        states = jax.vmap(game.step)(states, jnp.asarray(actions))
    return states


def _open_spiel(openings: Sequence[Opening], budget: int) -> list[Callable[[], Any]]:
    """OpenSpiel's bot, asked for a move in each position; nothing where it is not installed."""
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
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 1), _EXPLORES, budget, 1000, False, 1, False)
    return [lambda: [bot.mcts_search(state).explore_count for state in states]]
