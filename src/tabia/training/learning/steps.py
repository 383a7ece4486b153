"""Compiled training steps: on fresh batches, or on the mini-batches of some epochs over one sample.

The learning rate is an argument of every call, so that one program serves a whole schedule.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from tabia.core.lanes import constrain
from tabia.networks import Tree, Variables
from tabia.training.config.schema import LearnerSettings
from tabia.training.learning.epochs import EpochSample
from tabia.training.learning.losses import Losses, compute_losses
from tabia.training.learning.optimizer import l2_loss, make_optimizer
from tabia.training.learning.packing import PLAIN, PackedVariables, Plain
from tabia.training.selfplay.replay import ReplayBuffer, Samples

if TYPE_CHECKING:  # the learner calls these steps
    from tabia.training.learning.learner import Learner

Source = ReplayBuffer | Samples | EpochSample
"""The replay buffer; or the samples of some steps, drawn on the host; or one sample for some epochs."""


class TrainState(NamedTuple):
    """What learning changes."""

    variables: Variables
    ema: Variables  # exponential moving average of the variables: the weights that play
    optimizer_state: optax.OptState
    step: Array  # int32: training steps so far


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def learn_all(
    learner: Learner, train_state: TrainState, source: Source, key: Array, learning_rate: Array
) -> tuple[TrainState, Losses]:
    """The steps of the settings in one program."""
    loop = _Loop(learner, PackedVariables.of(train_state.variables))

    def step(carry: _Carry, index: Array) -> tuple[_Carry, Losses]:
        return loop.step(carry, source, key, index, learning_rate)

    carry, found = jax.lax.scan(step, loop.enter(train_state), jnp.arange(learner.settings.steps))
    return loop.leave(carry), jax.tree.map(jnp.mean, found)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def learn_counted(
    learner: Learner,
    train_state: TrainState,
    source: Source,
    key: Array,
    learning_rate: Array,
    first: Array,
    count: Array,
) -> tuple[TrainState, Losses]:
    """Steps in one program whose number is an argument."""
    loop = _Loop(learner, PackedVariables.of(train_state.variables))
    losses = jax.eval_shape(partial(learn_step, learner), train_state, source, key, first, learning_rate)[1]
    leaves, structure = jax.tree.flatten(losses)

    def step(index: Array, carry: tuple[_Carry, Array]) -> tuple[_Carry, Array]:
        after, losses = loop.step(carry[0], source, key, index, learning_rate)
        return after, carry[1] + jnp.stack(jax.tree.leaves(losses))

    carry, total = jax.lax.fori_loop(first, first + count, step, (loop.enter(train_state), jnp.zeros(len(leaves))))
    return loop.leave(carry), jax.tree.unflatten(structure, total / count)


_Carry = tuple[Variables, Variables | None, optax.OptState, Array]
"""A packed train state. Without a moving average the variables are not carried twice: each step would copy them."""


class _Loop(NamedTuple):
    """Training steps in a loop, between which the train state is packed."""

    learner: Learner
    form: PackedVariables

    def enter(self, train_state: TrainState) -> _Carry:
        variables, ema, optimizer_state, step = train_state
        packed = self.form.params.pack_state(optimizer_state)
        return self.form.pack(variables), self._ema(self.form.pack(ema)), packed, step

    def step(
        self, carry: _Carry, source: Source, key: Array, index: Array, learning_rate: Array
    ) -> tuple[_Carry, Losses]:
        variables, ema, optimizer_state, step = carry
        packed = TrainState(variables, variables if ema is None else ema, optimizer_state, step)
        after, losses = learn_step(self.learner, packed, source, key, index, learning_rate, self.form)
        return (after.variables, self._ema(after.ema), after.optimizer_state, after.step), losses

    def leave(self, carry: _Carry) -> TrainState:
        variables, ema, optimizer_state, step = carry
        unpacked = self.form.unpack(variables)
        average = unpacked if ema is None else self.form.unpack(ema)
        return TrainState(unpacked, average, self.form.params.unpack_state(optimizer_state), step)

    def _ema(self, ema: Variables) -> Variables | None:
        return ema if self.learner.settings.ema_decay else None


@partial(jax.jit, static_argnums=0)
def sample_all(learner: Learner, buffer: ReplayBuffer, key: Array, first: Array | int = 0) -> Samples:
    """The samples of `settings.steps` steps from number `first` on, [S, N, ...], drawn where the buffer is."""
    indices = jnp.arange(learner.settings.steps) + first
    return jax.vmap(lambda index: samples_at(learner, buffer, key, index))(indices)


def samples_at(learner: Learner, source: Source, key: Array, index: Array) -> Samples:
    """The samples of one step, the same wherever they are drawn."""
    if isinstance(source, EpochSample):
        return source.at(index, learner.settings.batch_size)
    if isinstance(source, Samples):
        return jax.tree.map(lambda leaf: leaf[index % learner.settings.steps], source)
    sample_key = jax.random.split(jax.random.fold_in(key, index), 3)[0]
    return learner.sample(source, sample_key)


def learn_step(
    learner: Learner,
    train_state: TrainState,
    source: Source,
    key: Array,
    index: Array,
    learning_rate: Array,
    form: Plain = PLAIN,
) -> tuple[TrainState, Losses]:
    """One training step, number `index` of its call, on a train state of this form.

    Several devices share its samples and add up their gradients.
    """
    _, symmetry_key, dropout_key = jax.random.split(jax.random.fold_in(key, index), 3)
    settings, (params, statistics) = learner.settings, form.unpack(train_state.variables)
    batch = learner.make_batch(constrain(samples_at(learner, source, key, index)), symmetry_key)

    def loss(params: Tree) -> tuple[Array, tuple[Losses, Tree]]:
        outputs, new = learner.network.apply(
            Variables(params, statistics), batch.observations, train=True, key=dropout_key, dtype=learner.dtype
        )
        losses = compute_losses(learner.terms, outputs, batch)
        return losses.total + l2_loss(settings, params), (losses, new)

    (_, (losses, updated)), gradient = jax.value_and_grad(loss, has_aux=True)(params)
    held, seen = train_state.variables.params, form.pack(Variables(gradient, updated))
    updates, optimizer_state = make_optimizer(settings).update(seen.params, train_state.optimizer_state, held)
    rate = learning_rate * jnp.minimum(1.0, (train_state.step + 1) / max(settings.warmup_steps, 1))
    variables = Variables(jax.tree.map(lambda old, update: old - rate * update, held, updates), seen.statistics)
    ema = _update_ema(settings, train_state, variables)
    return constrain((TrainState(variables, ema, optimizer_state, train_state.step + 1), losses), axis=None)


learn_one = jax.jit(learn_step, static_argnums=0, donate_argnums=1)


def _update_ema(settings: LearnerSettings, train_state: TrainState, variables: Variables) -> Variables:
    """The moving average; the decay is smaller in the first steps, when there is little to average."""
    if not settings.ema_decay:
        return variables
    decay = jnp.minimum(settings.ema_decay, (1.0 + train_state.step) / (10.0 + train_state.step))
    return jax.tree.map(lambda old, new: decay * old + (1.0 - decay) * new, train_state.ema, variables)
