"""The arena: networks in training as players, and the gate that decides which one plays.

With a gate, a new network takes part in self-play only after it has beaten the champion. Every opening is played in
every seating, and a repeated game counts once. Games differ by their openings, by sampled first moves, or by both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from tabia.core import elo
from tabia.evaluation.match import Match, PlayedMatch
from tabia.evaluation.match import play as play_games
from tabia.evaluation.results import match_result
from tabia.networks import Variables
from tabia.players.modifiers import Habits, Modified
from tabia.players.network import NetworkPlayer
from tabia.players.player import Player
from tabia.players.runs import Agent
from tabia.players.search import build_search
from tabia.players.spec import PlayerError
from tabia.players.tree_player import SearchPlayer
from tabia.search import Gumbel, Search
from tabia.training.errors import DIVERGED, TrainingError
from tabia.training.plan import Plan
from tabia.training.selfplay import play

if TYPE_CHECKING:  # a state needs the memory limits, and those the searches of the arena
    from tabia.training.state import Counters, State

TOGETHER = 256
"""Games of a gate or an evaluation that are played at once, at most."""

_ALPHA = 0.05  # error probabilities of the sequential test


def make_player(plan: Plan, variables: Variables, simulations: int, name: str, *, search: str = "gumbel") -> Player:
    """A player with these weights: a search of this kind with the run's own evaluator, or the network alone."""
    agent = Agent(plan.network, _folded(plan.network, variables))
    if not simulations:
        return NetworkPlayer(plan.game, agent, name=name)
    return SearchPlayer(make_search(plan, simulations, search), agent.playing, name=name)


def make_search(plan: Plan, simulations: int, search: str = "gumbel") -> Search:
    """The search of a player in a gate or an evaluation: `gumbel`, or as in self-play (`run`); without noise."""
    return _SEARCHES[search](plan, simulations)


def _gumbel_search(plan: Plan, simulations: int) -> Search:
    settings = plan.config.search
    return build_search(
        plan.game,
        plan.network,
        rule=Gumbel(considered_actions=settings.considered_actions, gumbel_scale=0.0),
        simulations=simulations,
        winning_moves_first=settings.winning_moves_first,
        random_ties=settings.ties == "random",
        proven_values=settings.proven_values,
    )


def _run_search(plan: Plan, simulations: int) -> Search:
    silent = replace(
        plan.config.search, dirichlet_fraction=0.0, gumbel_scale=0.0, uniform_fraction=0.0, reuse_tree=False
    )
    return play.make_search(plan.game, plan.network, silent, simulations)


_SEARCHES = {"gumbel": _gumbel_search, "run": _run_search}


_folded = jax.jit(lambda network, variables: network.prepare(network.fold(variables)), static_argnums=0)


def with_sampling(plan: Plan, player: Player) -> Player:
    """The player as it plays in the gate: it samples the first moves if the run wants that."""
    if not plan.gate_plies:
        return player
    return Modified(player, Habits(temperature=1.0, sampled_plies=plan.gate_plies), name=player.spec)


def play_match(
    plan: Plan, one: Player, other: Player, seed: int, test: tuple[float, float, float, float] | None = None
) -> PlayedMatch:
    """The match of a gate: each opening in every seating."""
    settings = plan.config.gate
    opening_moves = None if settings.opening_moves < 0 else settings.opening_moves
    match = Match(
        game=plan.game,
        players=(with_sampling(plan, one), with_sampling(plan, other)),
        games=settings.games,
        opening_moves=opening_moves,
        seed=seed,
        batch=TOGETHER,
        test=test,
    )
    try:
        return play_games(match)
    except PlayerError as error:
        raise TrainingError(f"{error} {DIVERGED}") from None


@dataclass(frozen=True)
class Verdict:
    """The result of a gate."""

    passed: bool
    score: float  # of the new network, as a fraction of the points
    games: int

    def fields(self) -> dict[str, float | int | bool]:
        """Plain numbers for a line of metrics."""
        return {"gate_passed": self.passed, "gate_score": self.score, "gate_games": self.games}


def gate_due(plan: Plan, iteration: int) -> bool:
    """Whether the gate is held after this iteration."""
    return plan.config.gate.kind != "none" and iteration % plan.config.gate.every == 0


def run_gate(plan: Plan, state: State, counters: Counters) -> tuple[State, Verdict]:
    """Play the latest network against the champion; the state with the champion afterwards."""
    assert state.champion is not None
    settings = plan.config.gate
    simulations = settings.simulations or plan.config.search.simulations
    latest = make_player(plan, state.train_state.ema, simulations, "challenger", search=settings.search)
    champion = make_player(plan, state.champion, simulations, "champion", search=settings.search)
    test = (0.0, elo.difference(settings.threshold), _ALPHA, _ALPHA) if settings.kind == "sequential" else None
    played = play_match(plan, latest, champion, seed=counters.iteration, test=test)
    result = match_result(plan.game, played.records)
    side = next(side for side in result.players if side.name == "challenger")
    passed = {
        "score": side.score >= settings.threshold,
        "ratio": side.wins >= settings.threshold * side.losses and side.wins > 0,
        "sequential": played.verdict is True,
    }[settings.kind]
    if passed:
        state = promoted(state)
    elif settings.restore_on_refusal:
        assert state.backup is not None
        state = state._replace(train_state=jax.tree.map(jnp.copy, state.backup))
    return state, Verdict(passed, side.score, result.games)


def promoted(state: State) -> State:
    """The state with the latest network as the champion."""
    backup = None if state.backup is None else jax.tree.map(jnp.copy, state.train_state)
    return state._replace(champion=jax.tree.map(jnp.copy, state.train_state.ema), backup=backup)
