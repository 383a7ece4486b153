"""Where games begin again: at positions of the replay whose outcome was not what the search had expected.

Most positions of a run are understood long before its end, and games from them teach little. A position is surprising
by how far its outcome lies from the search's value; of some positions drawn from the replay the most surprising one is
where a new game begins. Axis letters: N tries, B lanes, P seats.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from tabia.training.config.schema import SelfPlaySettings
from tabia.training.selfplay.openings import Again
from tabia.training.selfplay.replay import ReplayBuffer, draw_places, host_of


def draw(buffer: ReplayBuffer, key: Array, settings: SelfPlaySettings, window: int) -> Again | None:
    """Positions for a share of the next games, from the newest `window` rows; None where no game is to begin so."""
    if not settings.revisit_fraction:
        return None
    again = _draw(buffer, key, settings.revisit_fraction, settings.revisit_candidates, window)
    return again if host_of(buffer) is None else jax.device_put(again, jax.devices()[0])


@partial(jax.jit, static_argnums=(2, 3, 4))
def _draw(buffer: ReplayBuffer, key: Array, share: float, among: int, window: int) -> Again:
    place_key, share_key = jax.random.split(key)
    lanes = buffer.ready.shape[1]
    rows, columns = draw_places(buffer, place_key, (among, lanes), window)
    most = jnp.argmax(surprise(buffer, rows, columns), axis=0)[None]
    row, column = (jnp.take_along_axis(places, most, axis=0)[0] for places in (rows, columns))
    wanted = jax.random.uniform(share_key, (lanes,)) < share
    states, ply = jax.tree.map(lambda leaf: leaf[row, column], (buffer.plies.states, buffer.plies.ply))
    return Again(states, ply, wanted & (surprise(buffer, row, column) > 0))


def surprise(buffer: ReplayBuffer, rows: Array, columns: Array) -> Array:
    """How far the outcome at these places was from what the search expected, at most 2; 0 where either is unknown."""
    apart = jnp.abs(buffer.outcome[rows, columns] - buffer.plies.values[rows, columns]).max(axis=-1)
    return jnp.where(buffer.ready[rows, columns] & buffer.plies.valued[rows, columns], apart, 0.0)
