"""The one place that builds searches: for players, self-play, gates and evaluations."""

from __future__ import annotations

from dataclasses import dataclass

from jax import Array

from tabia.games.game import Game, State
from tabia.games.registry import is_own
from tabia.networks import Folded, Network
from tabia.networks.int8 import Int8Forward
from tabia.search import Rule, Search
from tabia.search.evaluators import Evaluate, Mix, Rollout, WinningMovesFirst
from tabia.search.evaluators import Network as NetworkEvaluator

FEW_ACTIONS = 100
"""In games with more actions it is too expensive to play each of them at every leaf."""


def build_search(
    game: Game,
    evaluate: Network | Evaluate,
    *,
    rule: Rule,
    simulations: int,
    winning_moves_first: bool = False,
    symmetries: bool = False,
    int8: bool = False,
    rollout_weight: float = 0.0,
    leaves: int = 1,
    transpositions: bool = False,
    cut_loops: bool = False,
    reuse_nodes: int = 0,
    random_ties: bool = False,
    proven_values: bool = False,
) -> Search:
    """A search with a network, whose weights are the search's parameters, or with any evaluator.

    - `winning_moves_first`: every leaf is checked for actions that win at once;
    - `symmetries`: the network averages over all symmetries of the board;
    - `int8`: the parameters are the handle of an `Int8Network` instead of weights;
    - `rollout_weight`: the weight of a random rollout in each leaf's value;
    - the other settings are those of `Search`.
    """
    if isinstance(evaluate, Network):
        evaluate = network_evaluator(game, evaluate, symmetries=symmetries, int8=int8)
    if rollout_weight:
        evaluate = Mix(evaluate, Rollout(game), rollout_weight)
    if winning_moves_first:
        evaluate = WinningMovesFirst(game, evaluate)
    return Search(
        game=game,
        evaluate=evaluate,
        simulations=simulations,
        rule=rule,
        leaves=leaves,
        transpositions=transpositions,
        cut_loops=cut_loops,
        reuse_nodes=reuse_nodes,
        random_ties=random_ties,
        proven_values=proven_values,
    )


def network_evaluator(
    game: Game, network: Network, *, symmetries: bool = False, int8: bool = False
) -> NetworkEvaluator:
    """A network as an evaluator; its folded weights are the parameters, with `int8` the handle of an `Int8Network`."""
    forward = Int8Forward(network) if int8 else Forward(network)
    return NetworkEvaluator(game, forward, symmetries, Observe(network, game))


@dataclass(frozen=True)
class Observe:
    """What a network reads of a position; equal for equal networks and games."""

    network: Network
    game: Game

    def __call__(self, state: State) -> Array:
        return self.network.observe(self.game, state)


@dataclass(frozen=True)
class Forward:
    """A network's forward pass; equal for equal networks, which a bound method is not."""

    network: Network
    calls_python = False

    def __call__(self, parameters: Folded, observations: Array) -> tuple[Array, Array]:
        return self.network.forward(parameters, observations)

    @property
    def position_bytes(self) -> int:
        """Bytes of one position's features in the widest layer and the one before it."""
        return self.network.position_bytes


def can_search_winning_moves(game: Game) -> bool:
    """The default of `winning_moves_first`: true for Tabia's own games with few actions and no chance."""
    return not game.chance and game.num_actions <= FEW_ACTIONS and is_own(game.id)
