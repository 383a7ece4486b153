"""How a search converges: the root's values, visits and move after every few simulations.

    found = trace(player, states, key, every=10)
    found.values[:, 0, 0]  # the first seat's value in the first position, by simulation

The last row is what the player's own search returns for the same key (with one leaf per step). Axis letters: K rows,
B positions, A actions, P seats.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core.errors import TabiaError
from tabia.games.game import State
from tabia.players.modifiers import Modified
from tabia.players.player import Player
from tabia.players.tree_player import TreeSearchPlayer
from tabia.search import Search, checks
from tabia.search.result import summarize
from tabia.search.search import init_tree, prepare_root, run_simulations
from tabia.search.tree import Tree


class Trace(NamedTuple):
    """A search by the number of its simulations."""

    simulations: np.ndarray  # int[K]
    values: np.ndarray  # float[K, B, P] the value for each seat
    visits: np.ndarray  # float[K, B, A]
    means: np.ndarray  # float[K, B, A] the mover's mean value of each action, 0 if unvisited
    actions: np.ndarray  # int[K, B] the action that the rule recommends


def trace(player: Player, states: State, key: Array, *, every: int = 1) -> Trace:
    """The search of a player with a tree after every `every` simulations; trees that it keeps are not used."""
    inner = player.player if isinstance(player, Modified) else player
    if not isinstance(inner, TreeSearchPlayer):
        raise TabiaError(f"{player.spec} has no search tree; mcts and az have one.")
    search = inner.search
    if every < 1 or search.simulations % every or every % search.leaves:
        raise TabiaError(
            f"every={every} must divide the {search.simulations} simulations and be a multiple of "
            f"leaves={search.leaves}."
        )
    checks.check_roots(search, inner.parameters, states)
    found = _trace(search, every, inner.parameters, states, key)
    return Trace(np.arange(every, search.simulations + 1, every), *map(np.asarray, found))


@partial(jax.jit, static_argnums=(0, 1))
def _trace(search: Search, every: int, parameters: Any, states: State, key: Array) -> tuple[Array, ...]:
    init_key, root_key, simulate_key = jax.random.split(key, 3)
    tree, root = prepare_root(search, init_tree(search, parameters, states, init_key), root_key)

    def chunk(tree: Tree, first: Array) -> tuple[Tree, tuple[Array, ...]]:
        tree = run_simulations(search, parameters, tree, root, simulate_key, first, every, None)
        result = summarize(search, tree, root)
        return tree, (result.values, result.visits, result.means, result.action)

    return jax.lax.scan(chunk, tree, jnp.arange(0, search.simulations, every))[1]
