"""The replay buffer: plies on the device or on the host, with the outcomes of their games once these have ended.

Rows are plies in the order of play and columns are lanes, so adding plies is one contiguous write and a game is a run
of rows in its column; the newest rows overwrite the oldest. A position is ready to learn from once its value is known:
its game has ended, or a random move followed its search. Axis letters: W rows, B lanes, P seats, N samples, A actions,
K actions kept.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core import devices
from tabia.core.lanes import constrain
from tabia.games.game import State

if TYPE_CHECKING:
    from tabia.training.selfplay.play import Plies

_TRIES = 8  # places drawn per sample; the first one that is ready is used
MANY_ACTIONS, KEPT_ACTIONS = 512, 128
"""With more than `MANY_ACTIONS` actions, a policy keeps its `KEPT_ACTIONS` largest probabilities."""


class ReplayBuffer(NamedTuple):
    """The newest plies of self-play, and how their games ended."""

    plies: Plies  # [W, B, ...]
    outcome: Array  # float32[W, B, P] the value target of each seat
    ready: Array  # bool[W, B]
    left: Array  # int16[W, B] rows to the last position of its game, before the final move; -1 without one
    rows: Array  # int32: rows ever written; the next one goes to rows % W


class Samples(NamedTuple):
    """Positions drawn from a replay buffer."""

    plies: Plies  # [N, ...]
    outcome: Array  # float32[N, P]
    weight: Array  # float32[N]: 0 if no ready position was found
    last: State | None = None  # [N, ...] the last positions of their games, if requested
    reached: Array | None = None  # bool[N] whether those are known


def make_buffer(plies: Plies, rows: int, host: jax.Device | None = None) -> ReplayBuffer:
    """An empty buffer for plies like these [T, B, ...] (arrays or shapes), on the host if one is given."""
    columns = devices.splitting(axis=1) if host is None else None
    with jax.default_device(host):
        blank = jax.tree.map(lambda leaf: jnp.zeros((rows, *leaf.shape[1:]), leaf.dtype, device=columns), plies)
        buffer = ReplayBuffer(
            plies=blank,
            outcome=jnp.zeros_like(blank.values, device=columns),
            ready=jnp.zeros(blank.ended.shape, bool, device=columns),
            left=jnp.full(blank.ended.shape, -1, jnp.int16, device=columns),
            rows=devices.copied(jnp.int32(0)) if host is None else jnp.int32(0),
        )
        return buffer if host is None else jax.device_put(buffer, host)


def emptied(buffer: ReplayBuffer) -> ReplayBuffer:
    """The buffer without its positions, where it is."""
    return buffer._replace(ready=buffer.ready & False, rows=buffer.rows * 0)


def host_of(buffer: ReplayBuffer) -> jax.Device | None:
    """The host device of a buffer, None if it is on the default device or split over several devices."""
    place, *others = buffer.ready.devices()
    return None if others or place == jax.devices()[0] else place


def add(buffer: ReplayBuffer, plies: Plies, *, reach: int, td_lambda: float = 1.0) -> ReplayBuffer:
    """Write plies and the outcomes they decide; no game has more moves than `reach` minus the plies added."""
    host = host_of(buffer)
    if host is not None:
        return _add(buffer, jax.device_put(plies, host), reach=reach, td_lambda=td_lambda)
    with devices.active():
        return _add(buffer, plies, reach=reach, td_lambda=td_lambda)


@partial(jax.jit, static_argnames=("reach", "td_lambda"), donate_argnums=0)
def _add(buffer: ReplayBuffer, plies: Plies, *, reach: int, td_lambda: float) -> ReplayBuffer:
    count, capacity = plies.ended.shape[0], buffer.ready.shape[0]
    place = buffer.rows % capacity

    def put(old: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(old, new, place, axis=0)

    buffer = buffer._replace(plies=jax.tree.map(put, buffer.plies, plies), rows=buffer.rows + count)
    back = jnp.arange(min(reach, capacity))
    rows = (buffer.rows - 1 - back) % capacity  # newest first
    known = outcomes(jax.tree.map(lambda leaf: leaf[rows], _results(buffer.plies)), td_lambda)
    ready = known.ready & (back < buffer.rows)[:, None]  # the other rows are not written yet
    buffer = buffer._replace(
        outcome=buffer.outcome.at[rows].set(known.outcome),
        ready=buffer.ready.at[rows].set(ready),
        left=buffer.left.at[rows].set(known.left),
    )
    return ReplayBuffer(*constrain(buffer[:-1], axis=1), rows=constrain(buffer.rows, axis=None))


class Overwritten(NamedTuple):
    """What `add` overwrites, so that `without` can undo it. R rows, newest first."""

    plies: Plies  # [T, B, ...] the rows replaced
    outcome: Array  # float32[R, B, P] of the rows whose outcomes are set
    ready: Array  # bool[R, B]
    left: Array  # int16[R, B]


@partial(jax.jit, static_argnames=("count", "reach"))
def overwritten(buffer: ReplayBuffer, *, count: int, reach: int) -> Overwritten:
    """What adding `count` rows with this reach is about to overwrite."""
    place = buffer.rows % buffer.ready.shape[0]
    plies = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, place, count, axis=0), buffer.plies)
    rows = (buffer.rows + count - 1 - jnp.arange(min(reach, buffer.ready.shape[0]))) % buffer.ready.shape[0]
    return Overwritten(plies, buffer.outcome[rows], buffer.ready[rows], buffer.left[rows])


def without(buffer: ReplayBuffer, before: Overwritten) -> ReplayBuffer:
    """The buffer before the latest `add`, in NumPy: nothing is compiled, and `buffer` itself does not change."""
    buffer, before = jax.tree.map(_host_copy, (buffer, before))
    count, capacity = before.plies.ended.shape[0], buffer.ready.shape[0]
    rows = (int(buffer.rows) - 1 - np.arange(before.ready.shape[0])) % capacity
    for now, then in zip(buffer[1:4], before[1:], strict=True):
        now[rows] = then
    place = (int(buffer.rows) - count) % capacity
    for now, then in zip(jax.tree.leaves(buffer.plies), jax.tree.leaves(before.plies), strict=True):
        now[place : place + count] = then
    return buffer._replace(rows=buffer.rows - np.int32(count))


def _host_copy(leaf: Array) -> np.ndarray:
    keys = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.array(jax.random.key_data(leaf) if keys else leaf)


class Results(NamedTuple):
    """The fields of plies from which outcomes follow."""

    values: Array
    valued: Array
    scores: Array
    ended: Array
    resigned: Array
    explored: Array
    proven: Array | None = None
    idle: Array | None = None


def _results(plies: Plies) -> Results:
    return Results(**{name: getattr(plies, name) for name in Results._fields})


class Outcomes(NamedTuple):
    """How positions turned out."""

    outcome: Array  # float32[W, B, P] for each seat
    ready: Array  # bool[W, B] whether that is known
    left: Array  # int16[W, B] as in `ReplayBuffer`


def outcomes(results: Results, td_lambda: float) -> Outcomes:
    """How positions turned out, TD(lambda) with the search values, for rows given newest first.

    A random move says nothing about the position before it, even if it ended the game: that position is worth its
    search value, and is not ready if a teacher played there. A position whose value was proven has that value, and so
    have the positions before it: it takes the place of the end of the game.
    """

    def earlier(carry: tuple[Results, Outcomes], row: Results) -> tuple[tuple[Results, Outcomes], Outcomes]:
        following, (outcome, known, left) = carry
        weight = jnp.where(following.valued, 1.0 - td_lambda, 0.0)[:, None]
        mixed = (1.0 - weight) * outcome + weight * following.values
        outcome = jnp.where(row.explored[:, None], row.values, jnp.where(row.ended[:, None], row.scores, mixed))
        known = jnp.where(row.explored, row.valued, row.ended | known)
        if row.idle is not None:
            known &= ~row.idle
        if row.proven is not None:
            outcome, known = jnp.where(row.proven[:, None], row.values, outcome), row.proven | known
        left = jnp.where(row.ended, 0, jnp.where(left < 0, left, left + 1)).astype(jnp.int16)
        found = Outcomes(outcome, known, jnp.where(row.explored | row.resigned, jnp.int16(-1), left))
        return (row, found), found

    nothing = jax.tree.map(lambda leaf: jnp.zeros_like(leaf[0]), results)
    unknown = Outcomes(nothing.values, nothing.ended, jnp.full(nothing.ended.shape, -1, jnp.int16))
    return jax.lax.scan(earlier, (nothing, unknown), results)[1]


def sample(buffer: ReplayBuffer, key: Array, count: int, window: int, *, last: bool = False) -> Samples:
    """Ready positions drawn uniformly from the newest `window` rows; `last` adds the last positions of their games."""
    rows, columns = draw_places(buffer, key, (_TRIES, count), window)
    ready = buffer.ready[rows, columns]
    first = jnp.argmax(ready, axis=0)[None]
    row, column = (jnp.take_along_axis(places, first, axis=0)[0] for places in (rows, columns))
    return take(buffer, row, column, last=last)


def take(buffer: ReplayBuffer, row: Array, column: Array, *, last: bool = False) -> Samples:
    """The positions at these places [N], with weight 0 where they are not ready."""
    plies = jax.tree.map(lambda leaf: leaf[row, column], buffer.plies)
    found = Samples(plies, buffer.outcome[row, column], buffer.ready[row, column].astype(jnp.float32))
    if not last:
        return found
    left = buffer.left[row, column].astype(jnp.int32)
    end = (row + jnp.maximum(left, 0)) % buffer.ready.shape[0]
    return found._replace(last=jax.tree.map(lambda leaf: leaf[end, column], buffer.plies.states), reached=left >= 0)


def draw_places(buffer: ReplayBuffer, key: Array, shape: tuple[int, ...], window: int) -> tuple[Array, Array]:
    """Rows and columns drawn uniformly from the newest `window` rows, ready or not."""
    capacity, lanes = buffer.ready.shape
    row_key, lane_key = jax.random.split(key)
    back = jax.random.randint(row_key, shape, 0, jnp.clip(buffer.rows, 1, min(window, capacity)))
    return (buffer.rows - 1 - back) % capacity, jax.random.randint(lane_key, shape, 0, lanes)


def shuffled_places(buffer: ReplayBuffer, key: Array, count: int, window: int) -> tuple[Array, Array, Array]:
    """Rows and columns [N] of `count` ready positions in random order, none twice, and how many there are.

    If the newest `window` rows have fewer, the places after those are of positions that are not ready.
    """
    rows, ready = _newest(buffer, window)
    draws = jnp.where(ready, jax.random.uniform(key, ready.shape), 2.0).reshape(-1)
    order, lanes = jnp.argsort(draws)[:count], ready.shape[1]
    return rows[order // lanes], order % lanes, jnp.minimum(ready.sum(), order.shape[0])


def ready_positions(buffer: ReplayBuffer, window: int) -> Array:
    """How many positions of the newest `window` rows are ready."""
    return jnp.sum(_newest(buffer, window)[1])


def _newest(buffer: ReplayBuffer, window: int) -> tuple[Array, Array]:
    """The newest `window` rows [R], newest first, and which of their positions are ready [R, B]."""
    capacity = buffer.ready.shape[0]
    back = jnp.arange(min(window, capacity))
    rows = (buffer.rows - 1 - back) % capacity
    return rows, buffer.ready[rows] & (back < buffer.rows)[:, None]


# A policy over the 4,448 actions of the large star takes 9 kB in half precision, and rarely has more than a hundred
# legal moves. If there are more, as in shogi with pieces in hand, the least likely ones are lost.


def compress_policy(policy: Array) -> tuple[Array, Array | None]:
    """The probabilities float16[..., K] to store of a policy [..., A], and their actions unless all are kept."""
    if policy.shape[-1] <= MANY_ACTIONS:
        return policy.astype(jnp.float16), None
    kept, actions = jax.lax.top_k(policy, KEPT_ACTIONS)
    return kept.astype(jnp.float16), actions.astype(jnp.int16 if policy.shape[-1] < 2**15 else jnp.int32)


def expand_policy(kept: Array, actions: Array | None, num_actions: int) -> Array:
    """The policy float32[N, A] of stored probabilities [N, K]; all other actions have probability 0."""
    kept = kept.astype(jnp.float32)
    if actions is None:
        return kept
    rows = jnp.arange(kept.shape[0])[:, None]
    return jnp.zeros((kept.shape[0], num_actions)).at[rows, actions.astype(jnp.int32)].set(kept)
