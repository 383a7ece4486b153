"""The replay: a ring of plies on the device or on the host, in which outcomes are filled in once games have ended.

Rows are plies in the order they were played, columns are lanes, so adding a chunk is one contiguous write and a game
is a run of rows in its column. A position is ready to learn from once its value is known: its game has ended, or a
random move followed a search of it. Axis letters: W rows, B lanes, P seats, N samples.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import State
from tabia.training.selfplay.play import Plies

_TRIES = 8  # places looked at for each sample; unready ones are passed over


class ReplayBuffer(NamedTuple):
    plies: Plies  # [W, B, ...]
    outcome: Array  # float32[W, B, P] what each seat got in the end
    ready: Array  # bool[W, B]
    left: Array  # int16[W, B] rows to the last position of its game; -1 where that is not known or was not played
    rows: Array  # int32: rows ever written; the next one goes to rows % W


class Samples(NamedTuple):
    plies: Plies  # [N, ...]
    outcome: Array  # float32[N, P]
    weight: Array  # float32[N]: 0 where no ready position was found
    last: State | None = None  # [N, ...] the last positions of their games, where asked for
    reached: Array | None = None  # bool[N] whether they are known


def make_room(plies: Plies, rows: int, host: jax.Device | None = None) -> ReplayBuffer:
    """An empty ring for chunks like `plies` [T, B, ...] (arrays or their shapes), on the host if one is given."""
    with jax.default_device(host):
        blank = jax.tree.map(lambda leaf: jnp.zeros((rows, *leaf.shape[1:]), leaf.dtype), plies)
        unknown = jnp.full(blank.ended.shape, -1, jnp.int16)
        buffer = ReplayBuffer(
            blank, jnp.zeros_like(blank.values), jnp.zeros(blank.ended.shape, bool), unknown, jnp.int32(0)
        )
        return buffer if host is None else jax.device_put(buffer, host)


def host_of(buffer: ReplayBuffer) -> jax.Device | None:
    """Where a ring is that is not with everything else."""
    (place,) = buffer.ready.devices()
    return None if place == jax.devices()[0] else place


def add(buffer: ReplayBuffer, plies: Plies, *, reach: int, decay: float = 1.0) -> ReplayBuffer:
    """Write a chunk, and fill in the outcomes it decided; no game is longer than `reach` less the chunk's plies."""
    host = host_of(buffer)
    return _add(buffer, plies if host is None else jax.device_put(plies, host), reach=reach, decay=decay)


@partial(jax.jit, static_argnames=("reach", "decay"), donate_argnums=0)
def _add(buffer: ReplayBuffer, plies: Plies, *, reach: int, decay: float) -> ReplayBuffer:
    count, capacity = plies.ended.shape[0], buffer.ready.shape[0]
    place = buffer.rows % capacity

    def put(old: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(old, new, place, axis=0)

    buffer = buffer._replace(plies=jax.tree.map(put, buffer.plies, plies), rows=buffer.rows + count)
    back = jnp.arange(min(reach, capacity))
    rows = (buffer.rows - 1 - back) % capacity  # newest first
    known = outcomes(jax.tree.map(lambda leaf: leaf[rows], _told(buffer.plies)), decay)
    ready = known.ready & (back < buffer.rows)[:, None]  # the others are not written yet
    return buffer._replace(
        outcome=buffer.outcome.at[rows].set(known.outcome),
        ready=buffer.ready.at[rows].set(ready),
        left=buffer.left.at[rows].set(known.left),
    )


class Overwritten(NamedTuple):
    """What adding a chunk overwrites: with it `without` gives the ring as it was before. R rows, newest first."""

    plies: Plies  # [T, B, ...] the rows the chunk replaces
    outcome: Array  # float32[R, B, P] of the rows whose outcomes it fills in
    ready: Array  # bool[R, B]
    left: Array  # int16[R, B]


@partial(jax.jit, static_argnames=("count", "reach"))
def overwritten(buffer: ReplayBuffer, *, count: int, reach: int) -> Overwritten:
    """What `add` with a chunk of `count` rows and this reach is about to overwrite."""
    place = buffer.rows % buffer.ready.shape[0]
    plies = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, place, count, axis=0), buffer.plies)
    rows = (buffer.rows + count - 1 - jnp.arange(min(reach, buffer.ready.shape[0]))) % buffer.ready.shape[0]
    return Overwritten(plies, buffer.outcome[rows], buffer.ready[rows], buffer.left[rows])


def without(buffer: ReplayBuffer, before: Overwritten) -> ReplayBuffer:
    """The ring before the latest `add`, in NumPy, so that nothing is compiled and the ring itself stays as it is."""
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


class Told(NamedTuple):
    """The part of plies that outcomes follow from."""

    values: Array
    valued: Array
    scores: Array
    ended: Array
    resigned: Array
    explored: Array


def _told(plies: Plies) -> Told:
    return Told(plies.values, plies.valued, plies.scores, plies.ended, plies.resigned, plies.explored)


class Known(NamedTuple):
    """How positions turned out."""

    outcome: Array  # float32[W, B, P] what each seat got
    ready: Array  # bool[W, B] whether that is known
    left: Array  # int16[W, B] as in `Ring`


def outcomes(told: Told, decay: float) -> Known:
    """How positions turned out, for rows given newest first.

    A position before a random move is worth what the search expected there; that move tells nothing about it, even
    where it ended the game. What a teacher left behind is not known then.
    """

    def earlier(carry: tuple[Told, Known], row: Told) -> tuple[tuple[Told, Known], Known]:
        following, (outcome, known, left) = carry
        share = jnp.where(following.valued, 1.0 - decay, 0.0)[:, None]
        mixed = (1.0 - share) * outcome + share * following.values
        outcome = jnp.where(row.explored[:, None], row.values, jnp.where(row.ended[:, None], row.scores, mixed))
        known = jnp.where(row.explored, row.valued, row.ended | known)
        left = jnp.where(row.ended, 0, jnp.where(left < 0, left, left + 1)).astype(jnp.int16)
        found = Known(outcome, known, jnp.where(row.explored | row.resigned, jnp.int16(-1), left))
        return (row, found), found

    nothing = jax.tree.map(lambda leaf: jnp.zeros_like(leaf[0]), told)
    unknown = Known(nothing.values, nothing.ended, jnp.full(nothing.ended.shape, -1, jnp.int16))
    return jax.lax.scan(earlier, (nothing, unknown), told)[1]


def sample(buffer: ReplayBuffer, key: Array, count: int, window: int, *, last: bool = False) -> Samples:
    """Ready positions drawn evenly from the newest `window` rows, with the `last` ones of their games if wished."""
    rows, columns = draw_places(buffer, key, (_TRIES, count), window)
    ready = buffer.ready[rows, columns]
    first = jnp.argmax(ready, axis=0)[None]
    row, column = (jnp.take_along_axis(places, first, axis=0)[0] for places in (rows, columns))
    plies = jax.tree.map(lambda leaf: leaf[row, column], buffer.plies)
    found = Samples(plies, buffer.outcome[row, column], ready.any(axis=0).astype(jnp.float32))
    if not last:
        return found
    left = buffer.left[row, column].astype(jnp.int32)
    end = (row + jnp.maximum(left, 0)) % buffer.ready.shape[0]
    return found._replace(last=jax.tree.map(lambda leaf: leaf[end, column], buffer.plies.states), reached=left >= 0)


def draw_places(buffer: ReplayBuffer, key: Array, shape: tuple[int, ...], window: int) -> tuple[Array, Array]:
    """Rows and columns drawn evenly from the newest `window` rows, ready or not."""
    capacity, lanes = buffer.ready.shape
    row_key, lane_key = jax.random.split(key)
    back = jax.random.randint(row_key, shape, 0, jnp.clip(buffer.rows, 1, min(window, capacity)))
    return (buffer.rows - 1 - back) % capacity, jax.random.randint(lane_key, shape, 0, lanes)


def ready_positions(buffer: ReplayBuffer, window: int) -> Array:
    """How many of the newest `window` rows' positions can be learned from."""
    capacity = buffer.ready.shape[0]
    rows = (buffer.rows - 1 - jnp.arange(min(window, capacity))) % capacity
    written = jnp.arange(min(window, capacity)) < buffer.rows
    return jnp.sum(buffer.ready[rows] & written[:, None])
