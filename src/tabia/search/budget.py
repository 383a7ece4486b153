"""Searches that stop early: after some time, or once a condition holds, checked between compiled chunks."""

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
from tabia.search.errors import SearchError
from tabia.search.result import Result, agreed, summarize
from tabia.search.rules.rule import Root
from tabia.search.search import Search, init_tree, prepare_root, run_simulations
from tabia.search.tree import Tree

Enough = Callable[[Result], bool]

_COMPILED: set[Any] = set()  # what this process has compiled


@dataclass(frozen=True)
class Budget:
    """Stops after `search.simulations`, after `seconds`, or once `enough` holds, checked every `chunk` simulations.

    With `proven_values` it also stops once all roots are proven. The clock starts after compilation, so the first
    call for a batch size may take longer.
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
        if self.search.rule.plans_root:
            raise SearchError(
                f"{type(self.search.rule).__name__} must know the number of simulations in advance and cannot stop "
                "early; use another rule, such as Puct."
            )

    def run(self, parameters: Any, states: State, key: Array, *, past: Array | None = None) -> Result:
        """Search until the budget is spent, for at least one chunk."""
        search = self.search
        checks.check_roots(search, parameters, states)
        init_key, simulate_key = jax.random.split(key)
        tree, root = _init(search, parameters, states, init_key)
        self._compile(parameters, tree, root, simulate_key, past)
        started, done = time.perf_counter(), 0
        while True:
            tree = _simulate(search, self.chunk, parameters, tree, root, simulate_key, done, past)
            done += self.chunk
            result = _summarize(search, tree, root)
            if self._is_spent(result, done, started):
                checks.check_evaluations(search.game, tree)
                return result

    def _compile(self, parameters: Any, tree: Tree, root: Root, key: Array, past: Array | None) -> None:
        """Compile before the clock starts, by running a chunk on a copy of the tree once per new shape."""
        shape = (self, tree.faults.shape, past is None)
        if shape not in _COMPILED:
            copy = _simulate(self.search, self.chunk, parameters, jax.tree.map(jnp.copy, tree), root, key, 0, past)
            jax.block_until_ready(_summarize(self.search, copy, root))
            _COMPILED.add(shape)

    def _is_spent(self, result: Result, done: int, started: float) -> bool:
        if done >= self.search.simulations:
            return True
        if result.proofs is not None and bool(np.all(np.asarray(result.proofs.complete))):
            return True
        if self.enough is not None and self.enough(result):
            return True
        jax.block_until_ready(result.visits)
        return self.seconds is not None and time.perf_counter() - started >= self.seconds


def all_agreed(result: Result) -> bool:
    """Whether in every game one action has both the most visits and the highest value (max-robust child)."""
    return bool(np.all(np.asarray(agreed(result))))


@partial(jax.jit, static_argnums=0)
def _init(search: Search, parameters: Any, states: State, key: Array) -> tuple[Tree, Root]:
    init_key, root_key = jax.random.split(key)
    return prepare_root(search, init_tree(search, parameters, states, init_key), root_key)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=3)
def _simulate(
    search: Search, count: int, parameters: Any, tree: Tree, root: Root, key: Array, first: Array, past: Array | None
) -> Tree:
    return run_simulations(search, parameters, tree, root, key, first, count, past)


@partial(jax.jit, static_argnums=0)
def _summarize(search: Search, tree: Tree, root: Root) -> Result:
    return summarize(search, tree, root)
