"""A network in training as a player: what the gate and evaluations sit at the board."""

from __future__ import annotations

import jax

from tabia.evaluation.match import Match, Played, play
from tabia.networks import Variables
from tabia.players.network import NetworkPlayer
from tabia.players.player import Player
from tabia.players.runs import Agent
from tabia.players.search import build_search
from tabia.players.spec import PlayerError
from tabia.players.tree_search import AlphaZeroPlayer
from tabia.search import Gumbel, Rule, Search
from tabia.training.errors import DIVERGED, TrainingError
from tabia.training.plan import Plan


def seated(plan: Plan, variables: Variables, simulations: int, name: str) -> Player:
    """The player with these weights: AlphaZero with the run's search settings, or the network alone."""
    agent = Agent(plan.network, _folded(plan.network, variables))
    if not simulations:
        return NetworkPlayer(plan.game, agent, name=name)
    return AlphaZeroPlayer(
        plan.game,
        agent,
        simulations=simulations,
        rule=_rule(plan),
        winning_moves_first=plan.config.search.winning_moves_first,
        name=name,
    )


def make_search(plan: Plan, simulations: int) -> Search:
    """The search of a player in a gate or an evaluation."""
    return build_search(
        plan.game,
        plan.network,
        rule=_rule(plan),
        simulations=simulations,
        winning_moves_first=plan.config.search.winning_moves_first,
    )


def _rule(plan: Plan) -> Rule:
    """Gumbel without noise."""
    return Gumbel(considered_actions=plan.config.search.considered_actions, gumbel_scale=0.0)


TOGETHER = 256
"""Games of a gate or an evaluation played side by side, at most."""

_folded = jax.jit(lambda network, variables: network.fold(variables), static_argnums=0)


def contest(
    plan: Plan, one: Player, other: Player, games: int, seed: int, test: tuple[float, float, float, float] | None = None
) -> Played:
    """A match from varied openings, every opening in every seating."""
    try:
        return play(Match(plan.game, (one, other), games, seed=seed, together=TOGETHER, test=test))
    except PlayerError as error:
        raise TrainingError(f"{error} {DIVERGED}") from None
