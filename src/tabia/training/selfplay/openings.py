"""How games of self-play start: at the initial position, after random moves, or at positions of earlier games.

Most positions of a run are understood long before its end, and games from them teach little. So a fraction of the games
may start at positions whose outcome surprised the search. Axis letters: N candidates, B lanes, P seats.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.core import devices
from tabia.games.fingerprint import fingerprint
from tabia.games.game import Game, State
from tabia.search.evaluators import random_actions, step
from tabia.search.tree import NO_CHILD, Tree
from tabia.training.config.schema import SelfPlaySettings
from tabia.training.selfplay.replay import ReplayBuffer, draw_places, host_of

if TYPE_CHECKING:
    from tabia.training.selfplay.play import SelfPlay


class Track(NamedTuple):
    """What is recorded of the moves so far, opening included; None unless a setting needs it."""

    past: Array | None = None  # uint32[B, H, 2] fingerprints of the positions by ply, 0 where unknown; to cut loops
    moves: Array | None = None  # int32[B, P] each seat's moves; for a temperature by seat

    def after(self, game: Game, states: State, ply: Array, going: Array | bool = True) -> Track:
        """With a move at `ply` [B] in `states` [B, ...], where the games are `going` [B]."""
        lanes, past, moves = jnp.arange(ply.shape[0]), self.past, self.moves
        if past is not None:
            prints = jax.vmap(partial(fingerprint, game))(states)
            past = past.at[lanes, jnp.where(going, ply, past.shape[1])].set(prints, mode="drop")
        if moves is not None:
            moves = moves.at[lanes, jax.vmap(game.mover)(states)].add(jnp.where(going, 1, 0))
        return Track(past, moves)


class Lanes(NamedTuple):
    """The games in progress, one per lane."""

    states: State  # [B, ...] finished games are replaced before the next move
    ply: Array  # int32[B] moves since the initial position, opening included; -1 after a resignation
    opening: Array  # int32[B] moves before self-play took over: random ones, or those of an earlier game
    until: Array  # int32[B] before this ply, or own move, moves are sampled at `temperature`
    never_resign: Array  # bool[B]
    track: Track = Track()  # what some settings need to know about the moves so far
    kept: Kept | None = None  # the trees of the last search, within one call of self-play that reuses them


class Kept(NamedTuple):
    """The trees of the last search, and where the games have got to in them."""

    tree: Tree
    nodes: Array  # int32[B] the nodes of the current positions, NO_CHILD for a new tree


class Revisits(NamedTuple):
    """Positions of earlier games at which new games may start."""

    states: State  # [B, ...]
    ply: Array  # int32[B]
    chosen: Array  # bool[B] whether the next game of this lane starts here


def is_over(game: Game, lanes: Lanes) -> Array:
    """bool[B]: which games have ended, by the rules or by a resignation."""
    return jax.vmap(game.over)(lanes.states) | (lanes.ply < 0)


def restart(game: Game, lanes: Lanes, pool: Lanes, index: Array) -> Lanes:
    """Replace finished games by new ones from the pool, which is rotated by `index` at each ply."""
    over = is_over(game, lanes)
    rotated = jax.tree.map(lambda leaf: jnp.roll(leaf, index, axis=0), pool)
    kept = lanes.kept
    if kept is not None:
        kept = kept._replace(nodes=jnp.where(over, NO_CHILD, kept.nodes))
    return Lanes(*where(over, rotated, lanes._replace(kept=None)))._replace(kept=kept)


def new_games(selfplay: SelfPlay, key: Array, weights: Any = None, *, all_opened: bool = False) -> Lanes:
    """New games, a fraction of them after random moves; if those would end the game, it starts without them."""
    game, settings = selfplay.game, selfplay.settings
    count = settings.games
    start_key, fraction_key, length_key, move_key, until_key, resign_key = jax.random.split(key, 6)
    starts = jax.vmap(game.init)(jax.random.split(start_key, count))
    lengths = jax.random.randint(length_key, (count,), 1, max(settings.opening_moves, 1) + 1)
    opened = jax.random.uniform(fraction_key, (count,)) < (1.0 if all_opened else settings.opening_fraction)
    lengths = jnp.where(opened & (settings.opening_moves > 0), lengths, 0)
    states, track = _play_openings(selfplay, weights, starts, lengths, move_key)
    over = jax.vmap(game.over)(states)
    lengths = jnp.where(over, 0, lengths)
    until = jnp.full((count,), settings.temperature_moves, jnp.int32)
    if settings.temperature_switch == "random":
        until = jax.random.randint(until_key, (count,), 0, settings.temperature_moves + 1)
    return Lanes(
        states=where(over, starts, states),
        ply=lengths,
        opening=lengths,
        until=until,
        never_resign=jax.random.uniform(resign_key, (count,)) < settings.resign_disabled_fraction,
        track=where(over, new_track(selfplay, count), track),
    )


def new_track(selfplay: SelfPlay, count: int) -> Track:
    """The record of games before their first move."""
    game = selfplay.game
    return Track(
        past=jnp.zeros((count, game.max_moves, 2), jnp.uint32) if selfplay.search.cut_loops_history else None,
        moves=jnp.zeros((count, game.num_players), jnp.int32) if selfplay.settings.temperature_by == "seat" else None,
    )


def _play_openings(selfplay: SelfPlay, weights: Any, starts: State, lengths: Array, key: Array) -> tuple[State, Track]:
    """Play random moves from each start; with weights, the most balanced of several candidates. With their record."""
    game, settings = selfplay.game, selfplay.settings
    candidates = settings.opening_candidates if weights is not None else 1
    starts, lengths = jax.tree.map(lambda leaf: jnp.repeat(leaf, candidates, axis=0), (starts, lengths))

    def move(index: Array, carry: tuple[State, Track]) -> tuple[State, Track]:
        states, track = carry
        action_key, chance_key = jax.random.split(jax.random.fold_in(key, index))
        moved = step(game, states, random_actions(action_key, jax.vmap(game.legal)(states)), chance_key)
        going = index < lengths
        track = track.after(game, states, jnp.broadcast_to(index, lengths.shape), going)
        return where(going, moved, states), track

    start = (starts, new_track(selfplay, lengths.shape[0]))
    states, track = jax.lax.fori_loop(0, settings.opening_moves, move, start)
    if candidates == 1:
        return states, track
    values = selfplay.network.forward(weights, jax.vmap(partial(selfplay.network.observe, game))(states))[1]
    imbalance = jnp.where(jax.vmap(game.over)(states), jnp.inf, jnp.ptp(values, axis=-1))
    best = jnp.argmin(imbalance.reshape(-1, candidates), axis=1) + candidates * jnp.arange(settings.games)
    return jax.tree.map(lambda leaf: leaf[best], (states, track))


def with_revisits(pool: Lanes, revisits: Revisits) -> Lanes:
    """The pool with the chosen positions instead of its own games; they are never resigned, as the search was wrong.

    The replay buffer does not keep their record: their past is unknown, and seats are taken to have moved in turn.
    """
    past, moves = pool.track
    seats = 1 if moves is None else moves.shape[1]
    in_turn = (revisits.ply[:, None] + seats - 1 - jnp.arange(seats)[None, :]) // seats
    known = Lanes(
        states=revisits.states,
        ply=revisits.ply,
        opening=revisits.ply,
        until=pool.until,
        never_resign=jnp.ones_like(pool.never_resign),
        track=Track(None if past is None else jnp.zeros_like(past), None if moves is None else in_turn),
    )
    return Lanes(*where(revisits.chosen, known, pool))


def draw_revisits(buffer: ReplayBuffer, key: Array, settings: SelfPlaySettings, window: int) -> Revisits | None:
    """Surprising positions from the newest `window` rows, for a fraction of the next games; None if that is 0."""
    if not settings.revisit_fraction:
        return None
    revisits = _draw_revisits(buffer, key, settings.revisit_fraction, settings.revisit_candidates, window)
    if host_of(buffer) is None and devices.count() == 1:
        return revisits
    return jax.device_put(revisits, devices.splitting() or jax.devices()[0])


@partial(jax.jit, static_argnums=(2, 3, 4))
def _draw_revisits(buffer: ReplayBuffer, key: Array, fraction: float, candidates: int, window: int) -> Revisits:
    place_key, fraction_key = jax.random.split(key)
    lanes = buffer.ready.shape[1]
    rows, columns = draw_places(buffer, place_key, (candidates, lanes), window)  # [N, B]
    most = jnp.argmax(surprise(buffer, rows, columns), axis=0)[None]
    row, column = (jnp.take_along_axis(places, most, axis=0)[0] for places in (rows, columns))
    wanted = jax.random.uniform(fraction_key, (lanes,)) < fraction
    states, ply = jax.tree.map(lambda leaf: leaf[row, column], (buffer.plies.states, buffer.plies.ply))
    return Revisits(states, ply, wanted & (surprise(buffer, row, column) > 0))


def surprise(buffer: ReplayBuffer, rows: Array, columns: Array) -> Array:
    """The distance between outcome and search value at these places, from 0 to 2; 0 if either is unknown."""
    distance = jnp.abs(buffer.outcome[rows, columns] - buffer.plies.values[rows, columns]).max(axis=-1)
    return jnp.where(buffer.ready[rows, columns] & buffer.plies.valued[rows, columns], distance, 0.0)


def where(condition: Array, yes: State, no: State) -> State:
    """For each lane one state or the other."""

    def pick(one: Array, other: Array) -> Array:
        return jnp.where(condition.reshape(condition.shape + (1,) * (one.ndim - 1)), one, other)

    return jax.tree.map(pick, yes, no)
