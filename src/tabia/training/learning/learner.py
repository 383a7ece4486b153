"""Learning: a compiled chunk of optimizer steps on samples from the replay.

The rate comes from outside at every chunk, so that one program serves all of a schedule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import optax.contrib
from jax import Array

from tabia.games.game import Game
from tabia.networks import Network, Variables
from tabia.training.config.schema import LearnerSettings, TargetSettings
from tabia.training.learning.losses import Losses, lesson, losses
from tabia.training.learning.precision import compute_type
from tabia.training.selfplay.replay import ReplayBuffer, Samples, host_of, sample

Source = ReplayBuffer | Samples  # the replay, or what was drawn from one on the host


class TrainState(NamedTuple):
    """What learning changes."""

    variables: Variables
    ema: Variables  # the weights that play
    moments: Any  # the optimizer's memory
    steps: Array  # int32


@dataclass(frozen=True)
class Learner:
    """How to learn; a static argument of compiled code."""

    game: Game
    network: Network
    settings: LearnerSettings
    targets: TargetSettings
    window: int  # rows of the replay to draw from

    def begin(self, key: Array) -> TrainState:
        """First weights."""
        variables = self.network.init(key)
        return TrainState(
            variables, jax.tree.map(jnp.copy, variables), optimizer(self.settings).init(variables.params), jnp.int32(0)
        )

    def learn(
        self, train_state: TrainState, buffer: ReplayBuffer, key: Array, rate: float
    ) -> tuple[TrainState, Losses]:
        """`steps` optimizer steps; the mean losses."""
        source = buffer if host_of(buffer) is None else jax.device_put(_drawn(self, buffer, key), jax.devices()[0])
        if jax.default_backend() != "cpu":
            return _learn(self, train_state, source, key, jnp.float32(rate))
        # XLA's CPU backend is many times slower at the gradients of convolutions inside a loop of its own.
        found: list[Losses] = []
        for index in range(self.settings.steps):
            train_state, losses = _learn_step(self, train_state, source, key, jnp.int32(index), jnp.float32(rate))
            found.append(losses)
        return train_state, jax.tree.map(lambda *values: jnp.mean(jnp.stack(values)), *found)

    def lowered(self, train_state: TrainState, buffer: ReplayBuffer, key: Array) -> jax.stages.Lowered | None:
        """`learn` for arguments like these, ready to be compiled; for a replay on the host the first call does."""
        if host_of(buffer) is not None:
            return None
        rate = jnp.float32(0.0)
        if jax.default_backend() != "cpu":
            return _learn.lower(self, train_state, buffer, key, rate)
        return _learn_step.lower(self, train_state, buffer, key, jnp.int32(0), rate)

    @property
    def dtype(self) -> Any:
        """What the network computes in."""
        return compute_type(self.settings.precision)


def optimizer(settings: LearnerSettings) -> optax.GradientTransformation:
    """Everything but the rate."""
    parts = [optax.clip_by_global_norm(settings.gradient_clip)] if settings.gradient_clip else []
    parts.append(_direction(settings))
    if settings.optimizer in ("adamw", "muon") and settings.weight_decay:
        parts.append(optax.add_decayed_weights(settings.weight_decay, mask=_kernels))
    return optax.chain(*parts)


def _direction(settings: LearnerSettings) -> optax.GradientTransformation:
    if settings.optimizer == "sgd":
        return optax.trace(settings.momentum)
    if settings.optimizer == "muon":
        # Its steps are as long as Adam's, so the same rates fit; -1 because the rate is taken off later.
        return optax.contrib.muon(-1.0, consistent_rms=0.2, muon_weight_dimension_numbers=_matrices)
    return optax.scale_by_adam()


def _matrices(params: Any) -> Any:
    """Which weights Muon takes as matrices, from inputs to outputs: all but biases, norms and the thin last layers."""

    def matrix(leaf: Array) -> optax.contrib.MuonDimensionNumbers | None:
        thin = min(math.prod(leaf.shape[:-1]), leaf.shape[-1]) < 16
        return None if thin else optax.contrib.MuonDimensionNumbers(tuple(range(leaf.ndim - 1)), -1)

    return jax.tree.map(matrix, params)


def _kernels(params: Any) -> Any:
    """Only matrices decay: biases and normalization stay free."""
    return jax.tree.map(lambda leaf: leaf.ndim > 1, params)


def rate_at(settings: LearnerSettings, progress: float) -> float:
    """The learning rate after a share of the run, before warm-up."""
    if settings.learning_rate_schedule == "cosine":
        return settings.learning_rate_end + (settings.learning_rate - settings.learning_rate_end) * 0.5 * (
            1 + math.cos(math.pi * progress)
        )
    factors = [
        factor
        for start, factor in settings.learning_rate_drops
        if settings.learning_rate_schedule == "stepped" and start <= progress
    ]
    return settings.learning_rate * (factors[-1] if factors else 1.0)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _learn(
    plan: Learner, train_state: TrainState, source: Source, key: Array, rate: Array
) -> tuple[TrainState, Losses]:
    def step(train_state: TrainState, index: Array) -> tuple[TrainState, Losses]:
        return learn_step(plan, train_state, source, key, index, rate)

    train_state, found = jax.lax.scan(step, train_state, jnp.arange(plan.settings.steps))
    return train_state, jax.tree.map(jnp.mean, found)


@partial(jax.jit, static_argnums=0)
def _drawn(plan: Learner, buffer: ReplayBuffer, key: Array) -> Samples:
    """The samples of all steps [S, N, ...], drawn where the ring is."""
    return jax.vmap(lambda index: _taken(plan, buffer, key, index))(jnp.arange(plan.settings.steps))


def _taken(plan: Learner, source: Source, key: Array, index: Array) -> Samples:
    """The samples of one step; the same wherever they are drawn."""
    if isinstance(source, Samples):
        return jax.tree.map(lambda leaf: leaf[index], source)
    sample_key = jax.random.split(jax.random.fold_in(key, index), 3)[0]
    return sample(source, sample_key, plan.settings.batch_size, plan.window, last=plan.network.config.last_board)


def learn_step(
    plan: Learner, train_state: TrainState, source: Source, key: Array, index: Array, rate: Array
) -> tuple[TrainState, Losses]:
    """One optimizer step, the chunk's `index`-th."""
    _, turn_key, drop_key = jax.random.split(jax.random.fold_in(key, index), 3)
    settings = plan.settings
    samples = _taken(plan, source, key, index)
    taught = lesson(plan.game, samples, turn_key, symmetries=settings.symmetries)

    def loss(params: Any) -> tuple[Array, tuple[Losses, Any]]:
        variables = Variables(params, train_state.variables.statistics)
        outputs, statistics = plan.network.apply(
            variables, taught.observations, train=True, key=drop_key, dtype=plan.dtype
        )
        found = losses(outputs, taught, settings, plan.targets)
        return found.total + _l2(settings, params), (found, statistics)

    (_, (found, statistics)), gradient = jax.value_and_grad(loss, has_aux=True)(train_state.variables.params)
    change, moments = optimizer(settings).update(gradient, train_state.moments, train_state.variables.params)
    now = rate * jnp.minimum(1.0, (train_state.steps + 1) / max(settings.warmup_steps, 1))
    params = jax.tree.map(lambda old, step: old - now * step, train_state.variables.params, change)
    variables = Variables(params, statistics)
    return TrainState(variables, _average(settings, train_state, variables), moments, train_state.steps + 1), found


_learn_step = jax.jit(learn_step, static_argnums=0, donate_argnums=1)


def _l2(settings: LearnerSettings, params: Any) -> Array | float:
    if settings.optimizer in ("adamw", "muon") or not settings.weight_decay:
        return 0.0
    kernels = [leaf for leaf in jax.tree.leaves(params) if leaf.ndim > 1]
    return 0.5 * settings.weight_decay * sum(jnp.sum(leaf**2) for leaf in kernels)


def _average(settings: LearnerSettings, train_state: TrainState, variables: Variables) -> Variables:
    """The moving average; at first it follows closely, because there is little to average."""
    if not settings.ema_decay:
        return variables
    keep = jnp.minimum(settings.ema_decay, (1.0 + train_state.steps) / (10.0 + train_state.steps))
    return jax.tree.map(lambda old, new: keep * old + (1.0 - keep) * new, train_state.ema, variables)
