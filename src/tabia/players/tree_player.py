"""Players with a tree search: what MCTS and AlphaZero share, and any search as a player.

The search is a static argument of compiled code and the weights are passed to it, so checkpoints of one run share their
programs. Axis letters: B positions, A actions, P seats.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.core import groups
from tabia.games.game import Game, State
from tabia.players.final_moves import Final
from tabia.players.player import Choice
from tabia.players.spec import naming
from tabia.players.tree_memory import TreeMemory
from tabia.search import Search, SearchError, checks, layout
from tabia.search.agreement import UntilAgreed
from tabia.search.budget import Budget, all_agreed
from tabia.search.checks import Fault
from tabia.search.result import Result
from tabia.search.tree import NO_FAULT


class TreeSearchPlayer:
    """Runs a tree search for each position.

    With `seconds` the search also stops by the clock, which covers the whole batch and is checked between chunks of
    simulations. With `until_agreed` it also stops once one action has both the most visits and the highest value, in
    every position of the batch (max-robust child). With `reuse_tree` it continues the trees of the last call where they
    hold the new positions; a call inside compiled code keeps nothing. Evaluations that are NaN, infinite or out of
    range are reported, unless the caller compiles the call.
    """

    if TYPE_CHECKING:  # subclasses define these as fields or properties

        @property
        def game(self) -> Game: ...
        @property
        def spec(self) -> str: ...
        @property
        def search(self) -> Search: ...
        @property
        def parameters(self) -> Any: ...
        @property
        def seconds(self) -> float | None: ...
        @property
        def until_agreed(self) -> bool: ...
        @property
        def reuse_tree(self) -> bool: ...

    @property
    def final_rule(self) -> Final | None:
        """Chooses the action played; None: the search's own recommendation."""
        return None

    @property
    def whole_search(self) -> Search | UntilAgreed:
        """What runs the search."""
        return self.search

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        if self._budget is not None:
            return self.to_choice(self.run(states, key))
        if self._memory is not None and not isinstance(jax.tree.leaves(states)[0], jax.core.Tracer):
            with naming(self.spec):
                return self.to_choice(self._memory.run(self.parameters, states, key))
        with naming(self.spec):
            parts = groups.split(states, self._groups(states, key))
            program = self.search, self.final_rule, jax.tree.structure(self.parameters)
            found = groups.each(partial(self._choose_group, key, len(parts)), parts, program)
            report(self.game, states, checks.joined_faults([fault for _, fault in found], parts))
        return groups.joined([choice for choice, _ in found])

    def _choose_group(self, key: Array, count: int, group: int, states: State) -> tuple[Choice, Fault]:
        """The choice for one of `count` groups of positions."""
        own = jax.random.fold_in(key, group) if count > 1 else key
        return _choose(self.whole_search, self.final_rule, self.parameters, states, own)

    def _groups(self, states: State, key: Array) -> int:
        """How many groups of positions are searched at the same time; 1 inside compiled code."""
        given = jax.tree.leaves((states, key, self.parameters))
        if not self.splits or any(isinstance(leaf, jax.core.Tracer) for leaf in given):
            return 1
        return groups.number(jax.tree.leaves(states)[0].shape[0])

    @property
    def splits(self) -> bool:
        """Whether groups of positions may be searched at the same time, each on its own core."""
        return self.whole_search is self.search and not self.search.calls_python

    def run(self, states: State, key: Array) -> Result:
        """The whole result with its tree.

        The same key gives the same tree as in `choose`, unless a tree is kept or positions are searched in groups.
        """
        with naming(self.spec):
            if self._budget is not None:
                # A budget refuses finished games, so their rows search the first position of a game instead.
                return self._budget.run(self.parameters, _unfinished(self.game, states), key)
            result = self.whole_search.run_unchecked(self.parameters, states, key)
            checks.check_evaluations(self.game, result.tree)
            return result

    def to_choice(self, result: Result) -> Choice:
        """The choice that follows from a result."""
        return _to_choice(self.final_rule, result)

    def check_batch(self, batch: int) -> None:
        with naming(self.spec):
            layout.check(self.search, batch)

    @cached_property
    def _budget(self) -> Budget | None:
        if self.seconds is None and not self.until_agreed:
            return None
        chunk = chunk_size(self.search.simulations, self.search.leaves)
        return Budget(self.search, self.seconds, all_agreed if self.until_agreed else None, chunk)

    @cached_property
    def _memory(self) -> TreeMemory | None:
        return TreeMemory(self.search) if self.reuse_tree else None

    def _check(self) -> None:
        """Refuse invalid settings when the player is made."""
        with naming(self.spec):
            if self.reuse_tree and self._budget is not None:
                raise SearchError("reuse_tree does not work with seconds or until_agreed.")
            _ = self._budget, self._memory, self.whole_search


@dataclass(frozen=True, eq=False)
class SearchPlayer(TreeSearchPlayer):
    """Any search as a player, with the parameters of its evaluator; it has a name but no spec."""

    search: Search
    parameters: Any = None
    _: KW_ONLY
    seconds: float | None = None
    until_agreed: bool = False
    reuse_tree: bool = False
    name: str = "search"

    def __post_init__(self) -> None:
        self._check()

    @property
    def game(self) -> Game:
        return self.search.game

    @property
    def spec(self) -> str:
        return self.name


def chunk_size(simulations: int, leaves: int, *, most: int = 64) -> int:
    """Simulations between looks at the clock: a divisor of all in whole steps, at most `most` if possible.

    >>> chunk_size(800, 1), chunk_size(800, 8), chunk_size(7, 1)
    (50, 40, 7)
    """
    sizes = range(max(most // leaves, 1) * leaves, 0, -leaves)
    return next((size for size in sizes if simulations % size == 0), leaves)


@partial(jax.jit, static_argnums=(0, 1))
def _choose(
    search: Search | UntilAgreed, final_rule: Final | None, parameters: Any, states: State, key: Array
) -> tuple[Choice, Fault]:
    """Compiled as a whole, so that the tree never leaves the device's memory."""
    result = search.run_unchecked(parameters, states, key)
    faults = jnp.where(jax.vmap(search.game.over)(states), NO_FAULT, result.tree.faults)
    return _to_choice(final_rule, result), checks.first_fault(faults, result.tree.states)


@partial(jax.jit, static_argnums=0)
def _to_choice(final_rule: Final | None, result: Result) -> Choice:
    return Choice(
        actions=result.action if final_rule is None else final_rule(result),
        policy=result.policy,
        visits=result.visits,
        means=jnp.where(result.visits > 0, result.means, jnp.nan),
        values=result.values,
        proven=None if result.proofs is None else result.proofs.actions,
    )


@partial(jax.jit, static_argnums=0)
def _unfinished(game: Game, states: State) -> State:
    over, start = jax.vmap(game.over)(states), game.init(jax.random.key(0))

    def swap(leaf: Array, first: Array) -> Array:
        stop = over.reshape(over.shape + (1,) * (leaf.ndim - 1))
        return jnp.where(stop, jnp.broadcast_to(first[None], leaf.shape), leaf)

    return jax.tree.map(swap, states, start)


def report(game: Game, states: State, fault: Fault) -> None:
    """Raise SearchError if an evaluation was unusable; inside compiled code that is not known yet."""
    if not isinstance(fault.searches, jax.core.Tracer) and int(fault.searches):
        raise checks.unusable_evaluation(game, jax.tree.leaves(states)[0].shape[0], fault)
