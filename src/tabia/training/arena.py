"""A network in training as a player: what the gate and evaluations sit at the board."""

from __future__ import annotations

import jax

from tabia.evaluation.match import Match, PlayedMatch, play
from tabia.networks import Variables
from tabia.players.player import Player
from tabia.players.searching import MCTSPlayer, NetworkPlayer, evaluator
from tabia.players.spec import PlayerError
from tabia.search import Gumbel, Search
from tabia.training.errors import DIVERGED, TrainingError
from tabia.training.plan import Plan


def seated(plan: Plan, variables: Variables, simulations: int, name: str) -> Player:
    """The player these weights make: with search as in `az:`, but `finish` as in the run; or the network alone."""
    weights = _folded(plan.network, variables)
    if not simulations:
        return NetworkPlayer(plan.game, plan.network, weights, name)
    return MCTSPlayer(make_search(plan, simulations), name, weights)


def make_search(plan: Plan, simulations: int) -> Search:
    """The search of a player in a gate or an evaluation."""
    rule = Gumbel(considered=plan.config.search.considered_actions, noise=0.0)
    evaluate = evaluator(plan.game, plan.network, finish=plan.config.search.winning_moves_first)
    return Search(plan.game, evaluate, simulations, rule)


TOGETHER = 256
"""Games of a gate or an evaluation played side by side, at most."""

_folded = jax.jit(lambda network, variables: network.fold(variables), static_argnums=0)


def contest(
    plan: Plan, one: Player, other: Player, games: int, seed: int, test: tuple[float, float, float, float] | None = None
) -> PlayedMatch:
    """A match from varied openings, every opening in every seating."""
    try:
        return play(Match(plan.game, (one, other), games, seed=seed, batch=TOGETHER, test=test))
    except PlayerError as error:
        raise TrainingError(f"{error} {DIVERGED}") from None
