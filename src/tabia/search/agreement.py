"""Searches that go on until most visits and highest value agree on an action, in each game by itself.

The max-robust child of Sanz & Villanueva 2021: if no action has both, the search continues until one has. `Budget`
with `all_agreed` stops a batch at the first agreement of all its games; here each game keeps the result that it had
when it first agreed, so that it does not depend on the other games of the batch. Axis letters: B batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.search.errors import SearchError
from tabia.search.result import Result, agreed, summarize
from tabia.search.search import Search, init_tree, prepare_root, run_simulations
from tabia.search.tree import Tree


@dataclass(frozen=True)
class UntilAgreed:
    """Runs `least` simulations, then `chunk` at a time until a game agrees or has `search.simulations`."""

    search: Search
    least: int
    chunk: int

    def __post_init__(self) -> None:
        if self.search.rule.plans_root:
            raise SearchError(
                f"{type(self.search.rule).__name__} must know the number of simulations in advance and cannot search "
                "on; use another rule, such as Puct."
            )
        rest = self.search.simulations - self.least
        if self.least < 1 or rest < 0 or self.chunk < 1 or rest % self.chunk:
            raise SearchError(
                f"least={self.least}, chunk={self.chunk}: the {self.search.simulations} simulations must be `least` "
                "and a number of whole chunks."
            )
        if self.least % self.search.leaves or self.chunk % self.search.leaves:
            raise SearchError(f"least and chunk must be multiples of leaves={self.search.leaves}.")

    @property
    def game(self) -> Game:
        return self.search.game

    def run_unchecked(self, parameters: Any, states: State, key: Array, past: Array | None = None) -> Result:
        """The results at the first agreement of each game; their `tree` is that of the longest search."""
        return _run(self, parameters, states, key, past)


_Carry = tuple[Array, Tree, dict[str, Any], Array]  # simulations, trees, results so far, settled [B]


@partial(jax.jit, static_argnums=0)
def _run(until: UntilAgreed, parameters: Any, states: State, key: Array, past: Array | None) -> Result:
    search = until.search
    init_key, root_key, simulate_key = jax.random.split(key, 3)
    tree, root = prepare_root(search, init_tree(search, parameters, states, init_key), root_key)
    tree = run_simulations(search, parameters, tree, root, simulate_key, 0, until.least, past)
    first = summarize(search, tree, root)

    def more(carry: _Carry) -> _Carry:
        done, tree, found, settled = carry
        tree = run_simulations(search, parameters, tree, root, simulate_key, done, until.chunk, past)
        now = summarize(search, tree, root)
        return done + until.chunk, tree, _choose(settled, found, _parts(now)), settled | agreed(now)

    def going(carry: _Carry) -> Array:
        done, _, _, settled = carry
        return (done < search.simulations) & ~settled.all()

    settled = agreed(first) | jax.vmap(search.game.over)(states)
    _, tree, found, _ = jax.lax.while_loop(going, more, (jnp.int32(until.least), tree, _parts(first), settled))
    return Result(tree=tree, **found)


def _parts(result: Result) -> dict[str, Any]:
    """The fields of a result without its tree."""
    return {name: part for name, part in result._asdict().items() if name != "tree"}


def _choose(settled: Array, old: Any, new: Any) -> Any:
    return jax.tree.map(
        lambda one, other: jnp.where(settled.reshape(settled.shape + (1,) * (one.ndim - 1)), one, other), old, new
    )
