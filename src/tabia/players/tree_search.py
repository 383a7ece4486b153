"""Players with tree search: MCTS with rollouts, and AlphaZero with a network.

The search is a static argument of compiled code and the weights are passed to it, so checkpoints of one run share their
programs. Axis letters: B positions, A actions, P seats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.networks import Folded
from tabia.players import runs
from tabia.players.player import Choice
from tabia.players.rule_options import Defaults, write_rule
from tabia.players.runs import Agent
from tabia.players.search import build_search, can_search_winning_moves
from tabia.players.simple import require_heuristic
from tabia.players.spec import PlayerError, naming, spec_text
from tabia.search import Gumbel, Puct, Rule, Search, Uct, checks, layout
from tabia.search.budget import Budget, all_agreed
from tabia.search.checks import Fault
from tabia.search.evaluators import Evaluate, Heuristic, Mix, Rollout
from tabia.search.memory import device_limit
from tabia.search.result import Result, best_value, max_robust, most_visits, secure
from tabia.search.tree import NO_FAULT

Final = Callable[[Result], Array]

FINAL_RULES: dict[str, Final | None] = {
    "recommended": None,
    "visits": most_visits,
    "value": best_value,
    "robust": max_robust,
    "secure": secure,
}
"""Final-move rules by the names of MCTSPlayer's option `final`."""

UCT, PUCT, GUMBEL = Uct(c=1.4), Puct(), Gumbel(gumbel_scale=0.0)
MCTS_DEFAULTS: Defaults = {Uct: UCT, Puct: Puct(c=1.4)}
AZ_DEFAULTS: Defaults = {Gumbel: GUMBEL}

_TREE_BYTES = 2**26  # of one position's tree, if only the clock bounds the search
_TREES = 512  # trees of that size that fit into memory together


class TreeSearchPlayer:
    """Runs a tree search for each position.

    With `seconds` the search also stops by the clock, which covers the whole batch and is checked between chunks of
    simulations. With `until_agreed` it also stops once one action has both the most visits and the highest value, in
    every position of the batch (max-robust child). Evaluations that are NaN, infinite or out of range are reported,
    unless the caller compiles the call.
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
    def final_rule(self) -> Final | None:
        """Chooses the action played; None: the search's own recommendation."""
        return None

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        if self._budget is not None:
            return self.to_choice(self.run(states, key))
        with naming(self.spec):
            choice, fault = _choose(self.search, self.final_rule, self.parameters, states, key)
            report(self.game, states, fault)
        return choice

    def run(self, states: State, key: Array) -> Result:
        """The whole result with its tree; the same key gives the same tree as in `choose`."""
        with naming(self.spec):
            if self._budget is not None:
                # A budget refuses finished games, so their rows search the first position of a game instead.
                return self._budget.run(self.parameters, _unfinished(self.game, states), key)
            result = self.search.run_unchecked(self.parameters, states, key)
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

    def _check(self) -> None:
        """Refuse invalid settings when the player is made."""
        with naming(self.spec):
            _ = self._budget, self.search


@dataclass(frozen=True, eq=False)
class SearchPlayer(TreeSearchPlayer):
    """Any search as a player, with the parameters of its evaluator; it has a name but no spec."""

    search: Search
    parameters: Any = None
    _: KW_ONLY
    seconds: float | None = None
    until_agreed: bool = False
    name: str = "search"

    def __post_init__(self) -> None:
        self._check()

    @property
    def game(self) -> Game:
        return self.search.game

    @property
    def spec(self) -> str:
        return self.name


@dataclass(frozen=True)
class MCTSPlayer(TreeSearchPlayer):
    """Monte Carlo tree search with random rollouts.

    - `simulations`: per move; the default is 800, or what fits into memory if `seconds` is given;
    - `rule`: the selection rule;
    - `rollouts`, `rollout_moves`: rollouts per leaf, and their maximum length (default: to the end of the game);
    - `heuristic_weight`: the weight of the game's heuristic in each leaf's value; 1 means no rollouts;
    - `final`: which action is played: the one the rule recommends (`recommended`), most `visits`, highest `value`,
      `robust` (both) or `secure`;
    - `leaves`: leaves evaluated per step.
    """

    game: Game
    _: KW_ONLY
    simulations: int | None = None
    seconds: float | None = None
    until_agreed: bool = False
    rule: Rule = UCT
    rollouts: int = 1
    rollout_moves: int | None = None
    heuristic_weight: float = 0.0
    final: str = "recommended"
    leaves: int = 1
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.heuristic_weight:
            require_heuristic(self.game, "heuristic_weight")
        if self.final not in FINAL_RULES:
            raise PlayerError(f"final={self.final!r}: expected one of {', '.join(FINAL_RULES)}.")
        self._check()
        with naming(self.spec):
            checks.check_work("simulations * rollouts", self.search.simulations * self.rollouts)

    @property
    def spec(self) -> str:
        options: dict[str, Any] = {"simulations": self.simulations, "seconds": self.seconds}
        options |= write_rule(self.rule, UCT, MCTS_DEFAULTS)
        options |= _changed(self, "until_agreed", "rollouts", "rollout_moves", "heuristic_weight", "final", "leaves")
        return self.name or spec_text("mcts", options)

    @cached_property
    def search(self) -> Search:
        return build_search(
            self.game,
            self._evaluator(),
            rule=self.rule,
            simulations=_simulations(self, default=800),
            leaves=self.leaves,
        )

    @property
    def parameters(self) -> None:
        return None

    @property
    def final_rule(self) -> Final | None:
        return FINAL_RULES[self.final]

    def _evaluator(self) -> Evaluate:
        rollout, heuristic = Rollout(self.game, self.rollouts, self.rollout_moves), Heuristic(self.game)
        if self.heuristic_weight == 1.0:
            return heuristic
        return Mix(rollout, heuristic, self.heuristic_weight) if self.heuristic_weight else rollout


@dataclass(frozen=True)
class AlphaZeroPlayer(TreeSearchPlayer):
    """A network with tree search.

    `source` is a shipped agent, a run directory or a file of weights, with an optional version ("runs/connect4@best"),
    or an `Agent` with a network and its weights.

    - `simulations`: per move; the default is 64, or what fits into memory if `seconds` is given;
    - `rule`: the selection rule; the default is Gumbel without noise, or Puct if the search may stop early;
    - `winning_moves_first`: check every leaf for actions that win at once; the default depends on the game;
    - `symmetries`: average the network over all symmetries of the board;
    - `rollout_weight`: the weight of a random rollout in each leaf's value;
    - `leaves`: leaves evaluated per step.
    """

    game: Game
    source: str | Path | Agent = field(compare=False)
    _: KW_ONLY
    simulations: int | None = None
    seconds: float | None = None
    until_agreed: bool = False
    rule: Rule | None = None
    winning_moves_first: bool | None = None
    symmetries: bool = False
    rollout_weight: float = 0.0
    leaves: int = 1
    name: str = field(default="", compare=False)
    agent: Agent = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", runs.find_agent(self.game, self.source))
        if self.rule == self._default_rule:  # so that players which choose alike are equal
            object.__setattr__(self, "rule", None)
        self._check()

    @property
    def spec(self) -> str:
        options: dict[str, Any] = {"simulations": self.simulations, "seconds": self.seconds, "seed": self.agent.seed}
        if self.rule is not None:
            options |= write_rule(self.rule, self._default_rule, AZ_DEFAULTS)
        options |= _changed(self, "until_agreed", "winning_moves_first", "symmetries", "rollout_weight", "leaves")
        return self.name or spec_text("az", options, what=self.agent.source)

    @property
    def parameters(self) -> Folded:
        return self.agent.parameters

    @cached_property
    def search(self) -> Search:
        winning = self.winning_moves_first
        return build_search(
            self.game,
            self.agent.network,
            rule=self.rule or self._default_rule,
            simulations=_simulations(self, default=64),
            winning_moves_first=can_search_winning_moves(self.game) if winning is None else winning,
            symmetries=self.symmetries,
            rollout_weight=self.rollout_weight,
            leaves=self.leaves,
        )

    @property
    def _default_rule(self) -> Rule:
        return PUCT if self.seconds or self.until_agreed else GUMBEL


def _simulations(player: MCTSPlayer | AlphaZeroPlayer, *, default: int) -> int:
    """The simulations of a player; if only the clock bounds them, a power of two that fits into memory."""
    if player.simulations is not None or player.seconds is None:
        return default if player.simulations is None else player.simulations
    size, available = 64, min(_TREE_BYTES, device_limit().bytes // _TREES)
    while size < 65536 and size * 2 * (player.game.num_actions + 1) * 16 <= available:
        size *= 2
    return size * player.leaves


def _changed(player: MCTSPlayer | AlphaZeroPlayer, *names: str) -> dict[str, Any]:
    """The fields whose values are not the defaults."""
    defaults = {one.name: one.default for one in fields(player)}
    return {name: getattr(player, name) for name in names if getattr(player, name) != defaults[name]}


def chunk_size(simulations: int, leaves: int, *, most: int = 64) -> int:
    """Simulations between looks at the clock: a divisor of all in whole steps, at most `most` if possible.

    >>> chunk_size(800, 1), chunk_size(800, 8), chunk_size(7, 1)
    (50, 40, 7)
    """
    sizes = range(max(most // leaves, 1) * leaves, 0, -leaves)
    return next((size for size in sizes if simulations % size == 0), leaves)


@partial(jax.jit, static_argnums=(0, 1))
def _choose(
    search: Search, final_rule: Final | None, parameters: Any, states: State, key: Array
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
