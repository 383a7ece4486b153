"""The train state of a network that is widened during a run.

Weights, statistics and their EMA compute the same as before (`networks/widening.py`). New weights do not change the
gradient of old ones, so the optimizer keeps what it knows: the moments of old weights stay, and those of new weights
start at 0. Only second moments start at the mean of the old ones: Adam divides by their root, and its correction for
the first steps of a run no longer applies, so with 0 the first steps of new weights would be several times too long.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.tree_util import KeyPath, keystr

from tabia.networks.widening import Widening
from tabia.training.learning.learner import Learner
from tabia.training.learning.optimizer import make_optimizer
from tabia.training.learning.steps import TrainState

_SECOND = ".nu"  # second moments in the paths of optax's states


def widen(old: Learner, new: Learner, train_state: TrainState, key: Array) -> TrainState:
    """The train state for the network of another learner, which is wider; `key` draws the weights of new filters."""
    widening = Widening(old.network, new.network)
    variables, ema = (widening.variables(held, key) for held in (train_state.variables, train_state.ema))
    start = make_optimizer(new.settings).init(variables.params)
    optimizer_state = _moments(widening, train_state.optimizer_state, start)
    return TrainState(variables, ema, optimizer_state, train_state.step)


def _moments(widening: Widening, old: optax.OptState, start: optax.OptState) -> optax.OptState:
    """The state of the optimizer, from its state before and that of a new optimizer."""
    held = {keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(old)}
    second = [leaf for path, leaf in held.items() if _SECOND in path]
    typical = sum(leaf.sum() for leaf in second) / max(1, sum(leaf.size for leaf in second))

    def moment(path: KeyPath[Any], new: Array) -> Array:
        before = held.get(keystr(path))  # Muon may take a layer that was too thin for it before: then there is none
        if before is not None and before.shape == new.shape:
            return before
        if _SECOND in keystr(path):
            new = jnp.full_like(new, typical if before is None else before.mean())
        return new if before is None else widening.place(path[-3].key, path[-1].key, before, new)

    return jax.tree.map_with_path(moment, start)
