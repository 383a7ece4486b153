"""The learner: compiled training steps on samples from the replay buffer.

Steps take fresh batches, or the mini-batches of some epochs over one sample. The learning rate is an argument of every
call, so that one program serves a whole schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from tabia.core import devices
from tabia.core.lanes import constrain
from tabia.games.game import Game
from tabia.networks import Network, Tree, Variables, compute_type
from tabia.training.config.schema import LearnerSettings, TargetSettings
from tabia.training.learning.batch import Batch, make_batch
from tabia.training.learning.epochs import EpochSample, draw_epochs
from tabia.training.learning.losses import Losses, LossTerm, compute_losses, make_terms
from tabia.training.learning.optimizer import l2_loss, make_optimizer
from tabia.training.learning.packing import PLAIN, PackedVariables, Plain
from tabia.training.selfplay.replay import ReplayBuffer, Samples, host_of, sample

Source = ReplayBuffer | Samples | EpochSample
"""The replay buffer; or the samples of some steps, drawn on the host; or one sample for some epochs."""


class TrainState(NamedTuple):
    """What learning changes."""

    variables: Variables
    ema: Variables  # exponential moving average of the variables: the weights that play
    optimizer_state: optax.OptState
    step: Array  # int32: training steps so far


@dataclass(frozen=True)
class Learner:
    """How to learn; a static argument of compiled code."""

    game: Game
    network: Network
    settings: LearnerSettings
    targets: TargetSettings
    window: int  # newest rows of the replay buffer to sample from

    def init(self, key: Array) -> TrainState:
        """The state before the first step."""
        variables = self.network.init(key)
        return TrainState(
            variables=variables,
            ema=jax.tree.map(jnp.copy, variables),
            optimizer_state=make_optimizer(self.settings).init(variables.params),
            step=jnp.int32(0),
        )

    def learn(
        self, train_state: TrainState, buffer: ReplayBuffer, key: Array, learning_rate: float, steps: int | None = None
    ) -> tuple[TrainState, Losses]:
        """Some training steps, and the mean losses; `train_state` is donated.

        With epochs, all their mini-batches, and the losses of the last epoch; otherwise `steps`, by default
        `settings.steps`, on fresh batches.
        """
        rate = jnp.float32(learning_rate)
        if self.settings.epochs:
            return self.learn_epochs(train_state, self._draw_epochs(buffer, key), key, learning_rate)
        if steps is not None:
            return self._learn_steps(train_state, buffer, key, rate, steps)
        source = buffer if host_of(buffer) is None else _to_devices(_sample_all(self, buffer, key))
        if jax.default_backend() != "cpu":
            with devices.active():
                return _learn(self, train_state, source, key, rate)
        # XLA's CPU backend is many times slower at the gradients of convolutions inside a scan.
        train_state, found = self._learn_one_by_one(train_state, source, key, rate, range(self.settings.steps))
        return train_state, jax.tree.map(lambda *values: jnp.mean(jnp.stack(values)), *found)

    def learn_epochs(
        self, train_state: TrainState, epochs: EpochSample, key: Array, learning_rate: float
    ) -> tuple[TrainState, Losses]:
        """All mini-batches of these epochs, and the mean losses of the last epoch; `train_state` is donated."""
        rate, steps = jnp.float32(learning_rate), epochs.steps(self.settings.batch_size)
        last = steps // self.settings.epochs
        if steps > last:
            train_state, _ = self._run(train_state, epochs, key, rate, 0, steps - last)
        return self._run(train_state, epochs, key, rate, steps - last, last)

    def lowered(self, train_state: TrainState, buffer: ReplayBuffer, key: Array) -> jax.stages.Lowered | None:
        """`learn` for arguments of these shapes, ready to compile; None if samples are drawn on the host."""
        source: Source = buffer
        if self.settings.epochs:
            source = jax.eval_shape(lambda: draw_epochs(buffer, key, self.settings, self.window, last=self._needs_last))
            source = jax.tree.map(lambda leaf: leaf.update(sharding=devices.copying()), source)
        elif host_of(buffer) is not None:
            return None
        rate = jnp.float32(0.0)
        with devices.active():
            zero = jnp.int32(0)  # here, as in the calls: a number on all devices
            if jax.default_backend() == "cpu":
                return _learn_step.lower(self, train_state, source, key, zero, rate)
            if self.settings.epochs or self.settings.steps_per_game:
                return _learn_many.lower(self, train_state, source, key, rate, zero, zero)
            return _learn.lower(self, train_state, source, key, rate)

    @cached_property
    def terms(self) -> tuple[LossTerm, ...]:
        """The terms of the loss."""
        return make_terms(self.network.config, self.settings, self.targets)

    @property
    def dtype(self) -> np.dtype:
        """The type the network computes in."""
        return compute_type(self.settings.precision)

    def sample(self, buffer: ReplayBuffer, key: Array) -> Samples:
        """Samples for one step."""
        return sample(buffer, key, self.settings.batch_size, self.window, last=self._needs_last)

    def make_batch(self, samples: Samples, key: Array, *, symmetries: bool | None = None) -> Batch:
        """Samples with the targets of all terms, in random symmetries as the settings or the argument say."""
        targets = {term.name: term.make_target for term in self.terms}
        return make_batch(
            self.game,
            samples,
            key,
            symmetries=self.settings.symmetries if symmetries is None else symmetries,
            auxiliary=targets,
            observe=partial(self.network.observe, self.game),
        )

    @property
    def _needs_last(self) -> bool:
        return any(term.needs_final_state for term in self.terms)

    def _draw_epochs(self, buffer: ReplayBuffer, key: Array) -> EpochSample:
        epochs = draw_epochs(buffer, key, self.settings, self.window, last=self._needs_last)
        if host_of(buffer) is None and devices.count() == 1:
            return epochs
        return jax.device_put(epochs, devices.copying() or jax.devices()[0])

    def _learn_steps(
        self, train_state: TrainState, buffer: ReplayBuffer, key: Array, rate: Array, steps: int
    ) -> tuple[TrainState, Losses]:
        """Steps on fresh batches; those of a buffer on the host are drawn for `settings.steps` steps at once."""
        if host_of(buffer) is None:
            return self._run(train_state, buffer, key, rate, 0, steps)
        found: list[tuple[int, Losses]] = []
        for first in range(0, steps, self.settings.steps):
            count = min(self.settings.steps, steps - first)
            source = _to_devices(_sample_all(self, buffer, key, jnp.int32(first)))
            train_state, losses = self._run(train_state, source, key, rate, first, count)
            found.append((count, losses))
        return train_state, jax.tree.map(
            lambda *means: sum(count * mean for (count, _), mean in zip(found, means, strict=True)) / steps,
            *(losses for _, losses in found),
        )

    def _run(
        self, train_state: TrainState, source: Source, key: Array, rate: Array, first: int, count: int
    ) -> tuple[TrainState, Losses]:
        """The steps from number `first` on, as many as `count`, and their mean losses."""
        if jax.default_backend() != "cpu":
            with devices.active():
                return _learn_many(self, train_state, source, key, rate, jnp.int32(first), jnp.int32(count))
        train_state, found = self._learn_one_by_one(train_state, source, key, rate, range(first, first + count))
        # In NumPy: a stack of this many arrays would be compiled anew for every number of steps.
        return train_state, jax.tree.map(lambda *values: np.mean([np.asarray(value) for value in values]), *found)

    def _learn_one_by_one(
        self, train_state: TrainState, source: Source, key: Array, rate: Array, numbers: range
    ) -> tuple[TrainState, list[Losses]]:
        """The steps of these numbers, each a call of its own, and the losses of each."""
        found: list[Losses] = []
        with devices.active():
            for index in numbers:
                train_state, losses = _learn_step(self, train_state, source, key, jnp.int32(index), rate)
                found.append(losses)
        return train_state, found


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _learn(
    learner: Learner, train_state: TrainState, source: Source, key: Array, learning_rate: Array
) -> tuple[TrainState, Losses]:
    loop = _Loop(learner, PackedVariables.of(train_state.variables))

    def step(carry: _Carry, index: Array) -> tuple[_Carry, Losses]:
        return loop.step(carry, source, key, index, learning_rate)

    carry, found = jax.lax.scan(step, loop.enter(train_state), jnp.arange(learner.settings.steps))
    return loop.leave(carry), jax.tree.map(jnp.mean, found)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _learn_many(
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
    names, structure = jax.tree.flatten(losses)

    def step(index: Array, carry: tuple[_Carry, Array]) -> tuple[_Carry, Array]:
        after, losses = loop.step(carry[0], source, key, index, learning_rate)
        return after, carry[1] + jnp.stack(jax.tree.leaves(losses))

    carry, total = jax.lax.fori_loop(first, first + count, step, (loop.enter(train_state), jnp.zeros(len(names))))
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
def _sample_all(learner: Learner, buffer: ReplayBuffer, key: Array, first: Array | int = 0) -> Samples:
    """The samples of `settings.steps` steps from number `first` on, [S, N, ...], drawn where the buffer is."""
    indices = jnp.arange(learner.settings.steps) + first
    return jax.vmap(lambda index: _samples_at(learner, buffer, key, index))(indices)


def _to_devices(samples: Samples) -> Samples:
    """Samples of some steps [S, N, ...] from the host, on the devices that learn from them."""
    return jax.device_put(samples, devices.splitting(axis=1) or jax.devices()[0])


def _samples_at(learner: Learner, source: Source, key: Array, index: Array) -> Samples:
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
    batch = learner.make_batch(constrain(_samples_at(learner, source, key, index)), symmetry_key)

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


_learn_step = jax.jit(learn_step, static_argnums=0, donate_argnums=1)


def _update_ema(settings: LearnerSettings, train_state: TrainState, variables: Variables) -> Variables:
    """The moving average; the decay is smaller in the first steps, when there is little to average."""
    if not settings.ema_decay:
        return variables
    decay = jnp.minimum(settings.ema_decay, (1.0 + train_state.step) / (10.0 + train_state.step))
    return jax.tree.map(lambda old, new: decay * old + (1.0 - decay) * new, train_state.ema, variables)
