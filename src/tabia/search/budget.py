"""Searching under a clock, or until the best move is beyond doubt: compiled chunks with a look between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import State
from tabia.search import checks
from tabia.search.choice import agreed
from tabia.search.errors import SearchError
from tabia.search.gumbel import Gumbel
from tabia.search.roots import Result, Root, harvest, prepare_root
from tabia.search.search import Search, grow, plant
from tabia.search.tree import Tree

Enough = Callable[[Result], bool]

_WARM: set[Any] = set()  # what has been compiled by this process


@dataclass(frozen=True)
class Budget:
    """Stop after `search.simulations`, after `seconds`, or once `enough` says so; looked at every `chunk` simulations.

    The clock starts after compilation, so the first call for a batch size may take longer.
    """

    search: Search
    seconds: float | None = None
    enough: Enough | None = None
    chunk: int = 32

    def __post_init__(self) -> None:
        if self.seconds is not None and self.seconds <= 0:
            raise SearchError(f"seconds={self.seconds}: more than 0 is needed.")
        if self.chunk < 1 or self.chunk % self.search.leaves or self.search.simulations % self.chunk:
            raise SearchError(
                f"chunk={self.chunk} must divide the {self.search.simulations} simulations and be a multiple "
                f"of leaves={self.search.leaves}."
            )
        if isinstance(self.search.rule, Gumbel):
            raise SearchError(
                "Gumbel's sequential halving must know its budget beforehand; use another rule, such as Puct."
            )

    def run(self, parameters: Any, states: State, key: Array, *, past: Array | None = None) -> Result:
        """Search until the budget is spent; at least one chunk is always done."""
        search = self.search
        checks.roots(search, parameters, states)
        plant_key, grow_key = jax.random.split(key)
        tree, root = _begin(search, parameters, states, plant_key)
        self._warm_up(parameters, tree, root, grow_key, past)
        started, done = time.perf_counter(), 0
        while True:
            tree = _grow(search, self.chunk, parameters, tree, root, grow_key, done, past)
            done += self.chunk
            result = _harvest(search, tree, root)
            if self._spent(result, done, started):
                checks.answers(search.game, tree)
                return result

    def _warm_up(self, parameters: Any, tree: Tree, root: Root, key: Array, past: Array | None) -> None:
        """Compile, off the clock, by growing a copy of the tree once for every new shape."""
        shape = (self, tree.faults.shape, past is None)
        if shape not in _WARM:
            copy = _grow(self.search, self.chunk, parameters, jax.tree.map(jnp.copy, tree), root, key, 0, past)
            jax.block_until_ready(_harvest(self.search, copy, root))
            _WARM.add(shape)

    def _spent(self, result: Result, done: int, started: float) -> bool:
        if done >= self.search.simulations:
            return True
        if self.enough is not None and self.enough(result):
            return True
        jax.block_until_ready(result.visits)
        return self.seconds is not None and time.perf_counter() - started >= self.seconds


def until_agreed(search: Search, *, chunk: int = 32) -> Budget:
    """Max-robust: search on until most visits and highest value name the same move in every game, or the cap is hit."""
    return Budget(search, enough=_all_agreed, chunk=chunk)


def _all_agreed(result: Result) -> bool:
    return bool(np.all(np.asarray(agreed(result))))


@partial(jax.jit, static_argnums=0)
def _begin(search: Search, parameters: Any, states: State, key: Array) -> tuple[Tree, Root]:
    plant_key, root_key = jax.random.split(key)
    return prepare_root(search, plant(search, parameters, states, plant_key), root_key)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=3)
def _grow(
    search: Search, count: int, parameters: Any, tree: Tree, root: Root, key: Array, first: Array, past: Array | None
) -> Tree:
    return grow(search, parameters, tree, root, key, first, count, past)


@partial(jax.jit, static_argnums=0)
def _harvest(search: Search, tree: Tree, root: Root) -> Result:
    return harvest(search, tree, root)
