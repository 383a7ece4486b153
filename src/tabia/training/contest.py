"""A network in training as a player: what the gate and evaluations sit at the board."""

from __future__ import annotations

import jax

from tabia.evaluation.match import Match, Played, play
from tabia.networks import Variables
from tabia.players.player import Player
from tabia.players.searching import Instinct, Searcher, evaluator
from tabia.search import Gumbel, Search
from tabia.training.plan import Plan


def seated(plan: Plan, variables: Variables, simulations: int, name: str) -> Player:
    """The player these weights make: with search as in `az:`, but `finish` as in the run; or the network alone."""
    weights = _folded(plan.network, variables)
    if not simulations:
        return Instinct(plan.game, plan.network, weights, name)
    rule = Gumbel(considered=plan.config.search.considered, noise=0.0)
    evaluate = evaluator(plan.game, plan.network, finish=plan.config.search.finish)
    search = Search(plan.game, evaluate, simulations, rule)
    return Searcher(search, name, weights)


_folded = jax.jit(lambda network, variables: network.fold(variables), static_argnums=0)


def contest(plan: Plan, one: Player, other: Player, games: int, seed: int,
            test: tuple[float, float, float, float] | None = None) -> Played:  # fmt: skip
    """A match from varied openings, every opening in every seating."""
    return play(Match(plan.game, (one, other), games, seed=seed, test=test))
