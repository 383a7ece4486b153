"""A search in pieces: whoever runs it decides between two pieces whether to go on.

A compiled program cannot be interrupted, so a search that must answer `stop` runs a few simulations per call. All
pieces share one program, whatever their number of simulations. For one leaf per step, the last result is the one that
`Search.run` returns for the same key.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
from jax import Array

from tabia.games.game import State
from tabia.search import checks
from tabia.search.result import Result, summarize
from tabia.search.rules.rule import Root
from tabia.search.search import Search, init_tree, prepare_root, run_simulations
from tabia.search.tree import Tree


class Pieces:
    """The search of a batch of positions, advanced piece by piece; raises SearchError as `Search.run` does."""

    def __init__(self, search: Search, parameters: Any, states: State, key: Array) -> None:
        checks.check_roots(search, parameters, states)
        init_key, root_key, self._key = jax.random.split(key, 3)
        self.search, self.parameters, self.done = search, parameters, 0
        self._tree, self._root = _init(search, parameters, states, init_key, root_key)

    @property
    def left(self) -> int:
        """The simulations that fit into the tree."""
        return self.search.simulations - self.done

    def advance(self, count: int) -> None:
        """Run the next simulations: about `count`, in whole steps, at most those left."""
        leaves = self.search.leaves
        count = min(max(count // leaves, 1) * leaves, self.left)
        self._tree = _simulate(self.search, self.parameters, self._tree, self._root, self._key, self.done, count)
        self.done += count
        jax.block_until_ready(self._tree.size)

    def result(self) -> Result:
        """The result so far."""
        checks.check_evaluations(self.search.game, self._tree)
        return _summarize(self.search, self._tree, self._root)


@partial(jax.jit, static_argnums=0)
def _init(search: Search, parameters: Any, states: State, init_key: Array, root_key: Array) -> tuple[Tree, Root]:
    return prepare_root(search, init_tree(search, parameters, states, init_key), root_key)


@partial(jax.jit, static_argnums=0, donate_argnums=2)
def _simulate(search: Search, parameters: Any, tree: Tree, root: Root, key: Array, first: Array, count: Array) -> Tree:
    return run_simulations(search, parameters, tree, root, key, first, count, None)


@partial(jax.jit, static_argnums=0)
def _summarize(search: Search, tree: Tree, root: Root) -> Result:
    return summarize(search, tree, root)
