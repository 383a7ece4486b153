"""Players that look ahead: minimax, rollout MCTS, a network alone, and a network with search (AlphaZero).

A search is a static argument of compiled code and the weights are passed to it, so two checkpoints of one run share
their programs. Axis letters: B positions, A actions, P seats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.games.registry import is_own
from tabia.networks import Network
from tabia.players.player import Choice
from tabia.players.spec import PlayerError
from tabia.search import checks, layout
from tabia.search.budget import Budget
from tabia.search.checks import Fault
from tabia.search.choice import best_value, max_robust, most_visits, secure
from tabia.search.errors import SearchError
from tabia.search.evaluators import Evaluate, WinningMovesFirst
from tabia.search.evaluators import Network as Evaluator
from tabia.search.minimax import Minimax
from tabia.search.roots import Result
from tabia.search.search import Search
from tabia.search.tree import NO_FAULT, log_priors

Final = Callable[[Result], Array]  # which move to play once the search is done

FINAL_RULES: dict[str, Final] = {
    "visits": most_visits,
    "value": best_value,
    "robust": max_robust,
    "secure": secure,
}


@dataclass(frozen=True)
class MinimaxPlayer:
    """Minimax to a depth with the game's own heuristic (Sanz & Villanueva 2021), any of the best moves."""

    minimax: Minimax
    spec: str

    @property
    def game(self) -> Game:
        return self.minimax.game

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return _minimax_choice(self.minimax, states, key)


@partial(jax.jit, static_argnums=0)
def _minimax_choice(minimax: Minimax, states: State, key: Array) -> Choice:
    outlook = minimax.explore(states, key)
    mover = jax.vmap(minimax.game.mover)(states)
    own = jnp.take_along_axis(outlook.branches, mover[:, None, None], axis=-1)[..., 0]
    means = jnp.where(jnp.isfinite(own), own, jnp.nan)
    policy = outlook.best / jnp.maximum(outlook.best.sum(axis=-1, keepdims=True), 1)
    return Choice(outlook.action, policy, None, means, outlook.values)


@dataclass(frozen=True, eq=False)
class MCTSPlayer:
    """Tree search with whatever the search was given: rollouts (MCTS) or a network (AlphaZero).

    With `seconds` the search also stops by the clock, which is for the whole batch and is looked at between chunks of
    simulations. Without a `final` rule the search's own move is played. An evaluator that returns NaN, an infinity or
    an impossible value anywhere in the tree is reported, unless the caller compiles the call.
    """

    search: Search
    spec: str
    parameters: Any = None
    seconds: float | None = None
    final: Final | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None:
            self._budget()  # refuses what cannot be timed

    @property
    def game(self) -> Game:
        return self.search.game

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        if self.seconds is not None:
            return _told(self.final, self.look(states, key))
        with _speaking_for(self.spec):
            choice, fault = _searched(self.search, self.final, self.parameters, states, key)
            _check(self.game, states, fault)
        return choice

    def look(self, states: State, key: Array) -> Result:
        """The whole result, tree included; the same key grows the same tree as `choose` does."""
        with _speaking_for(self.spec):
            if self.seconds is None:
                result = self.search.explore(self.parameters, states, key)
                checks.answers(self.game, result.tree)
                return result
            # A budget refuses games that are over; their lanes search the start of a game instead.
            return self._budget().run(self.parameters, _going(self.game, states), key)

    def told(self, result: Result) -> Choice:
        """The choice that follows from a result."""
        return _told(self.final, result)

    def check_batch(self, batch: int) -> None:
        with _speaking_for(self.spec):
            layout.check(self.search, batch)

    def _budget(self) -> Budget:
        return Budget(self.search, seconds=self.seconds, chunk=chunk(self.search.simulations, self.search.leaves))


def chunk(simulations: int, leaves: int, *, most: int = 64) -> int:
    """How many simulations to do between looks at the clock: a part of all, in whole steps, at most `most` if it can.

    >>> chunk(800, 1), chunk(800, 8), chunk(7, 1)
    (50, 40, 7)
    """
    sizes = range(max(most // leaves, 1) * leaves, 0, -leaves)
    return next((size for size in sizes if simulations % size == 0), leaves)


@partial(jax.jit, static_argnums=(0, 1))
def _searched(search: Search, final: Final | None, parameters: Any, states: State, key: Array) -> tuple[Choice, Fault]:
    """Compiled as a whole, so that the tree never leaves the device's memory."""
    result = search.explore(parameters, states, key)
    going = ~jax.vmap(search.game.over)(states)
    return _told(final, result), checks.first_fault(jnp.where(going, result.tree.faults, NO_FAULT), result.tree.states)


@partial(jax.jit, static_argnums=0)
def _told(final: Final | None, result: Result) -> Choice:
    means = jnp.where(result.visits > 0, result.means, jnp.nan)
    actions = result.action if final is None else final(result)
    return Choice(actions, result.policy, result.visits, means, result.values)


@partial(jax.jit, static_argnums=0)
def _going(game: Game, states: State) -> State:
    over, start = jax.vmap(game.over)(states), game.init(jax.random.key(0))

    def swap(leaf: Array, fresh: Array) -> Array:
        stop = over.reshape(over.shape + (1,) * (leaf.ndim - 1))
        return jnp.where(stop, jnp.broadcast_to(fresh[None], leaf.shape), leaf)

    return jax.tree.map(swap, states, start)


@contextmanager
def _speaking_for(spec: str) -> Iterator[None]:
    """Name the player in whatever its search refuses or reports."""
    try:
        yield
    except SearchError as error:
        raise PlayerError(f"{spec}: {error}") from None


def _check(game: Game, states: State, fault: Fault) -> None:
    """Report what the evaluator returned if it cannot be used; inside compiled code nothing is known yet."""
    if not isinstance(fault.searches, jax.core.Tracer) and int(fault.searches):
        raise checks.unusable_answer(game, jax.tree.leaves(states)[0].shape[0], fault)


@dataclass(frozen=True)
class Forward:
    """A network as a search's evaluator calls it; equal for equal networks, which a bound method is not."""

    network: Network

    def __call__(self, parameters: Any, observations: Array) -> tuple[Array, Array]:
        return self.network.forward(parameters, observations)

    @property
    def position_bytes(self) -> int:
        """Bytes of one position's features, in the widest layer and the one before it."""
        height, width, _ = self.network.observation_shape
        widest = max(layer.outputs * (height * width if layer.kernel else 1) for layer in self.network.layers)
        return 2 * 4 * widest


FEW_ACTIONS = 100
"""Games with more are too dear to have every action played at each leaf."""


def can_search_winning_moves(game: Game) -> bool:
    """Whether to look for moves that win at once where nobody says: few actions, Tabia's own rules, no chance."""
    return not game.chance and game.num_actions <= FEW_ACTIONS and is_own(game.id)


def evaluator(game: Game, network: Network, *, finish: bool, symmetries: bool = False) -> Evaluate:
    """A network as evaluator, asked in every symmetry if `symmetries`; with an eye for moves that win if `finish`."""
    asked = Evaluator(game, Forward(network), symmetries)
    return WinningMovesFirst(game, asked) if finish else asked


@dataclass(frozen=True, eq=False)
class NetworkPlayer:
    """A network alone: the move it likes best."""

    game: Game
    network: Network
    parameters: Any
    spec: str
    symmetries: bool = False  # whether it is asked in every symmetry of the board

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        asked = evaluator(self.game, self.network, finish=False, symmetries=self.symmetries)
        choice, fault = _network_choice(self.game, asked, self.parameters, states)
        with _speaking_for(self.spec):
            _check(self.game, states, fault)
        return choice


@partial(jax.jit, static_argnums=(0, 1))
def _network_choice(game: Game, evaluate: Evaluate, parameters: Any, states: State) -> tuple[Choice, Fault]:
    evaluation = evaluate(parameters, states, jax.random.key(0))
    legal = jax.vmap(game.legal)(states)
    policy = jnp.where(legal, jnp.exp(log_priors(evaluation.logits, legal)), 0.0)
    best = jnp.argmax(jnp.where(legal, evaluation.logits, -jnp.inf), axis=-1).astype(jnp.int32)
    bad = layout.unusable(evaluation) & ~jax.vmap(game.over)(states)
    fault = checks.first_fault(jnp.where(bad, 0, NO_FAULT), jax.tree.map(lambda leaf: leaf[None], states))
    return Choice(best, policy, values=evaluation.values), fault
