"""The trees that a player keeps from one move to the next.

Players are asked about batches of positions, not about games. So a tree is found again by what it holds: the new
position is looked up among the nodes of the last call's trees, at any depth, and its subtree is continued. Positions
that are not found start a new tree. Axis letters: N nodes, B positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.fingerprint import fingerprint
from tabia.games.game import Game, State
from tabia.search import Result, Search, SearchError, checks
from tabia.search.reuse import continue_unchecked
from tabia.search.tree import LINK, NO_CHILD, VISITS, Tree


class Known(NamedTuple):
    """The nodes of the last call's trees, sorted by fingerprint; of equal ones the most visited."""

    prints: np.ndarray  # uint64
    lanes: np.ndarray  # int32 the tree
    nodes: np.ndarray  # int32 the node in it


@dataclass
class TreeMemory:
    """Runs a search, continuing the trees of the call before; the search must have `reuse_nodes`."""

    search: Search
    _tree: Tree | None = field(default=None, init=False)
    _known: Known | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not self.search.reuse_nodes:
            raise SearchError("reuse_nodes=0: a tree that is kept needs room for its nodes.")

    def run(self, parameters: Any, states: State, key: Array) -> Result:
        """Search every position, on top of what is known about it."""
        lanes, nodes = self._find(states)
        if (nodes < 0).all():
            result = self.search.run_unchecked(parameters, states, key)
        else:
            assert self._tree is not None
            kept = _take(self._tree, jax.device_put(lanes))
            result = continue_unchecked(self.search, parameters, kept, jax.device_put(nodes), states, key)
        over = jax.vmap(self.search.game.over)(states)
        checks.check_evaluations(self.search.game, result.tree._replace(faults=_unless(over, result.tree.faults)))
        self._tree, self._known = result.tree, _index(*jax.device_get(_nodes(self.search.game, result.tree)))
        return result

    def _find(self, states: State) -> tuple[np.ndarray, np.ndarray]:
        """For each position a tree and a node of it, NO_CHILD if it is unknown."""
        wanted = _words(np.asarray(_prints(self.search.game, states)))
        if self._known is None or not self._known.prints.size:
            return np.zeros(len(wanted), np.int32), np.full(len(wanted), NO_CHILD, np.int32)
        place = np.minimum(np.searchsorted(self._known.prints, wanted), self._known.prints.size - 1)
        same = self._known.prints[place] == wanted
        return self._known.lanes[place], np.where(same, self._known.nodes[place], NO_CHILD).astype(np.int32)


def _index(prints: np.ndarray, linked: np.ndarray, visits: np.ndarray) -> Known:
    nodes, lanes = np.nonzero(linked)
    words = _words(prints[nodes, lanes])
    order = np.lexsort((-visits[nodes, lanes], words))
    first = np.unique(words[order], return_index=True)[1]
    chosen = order[first]
    return Known(words[chosen], lanes[chosen].astype(np.int32), nodes[chosen].astype(np.int32))


def _words(prints: np.ndarray) -> np.ndarray:
    """Fingerprints uint32[..., 2] as uint64[...]."""
    return prints[..., 0].astype(np.uint64) << np.uint64(32) | prints[..., 1].astype(np.uint64)


@partial(jax.jit, static_argnums=0)
def _prints(game: Game, states: State) -> Array:
    return jax.vmap(partial(fingerprint, game))(states)


@partial(jax.jit, static_argnums=0)
def _nodes(game: Game, tree: Tree) -> tuple[Array, Array, Array]:
    """Fingerprints [N, B, 2], whether an action leads to the node [N, B], and its visits [N, B]; never the root."""
    links = tree.records[:, :, :-1, LINK]
    target = jnp.where(links >= 0, links, tree.capacity).astype(jnp.int32)
    lanes = jnp.arange(links.shape[1])[None, :, None]
    linked = jnp.zeros((tree.capacity + 1, links.shape[1]), bool).at[target, lanes].set(True)[:-1]
    prints = jax.vmap(jax.vmap(partial(fingerprint, game)))(tree.states) if tree.prints is None else tree.prints
    return prints, linked.at[0].set(False), tree.records[:, :, :-1, VISITS].sum(axis=-1)


@jax.jit
def _take(tree: Tree, lanes: Array) -> Tree:
    """The trees of some lanes, as far as they are reused."""
    names = ("records", "states", "squares", "totals", "prints", "proven")
    parts = {name: getattr(tree, name) for name in names}
    return tree._replace(**jax.tree.map(lambda leaf: leaf[:, lanes], parts))


@jax.jit
def _unless(over: Array, faults: Array) -> Array:
    return jnp.where(over, -1, faults)
