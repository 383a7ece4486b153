"""Self-play on the device: many games in lockstep, one compiled batch of plies at a time.

A new game takes over the lane of a finished one. Games continue from one call to the next, and none is dropped. With
`whole_games`, each call plays one game per lane, and lanes whose game has ended are idle.
Axis letters: T plies, B lanes, A actions, K actions kept, P seats.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.core import devices, groups
from tabia.core.lanes import constrain
from tabia.games.game import Game, State
from tabia.networks import Network, Variables, compute_type
from tabia.players import make as make_player
from tabia.players.search import build_search
from tabia.search import Search
from tabia.search.evaluators import random_actions, step
from tabia.search.result import visit_target
from tabia.search.reuse import child_of, continue_unchecked
from tabia.search.rules import make_rule
from tabia.search.search import init_tree
from tabia.search.tree import NO_CHILD, Tree, root_view
from tabia.training.config.schema import SearchSettings, SelfPlaySettings
from tabia.training.selfplay.openings import Kept, Lanes, Revisits, is_over, new_games, restart, with_revisits
from tabia.training.selfplay.replay import compress_policy


class Plies(NamedTuple):
    """Positions, moves and search results of self-play; leading axes [T, B]."""

    states: State  # before the move
    action: Array  # int32
    policy: Array  # float16[K] the search policy, compressed (see `replay.compress_policy`)
    values: Array  # float32[P] the search values, one per seat
    valued: Array  # bool whether there was a search: a teacher gives no values
    prior: Array  # float32 the evaluator's probability of the move played
    agrees: Array  # bool whether the move was the evaluator's first choice
    scores: Array  # float32[P] after the move, in [-1, 1]; meaningful if the game ended
    ended: Array  # bool whether the game ended with this ply
    resigned: Array  # bool whether it ended by resignation, without the move
    explored: Array  # bool whether the move was random
    full_search: Array  # bool whether the policy is a target: fast searches give none
    ply: Array  # int32
    opening: Array  # int32
    proven: Array | None = None  # bool whether the search proved its values, with `search.proven_values`
    policy_actions: Array | None = None  # int16[K] or int32[K] the actions of `policy`, unless all are kept
    idle: Array | None = None  # bool whether the game had ended before, with `selfplay.whole_games`


@dataclass(frozen=True)
class SelfPlay:
    """How to play; a static argument of compiled code."""

    game: Game
    network: Network
    search: SearchSettings
    settings: SelfPlaySettings
    target: str = "improved"  # the policy target, as in `TargetSettings.policy`
    precision: str = "auto"
    on_one_core: bool = False  # whether other groups keep the other cores busy

    def begin(self, key: Array) -> Lanes:
        """Games at their first position."""
        return devices.split(_begin(self, key))

    def play(
        self, variables: Variables, lanes: Lanes, key: Array, revisits: Revisits | None = None
    ) -> tuple[Lanes, Plies]:
        """Play `plies` moves in every lane, by search with this network."""
        if self._groups > 1:
            return self._play_groups(variables, lanes, key, revisits)
        with devices.active():
            return _play(self, variables, lanes, key, revisits)

    def _play_groups(
        self, variables: Variables, lanes: Lanes, key: Array, revisits: Revisits | None
    ) -> tuple[Lanes, Plies]:
        one = self._group

        def play(number: int, part: tuple[Lanes, Revisits | None]) -> tuple[Lanes, Plies]:
            return _play(one, variables, part[0], jax.random.fold_in(key, number), part[1])

        found = groups.each(play, groups.split((lanes, revisits), self._groups), one)
        return groups.joined([lanes for lanes, _ in found]), groups.joined([plies for _, plies in found], axis=1)

    def shapes(self, variables: Variables, lanes: Lanes, key: Array) -> Plies:
        """The shapes of the plies of `play`."""
        return jax.eval_shape(partial(_play, self), variables, lanes, key, None)[1]

    def lowered(self, variables: Variables, lanes: Lanes, key: Array, revisits: Revisits | None) -> jax.stages.Lowered:
        """The program of `play` for arguments like these, ready to compile."""
        if self._groups > 1:
            lanes, revisits = jax.eval_shape(partial(groups.split, count=self._groups), (lanes, revisits))[0]
        with devices.active():
            return _play.lower(self._group, variables, lanes, key, revisits)

    @property
    def _groups(self) -> int:
        """How many groups of lanes play at the same time."""
        return 1 if self.game.calls_python else groups.number(self.settings.games)

    @property
    def _group(self) -> SelfPlay:
        """Self-play of one group."""
        if self._groups == 1:
            return self
        settings = replace(self.settings, games=self.settings.games // self._groups)
        return replace(self, settings=settings, on_one_core=True)


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
        reuse_nodes=simulations if settings.reuse_tree else 0,
        random_ties=settings.ties == "random",
        proven_values=settings.proven_values,
    )


@partial(jax.jit, static_argnums=0)
def _begin(selfplay: SelfPlay, key: Array) -> Lanes:
    return new_games(selfplay, key, all_opened=not selfplay.settings.whole_games)


@partial(jax.jit, static_argnums=0)
def _play(
    selfplay: SelfPlay, variables: Variables, lanes: Lanes, key: Array, revisits: Revisits | None
) -> tuple[Lanes, Plies]:
    folded = selfplay.network.fold(variables, compute_type(selfplay.precision))
    weights = selfplay.network.prepare(folded, on_one_core=selfplay.on_one_core)
    pool_key, play_key = jax.random.split(key)
    pool = new_games(selfplay, pool_key, weights)
    if revisits is not None:
        pool = with_revisits(pool, revisits)
    pool = constrain(pool, axis=None)  # every lane may need any game of it

    def ply(lanes: Lanes, index: Array) -> tuple[Lanes, Plies]:
        # Restarting before the move, not after it, lets XLA keep the new states in one piece.
        if not selfplay.settings.whole_games:
            lanes = restart(selfplay.game, lanes, pool, index)
        return play_ply(selfplay, weights, lanes, jax.random.fold_in(play_key, index))

    if selfplay.settings.whole_games:
        lanes = restart(selfplay.game, lanes, pool, jnp.int32(0))
    if selfplay.search.reuse_tree and not selfplay.settings.teacher:
        lanes = lanes._replace(kept=_no_trees(selfplay, weights, lanes.states))
    lanes, plies = jax.lax.scan(ply, lanes, jnp.arange(selfplay.settings.plies))
    return constrain(lanes._replace(kept=None)), constrain(plies, axis=1)


def _no_trees(selfplay: SelfPlay, weights: Any, states: State) -> Kept:
    """Trees of one node each, from which nothing is kept."""
    how = make_search(selfplay.game, selfplay.network, selfplay.search, selfplay.search.simulations)
    tree = init_tree(how, weights, states, jax.random.key(0))
    return Kept(tree, jnp.full(tree.faults.shape, NO_CHILD, jnp.int32))


def play_ply(selfplay: SelfPlay, weights: Any, lanes: Lanes, key: Array) -> tuple[Lanes, Plies]:
    """One move in every lane."""
    search_key, move_key, chance_key = jax.random.split(key, 3)
    searched, full_search = search(selfplay, weights, lanes, search_key)
    action, explored = choose(selfplay, searched, lanes, move_key)
    after = step(selfplay.game, lanes.states, action, chance_key)
    over, scores = jax.vmap(selfplay.game.over)(after), selfplay.game.scale(jax.vmap(selfplay.game.scores)(after))
    resigned, scores = resign(selfplay, lanes, searched.values, scores)
    idle = is_over(selfplay.game, lanes) if selfplay.settings.whole_games else jnp.zeros(over.shape, bool)
    resigned &= ~idle
    policy, policy_actions = compress_policy(searched.policy)
    plies = Plies(
        states=lanes.states,
        action=action,
        policy=policy,
        values=searched.values,
        valued=jnp.full(over.shape, not selfplay.settings.teacher),
        prior=jnp.take_along_axis(searched.prior, action[:, None], axis=1)[:, 0],
        agrees=action == jnp.argmax(searched.prior, axis=-1),
        scores=scores,
        ended=(over | resigned) & ~idle,
        resigned=resigned,
        explored=explored & ~resigned & ~idle,  # after a resignation the move is not played
        full_search=jnp.broadcast_to(full_search, over.shape),
        ply=lanes.ply,
        opening=lanes.opening,
        proven=None if searched.proven is None else searched.proven & ~idle,
        policy_actions=policy_actions,
        idle=idle if selfplay.settings.whole_games else None,
    )
    # A ply of -1 marks a resigned game for `restart`.
    return (
        lanes._replace(
            states=after,
            ply=jnp.where(resigned, -1, jnp.where(idle, lanes.ply, lanes.ply + 1)),
            track=lanes.track.after(selfplay.game, lanes.states, lanes.ply, ~idle),
            kept=None if searched.tree is None else Kept(searched.tree, child_of(searched.tree, action)),
        ),
        plies,
    )


class Searched(NamedTuple):
    """Search results, before moves are chosen."""

    action: Array  # int32[B] the move of the search itself
    policy: Array  # float32[B, A] the policy target, from which moves are sampled
    values: Array  # float32[B, P]
    prior: Array  # float32[B, A] the evaluator's policy, 0 for illegal moves
    legal: Array  # bool[B, A]
    proven: Array | None = None  # bool[B] whether `values` are proven, with `search.proven_values`
    tree: Tree | None = None  # if the next search reuses it


def search(selfplay: SelfPlay, weights: Any, lanes: Lanes, key: Array) -> tuple[Searched, Array]:
    """Search every position, either in full or fast (one draw for the whole batch); whether it was in full."""
    settings = selfplay.search
    if selfplay.settings.teacher:
        return teach(selfplay, lanes.states, key), jnp.array(True)

    def searched(simulations: int) -> Searched:
        how = make_search(selfplay.game, selfplay.network, settings, simulations)
        if lanes.kept is None:
            result = how.run_unchecked(weights, lanes.states, key, lanes.track.past)
        else:
            result = continue_unchecked(how, weights, *lanes.kept, lanes.states, key, lanes.track.past)
        root = root_view(result.tree)
        return Searched(
            action=result.action,
            policy=visit_target(result) if selfplay.target == "visits" else result.policy,
            values=result.values,
            prior=jnp.where(root.legal, root.priors, 0.0),
            legal=root.legal,
            proven=None if result.proofs is None else result.proofs.complete,
            tree=None if lanes.kept is None else result.tree,
        )

    if not settings.fast_simulations:
        return searched(settings.simulations), jnp.array(True)
    full = jax.random.uniform(jax.random.fold_in(key, 0)) < settings.full_search_fraction
    found = jax.lax.cond(full, lambda: searched(settings.simulations), lambda: searched(settings.fast_simulations))
    return found, full


def teach(selfplay: SelfPlay, states: State, key: Array) -> Searched:
    """The moves of a teacher, for the first games of a run (Schulte 2021); it gives no values."""
    choice = make_player(selfplay.settings.teacher, selfplay.game).choose(states, key)
    assert choice.policy is not None, "Plan.check admits only players with a policy"
    legal = jax.vmap(selfplay.game.legal)(states)
    return Searched(
        action=choice.actions,
        policy=choice.policy,
        values=jnp.zeros((legal.shape[0], selfplay.game.num_players)),
        prior=jnp.where(legal, choice.policy, 0.0),
        legal=legal,
        proven=jnp.zeros(legal.shape[:1], bool) if selfplay.search.proven_values else None,
    )


def choose(selfplay: SelfPlay, searched: Searched, lanes: Lanes, key: Array) -> tuple[Array, Array]:
    """The moves to play, and which of them are random."""
    settings = selfplay.settings
    early_key, late_key, random_key, epsilon_key = jax.random.split(key, 4)

    def sampled(temperature: float, key: Array) -> Array:
        if temperature == 0.0:
            return searched.action
        return jax.random.categorical(key, jnp.log(searched.policy) / temperature, axis=-1).astype(jnp.int32)

    early = _moves_before(selfplay.game, lanes) < lanes.until
    action = jnp.where(early, sampled(settings.temperature, early_key), sampled(settings.temperature_end, late_key))
    if not settings.epsilon:
        return action, jnp.zeros(action.shape, bool)
    explored = jax.random.uniform(epsilon_key, action.shape) < settings.epsilon
    return jnp.where(explored, random_actions(random_key, searched.legal), action), explored


def _moves_before(game: Game, lanes: Lanes) -> Array:
    """int32[B]: the moves of the game so far, or if they are counted by seat, the mover's own."""
    if lanes.track.moves is None:
        return lanes.ply
    return jnp.take_along_axis(lanes.track.moves, jax.vmap(game.mover)(lanes.states)[:, None], axis=1)[:, 0]


def resign(selfplay: SelfPlay, lanes: Lanes, values: Array, scores: Array) -> tuple[Array, Array]:
    """Which games their mover resigns, and the scores of all games including those."""
    if not selfplay.settings.resign_threshold or selfplay.game.num_players != 2:
        return jnp.zeros(lanes.ply.shape, bool), scores
    mover = jax.vmap(selfplay.game.mover)(lanes.states)
    own = jnp.take_along_axis(values, mover[:, None], axis=1)[:, 0]
    resigned = (own < -selfplay.settings.resign_threshold) & ~lanes.never_resign
    lost = jnp.where(jnp.arange(2)[None, :] == mover[:, None], -1.0, 1.0)
    return resigned, jnp.where(resigned[:, None], lost, scores)
