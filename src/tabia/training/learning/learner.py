"""The learner: how to learn from the replay buffer, and which compiled training steps do it on this device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core import devices
from tabia.games.game import Game
from tabia.networks import Network, compute_type
from tabia.training.config.schema import LearnerSettings, TargetSettings
from tabia.training.learning.batch import Batch, make_batch
from tabia.training.learning.epochs import EpochSample, draw_epochs
from tabia.training.learning.losses import Losses, LossTerm, make_terms
from tabia.training.learning.optimizer import make_optimizer
from tabia.training.learning.steps import Source, TrainState, learn_all, learn_counted, learn_one, sample_all
from tabia.training.selfplay.replay import ReplayBuffer, Samples, host_of, sample


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
        source = buffer if host_of(buffer) is None else _to_devices(sample_all(self, buffer, key))
        if jax.default_backend() != "cpu":
            with devices.active():
                return learn_all(self, train_state, source, key, rate)
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
                return learn_one.lower(self, train_state, source, key, zero, rate)
            if self.settings.epochs or self.settings.steps_per_game:
                return learn_counted.lower(self, train_state, source, key, rate, zero, zero)
            return learn_all.lower(self, train_state, source, key, rate)

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
            source = _to_devices(sample_all(self, buffer, key, jnp.int32(first)))
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
                return learn_counted(self, train_state, source, key, rate, jnp.int32(first), jnp.int32(count))
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
                train_state, losses = learn_one(self, train_state, source, key, jnp.int32(index), rate)
                found.append(losses)
        return train_state, found


def _to_devices(samples: Samples) -> Samples:
    """Samples of some steps [S, N, ...] from the host, on the devices that learn from them."""
    return jax.device_put(samples, devices.splitting(axis=1) or jax.devices()[0])
