"""Self-play on the device: many games in lockstep, a compiled chunk of plies at a time.

A finished game makes room for a new one in the same lane; games go on from chunk to chunk and none is thrown away.
Axis letters: T plies, B lanes, A actions, K actions kept, P seats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.networks import Network, Variables, compute_type
from tabia.players import make as make_player
from tabia.players.search import build_search
from tabia.search import Search
from tabia.search.evaluators import random_actions, step
from tabia.search.result import visit_policy
from tabia.search.rules import make_rule
from tabia.search.tree import root_view
from tabia.training.config.schema import SearchSettings, SelfPlaySettings
from tabia.training.selfplay import policies
from tabia.training.selfplay.openings import Again, Lanes, fresh, restart, where


class Plies(NamedTuple):
    """What plies leave behind, enough to learn from and to replay; leading axes [T, B]."""

    states: State  # before the move
    action: Array  # int32
    policy: Array  # float16[K] what the search recommends, the largest shares of it (see `policies`)
    values: Array  # float32[P] what it expects for each seat
    valued: Array  # bool whether it was asked: a teacher expects nothing
    prior: Array  # float32 how likely the evaluator alone held the move played
    agrees: Array  # bool whether it was the evaluator's favorite
    scores: Array  # float32[P] after the move, in [-1, 1]; of games that ended
    ended: Array  # bool whether the move ended the game
    resigned: Array  # bool whether the game was given up instead
    explored: Array  # bool whether the move was random
    full_search: Array  # bool whether the policy is worth learning: the ply was searched in full
    ply: Array  # int32
    opening: Array  # int32
    policy_actions: Array | None = None  # int16[K] or int32[K] whose shares they are, if not those of all actions


@dataclass(frozen=True)
class SelfPlay:
    """How to play; a static argument of compiled code."""

    game: Game
    network: Network
    search: SearchSettings
    settings: SelfPlaySettings
    target: str = "improved"  # the policy to learn, as in `TargetSettings.policy`
    precision: str = "auto"

    def begin(self, key: Array) -> Lanes:
        """Games at their start."""
        return _begin(self, key)

    def play(self, variables: Variables, lanes: Lanes, key: Array, again: Again | None = None) -> tuple[Lanes, Plies]:
        """`plies` moves in every lane, by the search with this network; new games begin as set, or `again`."""
        return _play(self, variables, lanes, key, again)

    def lowered(self, variables: Variables, lanes: Lanes, key: Array, again: Again | None) -> jax.stages.Lowered:
        """`play` for arguments like these, ready to be compiled."""
        return _play.lower(self, variables, lanes, key, again)


def make_search(game: Game, network: Network, settings: SearchSettings, simulations: int) -> Search:
    """The search of self-play."""
    return build_search(
        game,
        network,
        rule=make_rule(settings.rule, settings),
        simulations=simulations,
        winning_moves_first=settings.winning_moves_first,
        transpositions=settings.transpositions,
        cut_loops=settings.cut_loops,
    )


@partial(jax.jit, static_argnums=0)
def _begin(plan: SelfPlay, key: Array) -> Lanes:
    return fresh(plan, key, spread=True)


@partial(jax.jit, static_argnums=0)
def _play(plan: SelfPlay, variables: Variables, lanes: Lanes, key: Array, again: Again | None) -> tuple[Lanes, Plies]:
    weights = plan.network.fold(variables, compute_type(plan.precision))
    pool_key, play_key = jax.random.split(key)
    pool = fresh(plan, pool_key, weights)
    if again is not None:
        # Nobody resigns where the search was wrong: it would lose again what there is to learn.
        known = Lanes(again.states, again.ply, again.ply, pool.until, jnp.ones_like(pool.stubborn))
        pool = Lanes(*where(again.chosen, known, pool))

    def ply(lanes: Lanes, index: Array) -> tuple[Lanes, Plies]:
        # Restarting before the move, not after it, lets XLA keep the new states in one piece.
        return play_ply(plan, weights, restart(plan.game, lanes, pool, index), jax.random.fold_in(play_key, index))

    return jax.lax.scan(ply, lanes, jnp.arange(plan.settings.plies))


def play_ply(plan: SelfPlay, weights: Any, lanes: Lanes, key: Array) -> tuple[Lanes, Plies]:
    """One move in every lane."""
    think_key, move_key, chance_key = jax.random.split(key, 3)
    thought, full_search = think(plan, weights, lanes.states, think_key)
    action, explored = choose(plan, thought, lanes, move_key)
    after = step(plan.game, lanes.states, action, chance_key)
    over, scores = jax.vmap(plan.game.over)(after), plan.game.scale(jax.vmap(plan.game.scores)(after))
    resigned, scores = give_up(plan, lanes, thought.values, scores)
    policy, policy_actions = policies.keep(thought.policy)
    left = Plies(
        lanes.states,
        action,
        policy,
        thought.values,
        jnp.full(over.shape, not plan.settings.teacher),
        jnp.take_along_axis(thought.prior, action[:, None], axis=1)[:, 0],
        action == jnp.argmax(thought.prior, axis=-1),
        scores,
        over | resigned,
        resigned,
        explored & ~resigned,  # a move that was not played is not a random one either
        jnp.broadcast_to(full_search, over.shape),
        lanes.ply,
        lanes.opening,
        policy_actions,
    )
    # A game given up is over for its lane: the mark is a ply of -1, which `restart` heeds.
    return lanes._replace(states=after, ply=jnp.where(resigned, -1, lanes.ply + 1)), left


class Thought(NamedTuple):
    """What is known of the positions before the moves are chosen."""

    action: Array  # int32[B] the move to play where nothing is left to chance
    policy: Array  # float32[B, A] what to learn, and to draw from
    values: Array  # float32[B, P]
    prior: Array  # float32[B, A] the network's own policy, 0 for illegal moves
    legal: Array  # bool[B, A]


def think(plan: SelfPlay, weights: Any, states: State, key: Array) -> tuple[Thought, Array]:
    """Search every position, in full or (by a coin for the whole batch) quickly; whether it was in full."""
    settings = plan.search
    if plan.settings.teacher:
        return taught(plan, states, key), jnp.array(True)

    def searched(simulations: int) -> Thought:
        search = make_search(plan.game, plan.network, settings, simulations)
        result = search.run_unchecked(weights, states, key)
        root = root_view(result.tree)
        policy = visit_policy(result.visits, 1.0) if plan.target == "visits" else result.policy
        return Thought(result.action, policy, result.values, jnp.where(root.legal, root.priors, 0.0), root.legal)

    if not settings.fast_simulations:
        return searched(settings.simulations), jnp.array(True)
    full = jax.random.uniform(jax.random.fold_in(key, 0)) < settings.full_search_fraction
    thought = jax.lax.cond(full, lambda: searched(settings.simulations), lambda: searched(settings.fast_simulations))
    return thought, full


def taught(plan: SelfPlay, states: State, key: Array) -> Thought:
    """What a teacher would play, for a run's first games (Schulte 2021); it has no opinion of values."""
    choice = make_player(plan.settings.teacher, plan.game).choose(states, key)
    assert choice.policy is not None, "only players with a policy can teach: Plan.check sees to that"
    legal = jax.vmap(plan.game.legal)(states)
    values = jnp.zeros((legal.shape[0], plan.game.num_players))
    return Thought(choice.actions, choice.policy, values, jnp.where(legal, choice.policy, 0.0), legal)


def choose(plan: SelfPlay, thought: Thought, lanes: Lanes, key: Array) -> tuple[Array, Array]:
    """The moves to play, and which of them are random."""
    settings = plan.settings
    hot_key, cold_key, explore_key, coin_key = jax.random.split(key, 4)

    def drawn(temperature: float, key: Array) -> Array:
        if temperature == 0.0:
            return thought.action
        return jax.random.categorical(key, jnp.log(thought.policy) / temperature, axis=-1).astype(jnp.int32)

    early = lanes.ply < lanes.until
    action = jnp.where(early, drawn(settings.temperature, hot_key), drawn(settings.temperature_end, cold_key))
    if not settings.epsilon:
        return action, jnp.zeros(action.shape, bool)
    wild = jax.random.uniform(coin_key, action.shape) < settings.epsilon
    return jnp.where(wild, random_actions(explore_key, thought.legal), action), wild


def give_up(plan: SelfPlay, lanes: Lanes, values: Array, scores: Array) -> tuple[Array, Array]:
    """Which games their mover resigns, and the scores of all games with that."""
    if not plan.settings.resign_threshold or plan.game.num_players != 2:
        return jnp.zeros(lanes.ply.shape, bool), scores
    mover = jax.vmap(plan.game.mover)(lanes.states)
    own = jnp.take_along_axis(values, mover[:, None], axis=1)[:, 0]
    resigned = (own < -plan.settings.resign_threshold) & ~lanes.stubborn
    lost = jnp.where(jnp.arange(2)[None, :] == mover[:, None], -1.0, 1.0)
    return resigned, jnp.where(resigned[:, None], lost, scores)
