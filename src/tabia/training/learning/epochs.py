"""Epochs: one sample of positions, visited several times in mini-batches, each epoch in an order of its own.

    epoch 0   | 3 0 6 2 | 5 1 4 . |      7 positions in mini-batches of 4
    epoch 1   | 1 4 2 5 | 0 6 3 . |

Every epoch visits every position once. The last mini-batch of an epoch is filled up (.) with positions of weight 0,
which count in the statistics of batch normalization but not in the loss.
Axis letters: S positions of the sample, E epochs, N positions of a mini-batch.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.training.config.schema import LearnerSettings
from tabia.training.selfplay.replay import ReplayBuffer, Samples, shuffled_places, take

_DRAW = 2**32 - 1  # folded into the key of the sample; the numbers of steps are smaller


class EpochSample(NamedTuple):
    """A sample, and the order in which each epoch visits it."""

    samples: Samples  # [S, ...]
    positions: Array  # int32: how many there are; the rows after those are padding
    order: Array  # int32[E, S]

    def steps(self, batch_size: int) -> int:
        """The mini-batches of all epochs."""
        return int(self.order.shape[0]) * -(-int(self.positions) // batch_size)

    def at(self, index: Array, batch_size: int) -> Samples:
        """Mini-batch number `index` of all epochs."""
        batches = -(-self.positions // batch_size)
        places = index % batches * batch_size + jnp.arange(batch_size)
        rows = self.order[index // batches, places % self.positions]
        samples: Samples = jax.tree.map(lambda leaf: leaf[rows], self.samples)
        return samples._replace(weight=jnp.where(places < self.positions, samples.weight, 0.0))


@partial(jax.jit, static_argnames=("settings", "window", "last"))
def draw_epochs(
    buffer: ReplayBuffer, key: Array, settings: LearnerSettings, window: int, *, last: bool = False
) -> EpochSample:
    """A sample of `settings.sample_positions` from the newest `window` rows, for `settings.epochs`."""
    sample_key, order_key = jax.random.split(jax.random.fold_in(key, _DRAW))
    everything = min(window, buffer.ready.shape[0]) * buffer.ready.shape[1]
    rows, columns, count = shuffled_places(buffer, sample_key, settings.sample_positions or everything, window)
    return epochs_over(take(buffer, rows, columns, last=last), count, order_key, settings.epochs)


def epochs_over(samples: Samples, positions: Array, key: Array, epochs: int) -> EpochSample:
    """Epochs over the first `positions` of these samples."""
    size = samples.weight.shape[0]
    draws = jax.random.uniform(key, (epochs, size))
    order = jnp.argsort(jnp.where(jnp.arange(size)[None, :] < positions, draws, 2.0), axis=1)
    return EpochSample(samples, positions, order.astype(jnp.int32))
